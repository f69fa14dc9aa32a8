// Rounding to the short floats: to nearest, ties to even, subnormals kept.

/// The bits of the nearest f16.
inline u32 half_bits(f32 value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

/// The bits of the nearest bf16. Of a NaN those that it has, and quiet.
inline u32 bfloat_bits(f32 value) {
    const u32 bits = __float_as_uint(value);
#if __CUDA_ARCH__ >= 800
    u16 nearest;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
#else
    const u32 nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
#endif
    return (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : nearest;
}

/// The nearest f16 of two values, the first in the lower half.
inline u32 half_pair(f32 first, f32 second) {
#if __CUDA_ARCH__ >= 800
    u32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
#else
    return half_bits(first) | half_bits(second) << 16;
#endif
}

/// The nearest bf16 of two values, the first in the lower half. Of a NaN comes 0x7fff, whatever its bits, and of nothing else: its own
/// are put in that place. Without a branch, so that others can be rounded meanwhile: with one, a scan of 2^26 took 78 us on an H200
/// instead of 74.
inline u32 bfloat_pair(f32 first, f32 second) {
#if __CUDA_ARCH__ >= 800
    u32 pair, is_nan;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    // One more reaches the sign of a NaN alone, which is spread over its half.
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(is_nan) : "r"((pair + 0x00010001u) ^ pair));
    const u32 own = __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632) | 0x00400040u;
    return (pair & ~is_nan) | (own & is_nan);
#else
    return bfloat_bits(first) | bfloat_bits(second) << 16;
#endif
}

/// Several values as an access of a thread, rounded two at a time.
template <u32 (*round_pair)(f32, f32), typename Access, u32 COUNT> inline Access pack_pairs(const f32 (&values)[COUNT]) {
    u32 words[COUNT / 2];
#pragma unroll
    for (u32 k = 0; k < COUNT / 2; ++k) {
        words[k] = round_pair(values[2 * k], values[2 * k + 1]);
    }
    Access access;
    memcpy(&access, words, sizeof(access));
    return access;
}
