//! The one table of built-in operators on pairs of number types that have kernels of their own.
//!
//! A pair is the type that is read and the type of the result: of a reduction the type that items are combined in, of a scan the
//! type that is written. `upsweep-cpu` compiles its kernels for these pairs, and every other crate links them. `upsweep::any`
//! looks pairs up by [`Dtype`](crate::Dtype). Every other pair works as well: by generic code that is compiled where it is used,
//! or, at run time, by converting items first.
//!
//! Sums, products and bit operators of signed integers have the bits of unsigned ones and are left out where both types are one.

/// Calls `$callback! { $state; Operator: T A, T A; … }` with every pair of a reduction.
#[doc(hidden)]
#[macro_export]
macro_rules! reduction_pairs {
    ($callback:ident! $state:tt) => {
        $callback! { $state
            Sum: u8 u8, u16 u16, u32 u32, u64 u64, f16 f32, bf16 f32, f32 f32, f64 f64,
                u8 u64, u16 u64, u32 u64, i8 i64, i16 i64, i32 i64,
                u8 f64, i8 f64, u16 f64, i16 f64, u32 f64, i32 f64, u64 f64, i64 f64, f32 f64;
            Product: u8 u8, u16 u16, u32 u32, u64 u64, f16 f32, bf16 f32, f32 f32, f64 f64;
            Min: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
                f16 f32, bf16 f32, f32 f32, f64 f64;
            Max: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
                f16 f32, bf16 f32, f32 f32, f64 f64;
            BitAnd: u8 u8, u16 u16, u32 u32, u64 u64;
            BitOr: u8 u8, u16 u16, u32 u32, u64 u64;
            BitXor: u8 u8, u16 u16, u32 u32, u64 u64;
        }
    };
}

/// Calls `$callback! { $state; Operator: T U, T U; … }` with every pair of a scan.
#[doc(hidden)]
#[macro_export]
macro_rules! scan_pairs {
    ($callback:ident! $state:tt) => {
        $callback! { $state
            Sum: u8 u8, u16 u16, u32 u32, u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64,
                u8 u32, u8 u64, u16 u32, u16 u64, u32 u64, i8 i64, i16 i64, i32 i64,
                f16 f32, bf16 f32, f32 f64;
            Product: u8 u8, u16 u16, u32 u32, u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64;
            Min: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
                f16 f16, bf16 bf16, f32 f32, f64 f64;
            Max: u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64,
                f16 f16, bf16 bf16, f32 f32, f64 f64;
            BitAnd: u8 u8, u16 u16, u32 u32, u64 u64;
            BitOr: u8 u8, u16 u16, u32 u32, u64 u64;
            BitXor: u8 u8, u16 u16, u32 u32, u64 u64;
        }
    };
}

/// Calls `$callback! { $state; Operator: T U, T U; … }` with the pairs of a reduction along axes that [`reduction_pairs`] has not: short
/// floats that are rounded where they are stored.
#[doc(hidden)]
#[macro_export]
macro_rules! rounded_pairs {
    ($callback:ident! $state:tt) => {
        $callback! { $state
            Sum: f16 f16, bf16 bf16;
            Product: f16 f16, bf16 bf16;
            Min: f16 f16, bf16 bf16;
            Max: f16 f16, bf16 bf16;
        }
    };
}

/// Calls `$callback! { $state; Operator: T U, T U; … }` with every pair of reductions and scans in segments.
#[doc(hidden)]
#[macro_export]
macro_rules! segmented_pairs {
    ($callback:ident! $state:tt) => {
        $callback! { $state
            Sum: u32 u32, u64 u64, f32 f32, f64 f64;
            Product: u64 u64, f32 f32, f64 f64;
            Min: u64 u64, i64 i64, f32 f32, f64 f64;
            Max: u64 u64, i64 i64, f32 f32, f64 f64;
            BitAnd: u64 u64;
            BitOr: u64 u64;
            BitXor: u64 u64;
        }
    };
}
