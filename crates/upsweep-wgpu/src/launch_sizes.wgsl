// The launches of a call whose number of items or of offsets only the device knows: their parameters and the sizes of their grids.
//
// The host has set all parameters for the most items and offsets that there may be. One thread replaces what follows from their numbers, and
// the launches behind it are dispatched indirectly. A length above the bound is brought down to it, and the fault word says so.
//
// Numbers of 64 bits are two words, the lower first: not every device has integers of 64 bits.

struct LaunchSizes {
    unused: array<u32, 3>,
    /// LENGTH_ABOVE_BOUND, if it was. Where the states of other launches have theirs.
    fault: u32,
    /// The length that was, and its bound.
    above: vec2<u32>,
    above_bound: vec2<u32>,
    /// Most items, or all, and the word at which their number lies, or KNOWN.
    bound: vec2<u32>,
    length_at: u32,
    /// Items of a word, of a workgroup's chunk of words; both powers of two.
    packed: u32,
    chunk: u32,
    /// Workgroups that take chunks, at most; workgroups of a dimension.
    most_workgroups: u32,
    grid: u32,
    windows: u32,
    /// 1: the parameters are those of a reduction; else of a scan.
    reduces: u32,
    /// Word at which the number of offsets lies, or KNOWN, and its bound.
    offsets_at: u32,
    offsets_bound: u32,
    unused_too: u32,
    /// The bound of what lies at length_at, of which every divisor-th item is made.
    length_bound: vec2<u32>,
    divisor: vec2<u32>,
    /// Of each window the number of its first word and the most words; behind them of each window the grid, and that of a launch which
    /// folds what several workgroups have left.
    rows: array<vec4<u32>>,
}

/// Words of `Parameters` in `../scan/chunk.wgsl` and `../reduce/reduce.wgsl`; both begin with the number of items.
const SCAN_DISPATCH_CHUNKS = 4u;
const SCAN_CHUNKS = 5u;
const SCAN_WORKGROUPS = 6u;
const SCAN_FLAGS = 7u;
const SCAN_SEGMENTS = 10u;
const SCAN_ABSENT = 11u;
const REDUCE_WORKGROUPS = 4u;
const REDUCE_FLAGS = 5u;
/// The flag of a reduction without items.
const NO_ITEMS = 2u;

@group(0) @binding(0) var<storage, read> length: array<u32>;
@group(0) @binding(1) var<storage, read_write> sizes: LaunchSizes;
@group(0) @binding(2) var<storage, read_write> parameters: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;

/// The number of words of so many items, the last of which may be a part.
fn words_of_items(items: vec2<u32>) -> vec2<u32> {
    let low = items.x + (sizes.packed - 1u);
    let rounded = vec2(low, items.y + u32(low < items.x));
    let shift = countTrailingZeros(sizes.packed);
    if (shift == 0u) {
        return rounded;
    }
    return vec2((rounded.x >> shift) | (rounded.y << (32u - shift)), rounded.y >> shift);
}

/// How many of the words are in a window.
fn words_in_window(window: u32, words: vec2<u32>) -> u32 {
    let row = sizes.rows[window];
    if (!is_below(row.xy, words)) {
        return 0u;
    }
    let left = minus(words, row.xy);
    return select(min(left.x, row.z), row.z, left.y > 0u);
}

fn chunks_of_words(words: u32) -> u32 {
    return words / sizes.chunk + u32(words % sizes.chunk > 0u);
}

fn grid_of(workgroups: u32) -> vec4<u32> {
    let x = min(workgroups, sizes.grid);
    return vec4(x, (workgroups + x - 1u) / max(x, 1u), 1u, 0u);
}

/// A length, no more than its bound. One above it is told.
fn within(found: vec2<u32>, bound: vec2<u32>) -> vec2<u32> {
    if (is_below(bound, found)) {
        sizes.fault = LENGTH_ABOVE_BOUND;
        sizes.above = found;
        sizes.above_bound = bound;
        return bound;
    }
    return found;
}

/// Replaces what follows from the number of offsets.
fn set_segments() {
    let found = vec2(offsets[sizes.offsets_at], offsets[sizes.offsets_at + 1u]);
    let own = within(found, vec2(sizes.offsets_bound, 0u)).x;
    // What is cut into segments has one window.
    parameters[SCAN_SEGMENTS] = max(own, 1u) - 1u;
    parameters[SCAN_FLAGS] = (parameters[SCAN_FLAGS] & ~NO_OFFSETS) | select(0u, NO_OFFSETS, own == 0u);
}

@compute @workgroup_size(1)
fn size_launches() {
    var items = sizes.bound;
    if (sizes.length_at != KNOWN) {
        let found = vec2(length[sizes.length_at], length[sizes.length_at + 1u]);
        items = smaller(ceil_div(within(found, sizes.length_bound), sizes.divisor), sizes.bound);
    }
    if (sizes.offsets_at != KNOWN) {
        set_segments();
    }
    let words = words_of_items(items);
    var chunks = 0u;
    for (var w = 0u; w < sizes.windows; w++) {
        chunks += chunks_of_words(words_in_window(w, words));
    }
    // Without items one workgroup says so.
    chunks = max(chunks, 1u);
    for (var w = 0u; w < sizes.windows; w++) {
        let own = words_in_window(w, words);
        let own_chunks = max(chunks_of_words(own), u32(w == 0u));
        let workgroups = min(own_chunks, sizes.most_workgroups);
        let at = w * PARAMETER_WORDS;
        parameters[at] = own;
        if (sizes.reduces == 1u) {
            let flags = parameters[at + REDUCE_FLAGS] & ~NO_ITEMS;
            parameters[at + REDUCE_WORKGROUPS] = chunks;
            parameters[at + REDUCE_FLAGS] = flags | select(0u, NO_ITEMS, all(items == vec2(0u)));
        } else {
            let is_last = own > 0u && all(minus(words, sizes.rows[w].xy) == vec2(own, 0u));
            parameters[at + SCAN_DISPATCH_CHUNKS] = own_chunks;
            parameters[at + SCAN_CHUNKS] = chunks;
            parameters[at + SCAN_WORKGROUPS] = workgroups;
            parameters[at + SCAN_ABSENT] = select(0u, words.x * sizes.packed - items.x, is_last);
        }
        sizes.rows[sizes.windows + w] = grid_of(workgroups);
    }
    sizes.rows[2u * sizes.windows] = vec4(u32(chunks > 1u), 1u, 1u, 0u);
}
