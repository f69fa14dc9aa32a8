//! `upsweep bench --feeding`: every way to hand small operations to a device gives their results, or says why there is no such way.

use crate::common::Place;

#[test]
fn every_way_is_right_or_says_why_not() {
    let place = Place::new();
    let ran = place.run("bench --device all --feeding 3,1000 --samples 1 --csv -");
    let text = ran.text();
    let rows: Vec<Vec<&str>> =
        text.lines().skip(1).map(|line| line.splitn(13, ',').collect()).collect();
    let mut devices: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    devices.dedup();
    assert_eq!(rows.len(), devices.len() * 2 * 4 * 5, "{text}");
    for row in &rows {
        let (device, way, checked) = (row[0], row[4], row[12]);
        assert!(["reduce*1", "reduce*10", "reduce*100", "chain*10"].contains(&row[1]), "{row:?}");
        let ways: &[&str] = match device.split_once(':').map_or(device, |(backend, _)| backend) {
            "cpu" => &["waited"],
            "wgpu" => &["waited", "queued", "together"],
            _ if row[1] == "chain*10" => &["waited", "queued", "graph"],
            _ => &["waited", "queued", "streams", "graph"],
        };
        if ways.contains(&way) {
            assert_eq!(checked, "ok", "{row:?}");
            let times =
                [5, 6, 7, 11].map(|column: usize| row[column].parse::<f64>().expect("a time"));
            assert!(times.into_iter().all(|time| time > 0.0), "{row:?}");
        } else {
            assert!(
                checked.contains("there are no") || checked.contains("when it returns"),
                "{row:?}"
            );
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    place.run("bench --feeding ten").refused_for("is not a number of items");
    place.run("bench --feeding --op reduce").refused_for("cannot be used with");
    place.run("bench --feeding --device toaster").refused_for("no device 'toaster'");
    let unheard = place.run("bench --device cpu --feeding 2^60 --samples 1 --csv -").text();
    assert!(unheard.lines().skip(1).all(|line| line.ends_with(" bytes")), "{unheard}");
}
