/// The bits of the nearest bf16.
fn bfloat_bits(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (bits >> 16u) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

/// The bits of the nearest f16.
fn half_bits(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let sign = (bits >> 16u) & 0x8000u;
    let rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) {
        return sign | 0x7e00u;
    }
    if (rest >= 0x477ff000u) {
        // 65520 and above are nearer to 65536, which is no f16.
        return sign | 0x7c00u;
    }
    if (rest >= 0x38800000u) {
        // Normal: the exponent's bias goes from 127 to 15, and 13 bits go.
        return sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u);
    }
    // Subnormal: units of 2^-24.
    let exponent = rest >> 23u;
    if (exponent < 102u) {
        return sign;
    }
    let digits = (rest & 0x7fffffu) | 0x800000u;
    let shift = 126u - exponent;
    let kept = digits >> shift;
    let lost = digits & ((1u << shift) - 1u);
    let half = 1u << (shift - 1u);
    return sign | (kept + u32(lost > half || (lost == half && (kept & 1u) == 1u)));
}
