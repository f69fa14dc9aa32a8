//! Which engines can do which job on which types.

#[cfg(feature = "libraries")]
mod libraries;
#[cfg(feature = "ours")]
mod ours;
mod standard;

use std::cell::RefCell;
use std::rc::Rc;

use half::f16;

use crate::buffer::Buffer;
use crate::cell::Cell;
use crate::input::{Item, Kind, hash};
use crate::limits;

/// An input, and for a scan room for the output.
pub struct Arrays<T> {
    input: Rc<Buffer<T>>,
    output: Rc<RefCell<Buffer<T>>>,
}

impl<T: Item> Arrays<T> {
    fn new(kind: Kind, items: usize, outputs: usize) -> Self {
        let input = Rc::new(Buffer::of(items, |index| T::of(hash(index), kind)));
        Self { input, output: Rc::new(RefCell::new(Buffer::zeroed(outputs))) }
    }
}

fn threads() -> usize {
    rayon::current_num_threads()
}

/// A cell with every engine that can do the job; none if no engine here can.
pub fn prepare(op: &str, kind: Kind, dtype: &str, acc: &str, items: usize) -> Cell {
    let mut cell = Cell::default();
    macro_rules! sum {
        ($type:ident $acc:ident) => {{
            let arrays = Arrays::<$type>::new(kind, items, 0);
            limits::reads(&mut cell, &arrays.input);
            standard::sum::<$type, $acc>(&mut cell, &arrays);
            #[cfg(feature = "ours")]
            ours::sum::<$type, $acc>(&mut cell, &arrays);
        }};
        ($type:ident) => {{
            let arrays = Arrays::<$type>::new(kind, items, 0);
            limits::reads(&mut cell, &arrays.input);
            standard::sum::<$type, $type>(&mut cell, &arrays);
            #[cfg(feature = "libraries")]
            libraries::sum::<$type>(&mut cell, &arrays);
            #[cfg(feature = "ours")]
            ours::sum::<$type, $type>(&mut cell, &arrays);
        }};
    }
    macro_rules! position {
        ($type:ident $largest:literal) => {{
            let arrays = Arrays::<$type>::new(kind, items, 0);
            limits::reads(&mut cell, &arrays.input);
            standard::position::<$type>(&mut cell, &arrays, $largest);
            #[cfg(feature = "libraries")]
            libraries::position::<$type>(&mut cell, &arrays, $largest);
            #[cfg(feature = "ours")]
            ours::position::<$type>(&mut cell, &arrays, $largest);
        }};
    }
    macro_rules! scan {
        ($type:ident) => {{
            let arrays = Arrays::<$type>::new(kind, items, items);
            limits::copies(&mut cell, &arrays.input, &arrays.output);
            standard::scan::<$type>(&mut cell, &arrays);
            #[cfg(feature = "ours")]
            ours::scan::<$type>(&mut cell, &arrays);
        }};
    }
    match (op, dtype, acc) {
        ("sum", "u32", "u32") => sum!(u32),
        ("sum", "i64", "i64") => sum!(i64),
        ("sum", "f32", "f32") => sum!(f32),
        ("sum", "f64", "f64") => sum!(f64),
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
