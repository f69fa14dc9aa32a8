// Arithmetic of 64 bits in two words, the lower first.

fn is_below(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn smaller(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(b, a, is_below(a, b));
}

fn plus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2(low, a.y + b.y + u32(low < a.x));
}

fn minus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}

/// The product modulo 2^64.
fn times(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let a_low = a.x & 0xffffu;
    let b_low = b.x & 0xffffu;
    let a_high = a.x >> 16u;
    let b_high = b.x >> 16u;
    // No sum of these is above 2^32 - 1.
    let middle = a_high * b_low + ((a_low * b_low) >> 16u);
    let other = a_low * b_high + (middle & 0xffffu);
    let high = a_high * b_high + (middle >> 16u) + (other >> 16u);
    return vec2(a.x * b.x, high + a.x * b.y + a.y * b.x);
}

/// The quotient, rounded up.
fn ceil_div(number: vec2<u32>, divisor: vec2<u32>) -> vec2<u32> {
    if (number.y == 0u && divisor.y == 0u) {
        return vec2(number.x / divisor.x + u32(number.x % divisor.x > 0u), 0u);
    }
    var quotient = vec2(0u);
    var left = vec2(0u);
    for (var k = 0u; k < 64u; k++) {
        let bit = 63u - k;
        let overflows = (left.y >> 31u) == 1u;
        let next = (select(number.x, number.y, bit > 31u) >> (bit % 32u)) & 1u;
        left = vec2((left.x << 1u) | next, (left.y << 1u) | (left.x >> 31u));
        quotient = vec2(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
        if (overflows || !is_below(left, divisor)) {
            left = minus(left, divisor);
            quotient.x |= 1u;
        }
    }
    return plus(quotient, vec2(u32(any(left != vec2(0u))), 0u));
}
