//! The worker with upsweep and the physical limits of the machine.

mod ours;

use std::io;

use half::f16;
use upsweep_worker::{Arrays, Cell, Kind, limits, serve};

fn main() -> io::Result<()> {
    serve(prepare)
}

fn prepare(op: &str, kind: Kind, dtype: &str, acc: &str, items: usize) -> Cell {
    let mut cell = Cell::default();
    macro_rules! sum {
        ($type:ident $acc:ident) => {{
            let arrays = Arrays::<$type>::new(kind, items, 0);
            limits::reads(&mut cell, &arrays.input);
            ours::sum::<$type, $acc>(&mut cell, &arrays);
        }};
    }
    macro_rules! position {
        ($type:ident $largest:literal) => {{
            let arrays = Arrays::<$type>::new(kind, items, 0);
            limits::reads(&mut cell, &arrays.input);
            ours::position::<$type>(&mut cell, &arrays, $largest);
        }};
    }
    macro_rules! scan {
        ($type:ident) => {{
            let arrays = Arrays::<$type>::new(kind, items, items);
            limits::copies(&mut cell, &arrays.input, &arrays.output);
            ours::scan::<$type>(&mut cell, &arrays);
        }};
    }
    match (op, dtype, acc) {
        ("sum", "u32", "u32") => sum!(u32 u32),
        ("sum", "i64", "i64") => sum!(i64 i64),
        ("sum", "f32", "f32") => sum!(f32 f32),
        ("sum", "f64", "f64") => sum!(f64 f64),
        ("sum", "u8", "u64") => sum!(u8 u64),
        ("sum", "i16", "i64") => sum!(i16 i64),
        ("sum", "f16", "f32") => sum!(f16 f32),
        ("argmin", "u32", _) => position!(u32 false),
        ("argmin", "f32", _) => position!(f32 false),
        ("argmax", "u32", _) => position!(u32 true),
        ("argmax", "f32", _) => position!(f32 true),
        ("inclusive_scan", "u32", "u32") => scan!(u32),
        ("inclusive_scan", "i64", "i64") => scan!(i64),
        ("inclusive_scan", "f32", "f32") => scan!(f32),
        ("inclusive_scan", "f64", "f64") => scan!(f64),
        _ => {}
    }
    cell
}
