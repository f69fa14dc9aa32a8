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
