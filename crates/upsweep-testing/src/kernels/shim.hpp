// What CUDA brings and the header of its kernels names, for the host's compiler.

#include <cmath>
#include <cstdio>
#include <cstring>

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

template <typename To, typename From>
static To with_bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}

static u32 __float_as_uint(f32 value) { return with_bits_of<u32>(value); }
static f32 __uint_as_float(u32 bits) { return with_bits_of<f32>(bits); }
static i64 __double_as_longlong(f64 value) { return with_bits_of<i64>(value); }
static f64 __longlong_as_double(i64 bits) { return with_bits_of<f64>(bits); }
static i32 __popc(u32 bits) { return __builtin_popcount(bits); }
static i32 __clz(i32 bits) { return bits == 0 ? 32 : __builtin_clz(u32(bits)); }
static i32 __ffs(i32 bits) { return __builtin_ffs(bits); }
static f32 __fmaf_rn(f32 a, f32 b, f32 c) { return std::fma(a, b, c); }
static f64 __fma_rn(f64 a, f64 b, f64 c) { return std::fma(a, b, c); }
static u32 __brev(u32 bits) {
    u32 result = 0;
    for (int k = 0; k < 32; k++) result |= (bits >> k & 1) << (31 - k);
    return result;
}
