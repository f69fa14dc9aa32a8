//! What can be said to `upsweep devices`.

use clap::Args;

/// `upsweep devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
