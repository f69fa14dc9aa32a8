//! The seven classic steps of a sum on a GPU: what each gains.

mod results;

use std::time::Duration;

use bytemuck::cast_slice;
use upsweep::any::Op;
use upsweep::ladder::{Ladder, Rung};
use upsweep::{CpuOptions, Device, Dtype, any};

use crate::device;
use crate::error::{Failure, Result};
use crate::selection::Primitive;
use crate::workload::Workload;
use crate::{gpu_timing, inputs};

pub use results::{COLUMNS, Climb, Rates, Row};

/// The GPU that was asked for, or the first there is.
pub fn open(id: &str) -> Result<Device> {
    let device = match id {
        "" | "auto" => device::open(&first_gpu()?, CpuOptions::default())?,
        id => device::open(id, CpuOptions::default())?,
    };
    let id = device.id();
    if id == "cpu" {
        return Err(Failure::usage(
            "device cpu has no ladder, whose steps are kernels of GPUs, such as wgpu:0",
        ));
    }
    if !device.limits().timestamps {
        return Err(Failure::usage(format!(
            "device {id} has no timestamps, which the ladder is timed by"
        )));
    }
    Ok(device)
}

/// The id of the first GPU, those of CUDA before others.
fn first_gpu() -> Result<String> {
    let list = Device::list();
    let mut gpus: Vec<_> =
        list.usable.into_iter().map(|device| device.id).filter(|id| id != "cpu").collect();
    gpus.sort_by_key(|id| !id.starts_with("cuda"));
    gpus.into_iter().next().ok_or_else(|| {
        let absent = list.absent.iter().map(|of| format!("{}: {}", of.backend, of.reason));
        let why = absent.collect::<Vec<_>>().join("; ");
        Failure::usage(format!("the ladder needs a GPU, and there is none: {why}"))
    })
}

/// Runs and times every rung over `n` numbers, whose results are checked before and after.
pub fn climb(device: &Device, n: usize, samples: usize) -> Result<Climb> {
    if n == 0 {
        return Err(Failure::usage("a ladder over no items has nothing to show"));
    }
    let workload = Workload::new(Primitive::Reduce, Op::Sum, Dtype::U32, None);
    if let Some(reason) = workload.memory_refusal(n) {
        return Err(Failure::usage(format!("a ladder over {n} items {reason}")));
    }
    let buffer = inputs::items(workload.dtype, n, false)?;
    let items: &[u32] = cast_slice(buffer.bytes());
    let expected = any::reference_reduce(items, &workload.reduction())?.and_then(|sum| sum.get());
    let mut ladder = device.ladder(items)?;
    let rungs: Vec<Rung> = Rung::all().collect();
    let check = |ladder: &mut Ladder| -> Result<Vec<bool>> {
        rungs.iter().map(|&rung| Ok(Some(ladder.sum(rung)?) == expected)).collect()
    };
    let before = check(&mut ladder)?;
    let bytes = size_of_val(items) as u64;
    gpu_timing::wake(device, bytes)?;
    let mut times = gpu_timing::in_turns(rungs.len() + 1, samples, &mut |which, runs| {
        let times = match rungs.get(which) {
            Some(&rung) => ladder.time(rung, runs)?,
            None => ladder.time_limit(runs)?,
        };
        // The device has a clock, or it would not have been opened.
        Ok(times.unwrap_or_default().iter().map(Duration::as_secs_f64).collect())
    })?;
    let after = check(&mut ladder)?;
    let limit = times.pop().unwrap_or_default();
    let checked = before.into_iter().zip(after).map(|(before, after)| before && after);
    let rows = rungs.iter().zip(times).zip(checked);
    let rows = rows.map(|((&rung, times), is_right)| Row { rung, times, is_right });
    let (device, name) = (device.id().to_owned(), device.limits().name.clone());
    Ok(Climb { device, name, n, rows: rows.collect(), limit })
}
