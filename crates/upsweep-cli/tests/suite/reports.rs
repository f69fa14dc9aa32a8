//! What `upsweep devices` and `upsweep bench` print.

use crate::common::Place;

const COLUMNS: &str = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,\
pct_of_limit,first_call_us,checked";

#[test]
fn devices_for_people() {
    let text = Place::new().run("devices").text();
    assert!(text.starts_with("id "), "{text}");
    for words in ["cpu", "instruction set", "first-level cache", "timestamps", "cuda:", "wgpu:"] {
        assert!(text.contains(words), "'{words}' is not in: {text}");
    }
}

#[test]
fn devices_for_programs() {
    let text = Place::new().run("devices --json").text();
    let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let cpu = &list["usable"][0];
    assert_eq!(cpu["id"], "cpu");
    let limits = cpu["limits"].as_object().expect("an object");
    assert_eq!(limits.len(), 21);
    assert_eq!(limits["subnormals"], true);
    assert!(limits["compute_units"].as_u64().expect("a number") >= 1);
    assert!(limits["subgroup_sizes"].is_array());
    for absent in list["absent"].as_array().expect("a list") {
        assert!(!absent["reason"].as_str().expect("text").is_empty());
    }
}

/// The rows of a record, each with thirteen fields.
#[track_caller]
fn rows(record: &str) -> Vec<Vec<String>> {
    let mut lines = record.lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    let rows: Vec<Vec<String>> =
        lines.map(|line| line.splitn(13, ',').map(str::to_owned).collect()).collect();
    for row in &rows {
        assert_eq!(row.len(), 13, "{row:?}");
    }
    rows
}

#[test]
fn every_primitive_and_type_is_measured_and_right() {
    let place = Place::new();
    let all = "bench --op all --dtype all --n 1,2^7,3001 --strategy all --samples 1 --csv -";
    let rows = rows(&place.run(all).text());
    assert_eq!(rows.len(), 10 * 12 * 3 * 3);
    for row in &rows {
        assert_eq!(row[12], "ok", "{row:?}");
        for number in &row[5..12] {
            assert!(number.parse::<f64>().is_ok_and(|number| number >= 0.0), "{row:?}");
        }
        assert_eq!(row[0], "cpu");
    }
    assert_eq!(rows[0][1..5], ["reduce", "u8", "1", "scalar"]);
}

#[test]
fn every_operator_is_right() {
    let place = Place::new();
    for operator in ["sum", "product", "min", "max", "and", "or", "xor"] {
        let rows = rows(&place.run(&format!(
            "bench --op reduce,inclusive_scan,exclusive_scan --operator {operator} --dtype all \
             --n 70000 --samples 1 --csv -"
        )).text());
        assert_eq!(rows.len(), 36);
        for row in &rows {
            let floats = row[2].contains('f');
            if floats && matches!(operator, "and" | "or" | "xor") {
                assert_eq!(row[12], format!("operator {operator} is not defined for {}", row[2]));
                assert!(row[5..12].iter().all(String::is_empty), "{row:?}");
            } else {
                assert_eq!(row[12], "ok", "{row:?}");
            }
            assert_eq!(row[1].ends_with(&format!("/{operator}")), operator != "sum", "{row:?}");
        }
    }
}

#[test]
fn accumulators_and_instruction_sets() {
    let place = Place::new();
    let wide = "bench --op all --dtype u8,i16 --acc i64 --n 1000 --samples 1 --csv -";
    for row in rows(&place.run(wide).text()) {
        // Positions and selections add nothing up.
        let adds = ["reduce", "inclusive_scan", "exclusive_scan"].contains(&row[1].as_str());
        assert_eq!(row[2].ends_with("->i64"), adds, "{row:?}");
        assert!(row[12] == "ok" || row[12].contains("no kernel of its own"), "{row:?}");
    }
    let isa =
        "bench --op reduce --dtype f32 --n 1000 --isa all --strategy simd --samples 1 --csv -";
    let sets = rows(&place.run(isa).text());
    assert!(!sets.is_empty());
    for row in sets {
        assert!(row[4].starts_with("simd/") && row[12] == "ok", "{row:?}");
    }
    // No CPU has both of these.
    let both = "bench --op reduce --dtype f32 --n 8 --isa neon,avx2 --samples 1 --csv -";
    let rows = rows(&place.run(both).text());
    assert!(rows.iter().any(|row| row[12].contains("this CPU has no ")), "{rows:?}");
    assert!(rows.iter().any(|row| row[5].is_empty()));
}

#[test]
fn a_table_and_a_record() {
    let place = Place::new();
    let table =
        place.run("bench --op reduce --dtype u32 --n 2^10,0 --samples 3 --csv r.csv").text();
    assert!(table.starts_with("device ") && table.contains("GB/s"), "{table}");
    assert_eq!(table.lines().count(), 3);
    let record = String::from_utf8(place.read("r.csv")).expect("text");
    let rows = rows(&record);
    assert_eq!(rows.len(), 2);
    let number = |column: usize| rows[0][column].parse::<f64>().expect("a number");
    assert!(number(6) <= number(5) && number(5) <= number(7), "{rows:?}");
    assert!((number(10) - 100.0 * number(8) / number(9)).abs() < 1.0, "{rows:?}");
    assert_eq!(rows[1][8..11], ["", "", ""]);
}

#[test]
fn what_does_not_fit_in_memory_is_a_row() {
    let row = &rows(&Place::new().run("bench --op reduce --dtype u8 --n 2^45 --csv -").text())[0];
    assert!(row[12].contains("GiB of memory"), "{row:?}");
}
