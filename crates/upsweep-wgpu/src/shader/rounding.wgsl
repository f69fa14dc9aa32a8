// Without branches: neighbouring items take different ones, and then each is taken by all threads of a subgroup.

/// The bits of the nearest bf16.
fn bfloat_bits(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let nearest = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    return select(nearest, (bits >> 16u) | 0x40u, (bits & 0x7fffffffu) > 0x7f800000u);
}

/// The bits of the nearest f16.
fn half_bits(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let rest = bits & 0x7fffffffu;
    // Normal: the exponent's bias goes from 127 to 15, and 13 bits go.
    let normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u;
    // Subnormal: units of 2^-24, which are those of a sum with 0.5. Adding rounds to them.
    let small = bitcast<u32>(bitcast<f32>(rest) + 0.5) - 0x3f000000u;
    let finite = select(normal, small, rest < 0x38800000u);
    // 65520 and above are nearer to 65536, which is no f16.
    let large = select(finite, 0x7c00u, rest >= 0x477ff000u);
    return ((bits >> 16u) & 0x8000u) | select(large, 0x7e00u, rest > 0x7f800000u);
}

/// The signs of what are NaNs in a pair of f16, and of nothing else; the other bits are anything.
fn beyond_infinity(pair: u32) -> u32 {
    return (pair & 0x7fff7fffu) + 0x03ff03ffu;
}
