// What workgroups tell others of the same launch.
//
// Words of WGSL's atomics say nothing about other words, so each carries its own proof: 16 bits of a value
// and the mark of the run that wrote them. A word of an earlier run reads as one not written yet, and nothing
// need be cleared between runs; before marks begin again, all is cleared. The user's `half_of(slot, half)` says at which
// word half a word of a value is kept.

/// The mark of this run, in the upper 16 bits; never 0.
var<private> mark: u32;

/// Makes a value known to all workgroups.
fn publish(slot: u32, acc: Acc) {
    let words = words_of(acc);
    for (var k = 0u; k < WORDS; k++) { // unrolled
        atomicStore(&state[half_of(slot, 2u * k)], mark | (words[k] & 0xffffu));
        atomicStore(&state[half_of(slot, 2u * k + 1u)], mark | (words[k] >> 16u));
    }
}

/// What stood in a slot.
struct Looked { low: Words, high: Words }

fn look_at(slot: u32) -> Looked {
    var looked: Looked;
    for (var k = 0u; k < WORDS; k++) { // unrolled
        looked.low[k] = atomicLoad(&state[half_of(slot, 2u * k)]);
        looked.high[k] = atomicLoad(&state[half_of(slot, 2u * k + 1u)]);
    }
    return looked;
}

/// What was published, and whether it was.
struct Found { acc: Acc, found: bool }

fn found_in(looked: Looked) -> Found {
    var words: Words;
    var marks = 0u;
    for (var k = 0u; k < WORDS; k++) { // unrolled
        marks |= (looked.low[k] ^ mark) | (looked.high[k] ^ mark);
        words[k] = (looked.low[k] & 0xffffu) | (looked.high[k] << 16u);
    }
    return Found(acc_of(words), (marks >> 16u) == 0u);
}

fn find(slot: u32) -> Found {
    return found_in(look_at(slot));
}

/// Forgets everything that was published.
fn forget_all(thread: u32) {
    for (var at = PUBLISHED + thread; at < arrayLength(&state); at += THREADS) {
        atomicStore(&state[at], 0u);
    }
}
