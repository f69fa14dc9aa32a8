// Numbers by their names in Rust, and what every shader needs of them.

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;
using f32 = float;
using f64 = double;

/// All lanes of a warp.
constexpr u32 ALL_LANES = 0xffffffffu;

/// The value of an f16; exact.
inline f32 half_value(u16 bits) {
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

/// The value of a bf16, given its bits in the upper half of a word; exact.
inline f32 bfloat_value(u32 word) { return __uint_as_float(word); }
