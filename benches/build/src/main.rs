//! Twelve calls of built-in operators, and, with feature `operators`, two operators of the crate's own.

use upsweep::{
    Array, BitXor, Device, Max, Min, Product, Reduce, ReducePlan, Result, Sum, argmax,
    exclusive_scan, exclusive_scan_into, inclusive_scan_in_place, inclusive_scan_into, mean,
    reduce, reduce_as, reduce_into,
};

fn main() -> Result<()> {
    let device = Device::cpu();
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let words: Vec<u32> = bytes.iter().map(|&byte| u32::from(byte)).collect();
    let signed: Vec<i32> = bytes.iter().map(|&byte| i32::from(byte) - 128).collect();
    let floats: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 7.0).collect();
    let doubles: Vec<f64> = floats.iter().map(|&float| f64::from(float)).collect();

    let mut total = Array::filled(&device, 1, 0u32)?;
    reduce_into(&device, &words, &mut total, BitXor)?;
    let mut plan = ReducePlan::<f64, f64, _>::new(&device, doubles.len(), Reduce::new(Product))?;
    let (mut offsets, mut running) = (vec![0u32; words.len()], vec![0.0f32; floats.len()]);
    exclusive_scan_into(&device, &bytes, &mut offsets, Sum)?;
    inclusive_scan_into(&device, &floats, &mut running, Sum)?;
    let mut balance = signed.clone();
    inclusive_scan_in_place(&device, &mut balance, Sum)?;
    println!(
        "{} {} {} {} {:?} {} {} {} {} {} {}",
        reduce(&device, &floats, Sum)?,
        reduce(&device, &signed, Sum)?,
        reduce_as::<u64, _, _>(&device, &bytes, Sum)?,
        reduce(&device, &doubles, Min)?,
        argmax(&device, &floats)?,
        mean(&device, &doubles)?,
        exclusive_scan(&device, &words, Max)?.into_vec()?[9_999],
        plan.run(&doubles)?,
        offsets[9_999],
        running[9_999],
        balance[9_999] ^ total.to_vec()?[0].cast_signed(),
    );
    #[cfg(feature = "operators")]
    operators::run(&device, &words)?;
    Ok(())
}

#[cfg(feature = "operators")]
mod operators {
    use upsweep::{Device, Element, Result, inclusive_scan, operator, reduce};

    #[operator(identity = 1)]
    fn modulo(left: u32, right: u32) -> u32 {
        (left * right) % 9973
    }

    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    #[repr(C)]
    struct Affine {
        scale: f32,
        shift: f32,
    }

    #[operator(identity = Affine { scale: 1.0, shift: 0.0 })]
    fn compose(left: Affine, right: Affine) -> Affine {
        Affine { scale: left.scale * right.scale, shift: left.shift * right.scale + right.shift }
    }

    pub fn run(device: &Device, words: &[u32]) -> Result<()> {
        let maps: Vec<Affine> = words
            .iter()
            .map(|&word| Affine { scale: 1.0 - word as f32 / 512.0, shift: word as f32 })
            .collect();
        let small: Vec<u32> = words.iter().map(|word| word % 9973 + 1).collect();
        let all = inclusive_scan(device, &maps, Compose)?.into_vec()?;
        println!("{} {}", reduce(device, &small, Modulo)?, all[maps.len() - 1].shift);
        Ok(())
    }
}
