//! Runs the tests inside the program's modules. The modules that hold kernels are not part of
//! this, so that it compiles in seconds.

#![allow(dead_code, unused_imports, reason = "only the tests of the modules are wanted")]

#[path = "../src/convert.rs"]
mod convert;
#[path = "../src/dispatch.rs"]
mod dispatch;
#[path = "../src/error.rs"]
mod error;
#[path = "../src/npy.rs"]
mod npy;
#[path = "../src/progress.rs"]
mod progress;
#[path = "../src/value.rs"]
mod value;

/// The modules of `upsweep bench`.
#[path = "../src/bench"]
mod bench {
    mod input;
    mod lists;
    pub(crate) mod measure;
    pub(crate) mod report;
    mod turns;
    mod guard {
        mod verdict;
    }
}

/// The modules that measure energy.
#[path = "../src/energy"]
mod energy {
    mod powercap;
    mod spent;
    pub(crate) use spent::Energy;
}

/// The modules of `upsweep ladder`.
#[path = "../src/ladder"]
mod ladder {
    mod report;
}

/// The modules of `upsweep tune`.
#[path = "../src/tune"]
mod tune {
    mod budget;
    mod cells;
    mod order;
    mod threads;
}

/// The modules of `upsweep report`.
#[path = "../src/report"]
mod report {
    mod best;
    pub(crate) mod contest;
    pub(crate) mod data;
    mod figures;
    mod page;
    pub(crate) mod plot;
}
