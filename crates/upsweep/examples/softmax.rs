//! Softmax of each row of a batch: `softmax [DEVICE]`.
//!
//! The largest item of each row and the sum of exponentials are reductions along the last axis. A row has the same bits whichever rows stand
//! beside it, so that a batch gives what its rows give alone.

use upsweep::{Device, Error, Max, NdView, Sum, View};

fn main() -> Result<(), Error> {
    let device = Device::open(&std::env::args().nth(1).unwrap_or_else(|| "cpu".to_owned()))?;
    let (rows, length) = (6, 1000);
    let scores: Vec<f32> = (0..rows * length).map(|i| (i * 7919 % 1000) as f32 / 100.0).collect();
    let batch = View::from(&scores).shape([rows, length])?;
    let all = softmax(&device, &batch)?;
    for (row, scores) in scores.chunks(length).enumerate() {
        let alone = softmax(&device, &View::from(scores).shape([1, length])?)?;
        assert_eq!(alone, all[row * length..][..length], "row {row}");
    }
    println!("{rows} rows of {length}: each as alone, to the last bit");
    Ok(())
}

/// The exponential of each score over the sum of those of its row.
fn softmax(device: &Device, batch: &NdView<'_, f32>) -> Result<Vec<f32>, Error> {
    let length = batch.shape()[1];
    let scores = batch.to_packed(device)?.to_vec()?;
    // Nothing overflows if the largest exponent is 0.
    let largest = batch.axis(1)?.reduce(device, Max)?.to_vec()?;
    let exponentials: Vec<f32> =
        scores.iter().enumerate().map(|(i, score)| (score - largest[i / length]).exp()).collect();
    let sums =
        View::from(&exponentials).shape(batch.shape())?.axis(1)?.reduce(device, Sum)?.to_vec()?;
    Ok(exponentials.iter().enumerate().map(|(i, value)| value / sums[i / length]).collect())
}
