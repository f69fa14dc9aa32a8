// Where the values of segments go that offsets say.
//
// The thread that has a segment's last item writes its value. Bit i of `closes` says that item i of the chunk is the last of a
// segment. Which one that is: the first that ends in its word of 32 items, and behind it as many as close before it there, and at most
// as many as end there without items, among which it is searched for. Segments without items are shared evenly among all workgroups.
//
// Nothing is written where no segment is, even if offsets decrease or are too large.

const CLOSE_WORDS = EMITS * (CHUNK / 32u) + 1u - EMITS;

/// Whether an item is the last of a segment; of each word, the first segment that ends with one of its items, and how many segments
/// without items lie behind one of them.
var<workgroup> closes: array<atomic<u32>, CLOSE_WORDS>;
var<workgroup> first_of_word: array<atomic<u32>, CLOSE_WORDS>;
var<workgroup> empty_in_word: array<atomic<u32>, CLOSE_WORDS>;

fn forget_places(thread: u32) {
    for (var w = thread; w < CLOSE_WORDS; w += THREADS) {
        atomicStore(&closes[w], 0u);
        atomicStore(&first_of_word[w], 0u);
        atomicStore(&empty_in_word[w], 0u);
    }
}

/// Writes down which segment this is, the first of its chunk or not.
fn note_place(segment: u32, start: u32, end: u32, base: u32, is_first: bool) {
    let at = end - base - 1u;
    if (start < end) {
        atomicOr(&closes[at / 32u], 1u << (at % 32u));
    } else {
        atomicAdd(&empty_in_word[at / 32u], 1u);
    }
    if (is_first || (start - base - 1u) / 32u != at / 32u) {
        atomicStore(&first_of_word[at / 32u], segment);
    }
}

/// Writes the values of segments that end in a unit, whose first item is number `first`, and number `at` of the chunk.
fn emit(scanned: Unit, first: u32, at: u32) {
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        let word = (at + 4u * g) / 32u;
        let closing = atomicLoad(&closes[word]);
        for (var k = 0u; k < 4u; k++) { // unrolled
            let bit = (at + 4u * g + k) % 32u;
            if (((closing >> bit) & 1u) != 0u) {
                let segment = segment_of(word, closing & ((1u << bit) - 1u), first + 4u * g + k + 1u);
                if (segment < parameters.segments) {
                    write_item(parameters.out_start + segment, stored(scanned.items[4u * g + k]));
                }
            }
        }
    }
}

/// The segment that ends in front of item `end`, in a word of which these bits before it close others. Those that are counted apart
/// may be anywhere between.
fn segment_of(word: u32, before: u32, end: u32) -> u32 {
    var low = atomicLoad(&first_of_word[word]) + countOneBits(before);
    var high = low + atomicLoad(&empty_in_word[word]);
    if (is_crowded[0] != 0u) {
        low = first_of_chunk[0];
        high = parameters.segments;
    }
    return first_ending(low, high, end);
}

/// Writes this workgroup's share of segments without items. Each thread looks at 16 in a turn: on some devices on a CPU it takes no
/// more than 65,535 turns in all, and their bindings hold so many segments.
fn emit_empty(chunk: u32, thread: u32) {
    let share = (parameters.segments + parameters.chunks - 1u) / parameters.chunks;
    let end = min(parameters.segments, share * (chunk + 1u));
    for (var begin = share * chunk; begin < end; begin += 16u * THREADS) {
        for (var k = 0u; k < 16u; k++) { // unrolled
            let segment = begin + k * THREADS + thread;
            if (segment < end && offset_at(segment) == offset_at(segment + 1u)) {
                write_item(parameters.out_start + segment, stored(of_nothing()));
            }
        }
    }
}
