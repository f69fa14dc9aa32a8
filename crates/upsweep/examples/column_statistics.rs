//! Statistics of the columns of a table: `column_statistics [DEVICE]`.
//!
//! Columns are the rows along axis 0: no column is copied or turned round first.

use upsweep::{Device, Error, Max, Min, View};

const NAMES: [&str; 3] = ["height", "weight", "age"];

fn main() -> Result<(), Error> {
    let device = Device::open(&std::env::args().nth(1).unwrap_or_else(|| "cpu".to_owned()))?;
    // As a reader of CSV leaves it: line by line.
    let lines = 10_000;
    let cell = |i: usize| (i * 7919 % 997) as f64 / [5.0, 10.0, 12.5][i % 3];
    let table: Vec<f64> = (0..3 * lines).map(cell).collect();
    let columns = View::from(&table).shape([lines, 3])?.axis(0)?;
    let least = columns.reduce(&device, Min)?.to_vec()?;
    let largest = columns.reduce(&device, Max)?.to_vec()?;
    let mean = columns.mean(&device)?.to_vec()?;
    let line = columns.argmax(&device)?.to_vec()?;
    println!("column,least,mean,largest,line");
    for (k, name) in NAMES.iter().enumerate() {
        println!("{name},{:.1},{:.2},{:.1},{}", least[k], mean[k], largest[k], line[k]);
        let own = || table.iter().skip(k).step_by(3).copied();
        assert_eq!(largest[k], own().fold(f64::MIN, f64::max));
        assert_eq!(own().nth(line[k] as usize), Some(largest[k]));
    }
    Ok(())
}
