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

/// Bits of a word.
constexpr u32 WORD_BITS = 32;

/// All lanes of a warp.
constexpr u32 ALL_LANES = 0xffffffffu;

/// Reads past the first-level cache, which has no use for what is read once.
template <typename T> inline T read(const T* from) { return __ldcs(from); }
inline uint4 read(const uint4* from) {
    uint4 access;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(access.x), "=r"(access.y), "=r"(access.z), "=r"(access.w)
        : "l"(from));
    return access;
}

/// The value of an f16; exact.
inline f32 half_value(u16 bits) {
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

/// The value of a bf16, given its bits in the upper half of a word; exact.
inline f32 bfloat_value(u32 word) { return __uint_as_float(word); }
