// Parameters of launches that follow from a length which only the device knows.
//
// The host has set all others. One thread replaces these in the parameters of every window, in front of the launches that read them. A
// length above its bound is brought down to it, and the fault word says so; and if there are indices, but nothing to gather.

struct Derivation {
    /// Which word of a window's parameters is the first of two, and how they follow: SETS, ADDS or LAST.
    word: u32,
    way: u32,
    /// What the host has set.
    own: vec2<u32>,
    /// With what the quotient of the length by the divisor is multiplied.
    coefficient: vec2<u32>,
    divisor: vec2<u32>,
}

struct Derivations {
    bound: vec2<u32>,
    /// Word at which the length lies.
    length_at: u32,
    windows: u32,
    /// 1: items are gathered from what is so long.
    is_gathered: u32,
    count: u32,
    unused: vec2<u32>,
    all: array<Derivation>,
}

/// The head of `LaunchSizes`.
struct Told {
    unused: array<u32, 3>,
    fault: u32,
    found: vec2<u32>,
    bound: vec2<u32>,
}

@group(0) @binding(0) var<storage, read> length: array<u32>;
@group(0) @binding(1) var<storage, read_write> told: Told;
@group(0) @binding(2) var<storage, read_write> parameters: array<u32>;
@group(0) @binding(3) var<storage, read> derivations: Derivations;

fn tell(fault: u32, found: vec2<u32>, bound: vec2<u32>) {
    told.fault = fault;
    told.found = found;
    told.bound = bound;
}

/// How many items are made, which the parameters of windows begin with.
fn items_made() -> vec2<u32> {
    var items = vec2(0u);
    for (var w = 0u; w < derivations.windows; w++) {
        items = plus(items, vec2(parameters[w * PARAMETER_WORDS], 0u));
    }
    return items;
}

fn derived(by: Derivation, length: vec2<u32>, before: vec2<u32>) -> vec2<u32> {
    let quotient = ceil_div(length, by.divisor);
    if (by.way == LAST) {
        let last = minus(quotient, vec2(u32(any(quotient != vec2(0u))), 0u));
        return smaller(by.own, last);
    }
    let begin = select(before, by.own, by.way == SETS);
    return plus(begin, times(by.coefficient, quotient));
}

@compute @workgroup_size(1)
fn derive_parameters() {
    let at = derivations.length_at;
    let found = vec2(length[at], length[at + 1u]);
    if (is_below(derivations.bound, found)) {
        tell(LENGTH_ABOVE_BOUND, found, derivations.bound);
    }
    let own = smaller(found, derivations.bound);
    if (derivations.is_gathered == 1u && all(own == vec2(0u))) {
        let indices = items_made();
        if (any(indices != vec2(0u))) {
            tell(NOTHING_TO_GATHER, indices, vec2(0u));
        }
    }
    for (var k = 0u; k < derivations.count; k++) {
        let by = derivations.all[k];
        for (var w = 0u; w < derivations.windows; w++) {
            let word = w * PARAMETER_WORDS + by.word;
            let value = derived(by, own, vec2(parameters[word], parameters[word + 1u]));
            parameters[word] = value.x;
            parameters[word + 1u] = value.y;
        }
    }
}
