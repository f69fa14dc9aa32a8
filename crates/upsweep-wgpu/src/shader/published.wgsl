// What workgroups tell others of the same launch.
//
// Words of WGSL's atomics say nothing about other words, so each carries its own proof: 16 bits of a value
// and the mark of the run that wrote them. A word of an earlier run reads as one not written yet, and nothing
// need be cleared between runs; before marks begin again, all is cleared.

/// The mark of this run, in the upper 16 bits; never 0.
var<private> mark: u32;

/// Makes a value known to all workgroups.
fn publish(slot: u32, acc: Acc) {
    let words = words_of(acc);
    for (var k = 0u; k < WORDS; k++) { // unrolled
        let at = PUBLISHED + 2u * (slot * WORDS + k);
        atomicStore(&state[at], mark | (words[k] & 0xffffu));
        atomicStore(&state[at + 1u], mark | (words[k] >> 16u));
    }
}

/// What was published, and whether it was.
struct Found { acc: Acc, found: bool }

fn find(slot: u32) -> Found {
    var words: Words;
    var marks = 0u;
    for (var k = 0u; k < WORDS; k++) { // unrolled
        let at = PUBLISHED + 2u * (slot * WORDS + k);
        let low = atomicLoad(&state[at]);
        let high = atomicLoad(&state[at + 1u]);
        marks |= (low ^ mark) | (high ^ mark);
        words[k] = (low & 0xffffu) | (high << 16u);
    }
    return Found(acc_of(words), (marks >> 16u) == 0u);
}

/// Forgets everything that was published.
fn forget_all(thread: u32) {
    for (var at = PUBLISHED + thread; at < arrayLength(&state); at += THREADS) {
        atomicStore(&state[at], 0u);
    }
}
