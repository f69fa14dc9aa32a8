//! A summed-area table: `summed_area [DEVICE]`.
//!
//! Scans along both axes give at each place the sum of all items above it and to its left. The sum of any rectangle is then made of four
//! places. Source: F. Crow, *Summed-Area Tables for Texture Mapping* (1984).

use upsweep::{Device, Error, Scan, Sum, View, ViewMut};

fn main() -> Result<(), Error> {
    let device = Device::open(&std::env::args().nth(1).unwrap_or_else(|| "cpu".to_owned()))?;
    let (height, width) = (300, 500);
    let image: Vec<u8> = (0..height * width).map(|i| ((i * 2_654_435_761) >> 7) as u8).collect();
    let sum = Scan::inclusive(Sum);
    let mut rows = vec![0u32; image.len()];
    let across = View::from(&image).shape([height, width])?.axis(1)?;
    across.scan_into(&device, ViewMut::from(&mut rows).shape([height, width])?, &sum)?;
    let mut table = vec![0u32; image.len()];
    let down = View::from(&rows).shape([height, width])?.axis(0)?;
    down.scan_into(&device, ViewMut::from(&mut table).shape([height, width])?, &sum)?;

    // Rows 20 to 119, columns 33 to 400.
    let at = |row: usize, column: usize| table[row * width + column];
    let found = at(119, 400) + at(19, 32) - at(19, 400) - at(119, 32);
    let rectangle = (20..120).flat_map(|row| &image[row * width + 33..=row * width + 400]);
    let wanted: u32 = rectangle.map(|&item| u32::from(item)).sum();
    assert_eq!(found, wanted);
    println!("a rectangle of 100 by 368 has the sum {found}");
    Ok(())
}
