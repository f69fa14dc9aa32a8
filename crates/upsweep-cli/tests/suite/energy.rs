//! `upsweep bench --energy`: further columns, which are filled or empty with a reason.

use crate::common::Place;

const FURTHER: &str = ",checked,joules,gb_per_joule,idle_watts";

#[test]
fn energy_is_measured_or_its_absence_explained() {
    let place = Place::new();
    let row = "bench --device cpu --op reduce --dtype u32 --n 2^12 --samples 1 --energy";
    let ran = place.run(&format!("{row} --csv -"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let record = String::from_utf8(ran.out).expect("text");
    let lines: Vec<&str> = record.lines().collect();
    assert_eq!(lines.len(), 2, "{record}");
    assert!(lines[0].ends_with(FURTHER), "{record}");
    let fields: Vec<&str> = lines[1].split(',').collect();
    assert_eq!((fields.len(), fields[12]), (16, "ok"), "{record}");
    if ran.err.is_empty() {
        for number in &fields[13..] {
            assert!(number.parse::<f64>().is_ok_and(|number| number >= 0.0), "{record}");
        }
    } else {
        assert!(ran.err.starts_with("upsweep: the energy of cpu is not known: "), "{}", ran.err);
        assert_eq!((ran.err.lines().count(), &fields[13..]), (1, &["", "", ""][..]), "{record}");
    }

    let table = place.run(row);
    assert!(String::from_utf8_lossy(&table.out).contains(" GB/J "), "{table:?}");
    place.run("bench --energy --profile").refused_for("cannot be used with");
    // Without it there are no such columns.
    let record = place.run("bench --device cpu --op reduce --dtype u8 --n 1 --samples 1 --csv -");
    assert!(record.text().lines().next().is_some_and(|head| head.ends_with(",checked")));
}
