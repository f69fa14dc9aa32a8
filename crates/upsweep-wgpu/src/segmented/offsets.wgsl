// Segments that offsets say: what all threads of a workgroup find out about its chunk.
//
// One subgroup looks for the first segment that ends behind the chunk's beginning. Then all threads walk through offsets until the
// chunk ends, and write down the cut in front of each item of the chunk in memory. Where their values go: `places.wgsl`.
//
// Where more segments end in a chunk than are walked through, most of them without items, it is crowded: each place is looked for by
// itself. So no workgroup has more to do than others, wherever segments lie.

const CUT_WORDS = CHUNK / 32u + 1u;

/// Segments that are walked through at most.
const MOST_WALKED = 2u * CHUNK;

/// What is known of this workgroup's chunk, and of another of which the total is asked for.
var<workgroup> cuts_of_chunk: array<array<atomic<u32>, CUT_WORDS>, (1u + FALLBACK)>;
var<workgroup> first_of_chunk: array<u32, (1u + FALLBACK)>;
var<workgroup> is_crowded: array<u32, (1u + FALLBACK)>;

/// The items of a chunk in memory, and the one in front of which bit 0 of its cuts is: of a chunk that is not whole, in reverse, one
/// that would lie in front of the array, counted down from 2^32.
struct Reach { base: u32, first: u32, end: u32 }

fn reach_of(chunk: u32) -> Reach {
    let first = first_of(chunk);
    let count = min(parameters.items - first, CHUNK);
    if (REVERSE == 1u) {
        let end = parameters.items - first;
        return Reach(end - CHUNK, end - count, end);
    }
    return Reach(first, first, first + count);
}

/// The number of segments that end in front of an item, found by the lanes of one subgroup.
fn ended_before(item: u32) -> u32 {
    var low = 0u;
    var high = parameters.segments;
    for (var round = 0u; round < 32u && low < high; round++) {
        let step = (high - low + SUBGROUP) / (SUBGROUP + 1u);
        let asked = low + (lane + 1u) * step - 1u;
        var has_ended = false;
        if (asked < high) {
            has_ended = offset_at(asked + 1u) <= item;
        }
        let lanes = last_lane(has_ended);
        if (lanes < SUBGROUP) {
            high = min(high, low + (lanes + 1u) * step - 1u);
        }
        low += lanes * step;
    }
    return low;
}

/// The first segment of these that does not end in front of item `end`, found by one thread; `last` if there is none.
fn first_ending(first: u32, last: u32, end: u32) -> u32 {
    var low = first;
    var high = last;
    for (var round = 0u; round < 32u && low < high; round++) {
        let middle = low + (high - low) / 2u;
        if (offset_at(middle + 1u) < end) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

/// Finds out what `cuts_of` says of a chunk, and if `closes_too`, what `emit` asks. All threads of the workgroup call it.
fn find_heads(chunk: u32, thread: u32, slot: u32, closes_too: bool) {
    let reach = reach_of(chunk);
    for (var w = thread; w < CUT_WORDS; w += THREADS) {
        atomicStore(&cuts_of_chunk[slot][w], 0u);
    }
    if (EMITS == 1u && closes_too) {
        forget_places(thread);
    }
    if (thread < SUBGROUP) {
        let first = ended_before(reach.first);
        if (lane == 0u) {
            first_of_chunk[slot] = first;
            is_crowded[slot] = 0u;
            if (first + MOST_WALKED < parameters.segments) {
                is_crowded[slot] = u32(offset_at(first + MOST_WALKED + 1u) <= reach.end);
            }
        }
    }
    workgroupBarrier();
    let first = first_of_chunk[slot];
    if (thread == 0u) {
        let start = offset_at(first);
        if (reach.first <= start && start <= reach.end) {
            note_cut(slot, start - reach.base);
        }
        if (reach.first == 0u) {
            note_cut(slot, 0u - reach.base);
        }
        if (reach.end == parameters.items) {
            note_cut(slot, reach.end - reach.base);
        }
    }
    let segments = parameters.segments;
    if (is_crowded[slot] == 0u) {
        let end = min(segments, first + MOST_WALKED + 1u);
        for (var segment = first + thread; segment < end; segment += THREADS) {
            let behind = offset_at(segment + 1u);
            if (behind > reach.end) {
                break;
            }
            if (behind > reach.first) {
                note_end(segment, first, behind, reach.base, slot, closes_too);
            }
        }
    } else {
        for (var item = reach.first + thread; item < reach.end; item += THREADS) {
            let segment = first_ending(first, segments, item + 1u);
            if (segment < segments && offset_at(segment + 1u) == item + 1u) {
                note_end(segment, first, item + 1u, reach.base, slot, closes_too);
            }
        }
    }
    workgroupBarrier();
}

fn note_cut(slot: u32, at: u32) {
    atomicOr(&cuts_of_chunk[slot][at / 32u], 1u << (at % 32u));
}

/// Writes down that a segment ends with the item in front of `end`. Bit 0 is in front of item `base`.
fn note_end(segment: u32, first: u32, end: u32, base: u32, slot: u32, closes_too: bool) {
    note_cut(slot, end - base);
    if (EMITS == 1u && closes_too) {
        note_place(segment, offset_at(segment), end, base, segment == first);
    }
}

/// The cuts of the group that begins with item `at` of its chunk in the order of the scan.
fn cuts_of(first: u32, at: u32, slot: u32) -> u32 {
    let bit = REVERSE * (CHUNK - 4u - at) + (1u - REVERSE) * at;
    var cuts = extractBits(atomicLoad(&cuts_of_chunk[slot][bit / 32u]), bit % 32u, 4u);
    if (REVERSE == 1u) {
        let behind = bit + 4u;
        cuts |= extractBits(atomicLoad(&cuts_of_chunk[slot][behind / 32u]), behind % 32u, 1u) << 4u;
    }
    return cuts;
}
