//! `upsweep bench --rows`: rows along memory and across it are right, and records say which they are.

use crate::common::Place;

#[test]
fn both_axes_of_every_length_are_measured() {
    let place = Place::new();
    let ran = place.run(
        "bench --device all --op reduce,argmax,exclusive_scan --n 1000 --rows 1,7,300,2000 --samples 1 --csv -",
    );
    let text = ran.text();
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|heading| heading.ends_with(",checked,axis,length")));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let mut devices: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    devices.sort_unstable();
    devices.dedup();
    assert_eq!(rows.len(), devices.len() * 3 * 4 * 2, "{text}");
    for row in &rows {
        let (dtype, n, checked, axis, length) = (row[2], row[3], row[12], row[13], row[14]);
        assert_eq!((dtype, n), ("f32", "1000"), "{row:?}");
        assert!(["rows", "columns"].contains(&axis), "{row:?}");
        if length == "2000" {
            assert_eq!(checked, "1000 items are no row of 2000");
            continue;
        }
        assert_eq!(checked, "ok", "{row:?}");
        if row[0] != "cpu" {
            // So few bytes in so many microseconds are less than records tell.
            continue;
        }
        let [us, gbps] = [5, 8].map(|column: usize| row[column].parse::<f64>().expect("a number"));
        // Every item is read; of a scan all are written, else one value for each row.
        let length = length.parse::<usize>().expect("a length");
        let count = 1000 / length;
        let bytes = 4 * count * length
            + match row[1] {
                "reduce" => 4 * count,
                "argmax" => 8 * count,
                _ => 4 * count * length,
            };
        assert!((gbps * us * 1e3 / bytes as f64 - 1.0).abs() < 0.2, "{bytes} {row:?}");
    }
}

#[test]
fn a_table_says_the_axis_and_the_length() {
    let place = Place::new();
    let text = place.run("bench --device cpu --op reduce --n 2^12 --rows 64 --samples 1").text();
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
    assert_eq!(lines[0][3..6], ["n", "axis", "length"]);
    assert_eq!(lines[1][3..6], ["4096", "rows", "64"]);
    assert_eq!(lines[2][3..6], ["4096", "columns", "64"]);
    assert_eq!(lines.len(), 3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    place.run("bench --rows ten").refused_for("is not a number of items");
    place.run("bench --rows 0 --csv rows.csv").refused_for("a row has 1 item at least");
    assert!(place.names().is_empty(), "no record is begun");
    place.run("bench --rows 8 --op select").refused_for("there is no select along an axis");
    place.run("bench --rows 8 --feeding").refused_for("cannot be used with");
    place.run("bench --rows 8 --strategy all").refused_for("cannot be used with");
}
