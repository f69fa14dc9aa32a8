//! Where the work is done.

use std::num::NonZeroUsize;

use clap::Args;
use upsweep::CpuOptions;

/// Where the work is done.
#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// Device: an id that `upsweep devices` lists; auto is the CPU, or a GPU where `upsweep tune` found that faster
    #[arg(
        long,
        value_name = "ID",
        env = "UPSWEEP_DEVICE",
        default_value = "auto",
        hide_env_values = true
    )]
    pub(crate) device: String,

    /// Threads of the CPU; all of them unless said
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

impl DeviceArguments {
    /// What was said about the CPU.
    pub(crate) fn options(&self) -> CpuOptions {
        CpuOptions { threads: self.threads.map(NonZeroUsize::get), ..CpuOptions::default() }
    }
}
