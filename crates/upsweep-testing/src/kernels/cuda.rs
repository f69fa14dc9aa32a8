//! Arguments and results of functions in CUDA C++, each in a word of 64 bits.

use upsweep::__kernel::Type;
use upsweep::Dtype;

/// An argument out of its word.
pub fn argument(of: Type, word: &str) -> String {
    match of {
        Type::Number(Dtype::I8 | Dtype::I16 | Dtype::I32) => format!("i32(u32({word}))"),
        Type::Number(Dtype::U64) => word.to_owned(),
        Type::Number(Dtype::I64) => format!("i64({word})"),
        Type::Number(Dtype::F32) => format!("__uint_as_float(u32({word}))"),
        Type::Number(Dtype::F64) => format!("__longlong_as_double(i64({word}))"),
        Type::Bool => format!("({word} != 0)"),
        _ => format!("u32({word})"),
    }
}

/// The word of a result.
pub fn word(of: Type, value: &str) -> String {
    match of {
        Type::Number(Dtype::I8 | Dtype::I16 | Dtype::I32) => format!("u64(i64({value}))"),
        Type::Number(Dtype::F32) => format!("u64(__float_as_uint({value}))"),
        Type::Number(Dtype::F64) => format!("u64(__double_as_longlong({value}))"),
        _ => format!("u64({value})"),
    }
}
