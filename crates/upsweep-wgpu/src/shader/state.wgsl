// What workgroups tell each other.
//
// Words of WGSL's atomics say nothing about other words, so each carries its own proof: 16 bits of a value
// and the number of the run that wrote them. A word of an earlier run reads as one not written yet, and nothing
// need be cleared between runs; when the numbers begin again, the last workgroup clears all.

@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;

const TICKET = 0u;
const FINISHED = 1u;
const RUN = 2u;
const FAULT = 3u;
const TOTAL = 4u;
const PUBLISHED = 8u;

/// The number of this run, of 16 bits and never 0.
var<private> run: u32;

fn begin_run() {
    run = (atomicLoad(&state[RUN]) + 1u) << 16u;
}

/// Makes a value known to all workgroups.
fn publish(slot: u32, acc: Acc) {
    let words = words_of(acc);
    for (var k = 0u; k < WORDS; k++) { // unrolled
        let at = PUBLISHED + 2u * (slot * WORDS + k);
        atomicStore(&state[at], run | (words[k] & 0xffffu));
        atomicStore(&state[at + 1u], run | (words[k] >> 16u));
    }
}

/// What was published, and whether it was.
struct Found { acc: Acc, found: bool }

fn find(slot: u32) -> Found {
    var words: Words;
    var found = true;
    for (var k = 0u; k < WORDS; k++) { // unrolled
        let at = PUBLISHED + 2u * (slot * WORDS + k);
        let low = atomicLoad(&state[at]);
        let high = atomicLoad(&state[at + 1u]);
        found = found && (low & 0xffff0000u) == run && (high & 0xffff0000u) == run;
        words[k] = (low & 0xffffu) | (high << 16u);
    }
    return Found(acc_of(words), found);
}

/// What was published, which has been or will be at once.
fn wait_for(slot: u32) -> Acc {
    for (var look = 0u; look < LOOKS; look++) {
        let found = find(slot);
        if (found.found) {
            return found.acc;
        }
    }
    atomicStore(&state[FAULT], 1u);
    return padding();
}

/// The last workgroup makes the state ready for the next run.
fn end_run(thread: u32) {
    let next = (run >> 16u) % 0xffffu;
    if (next == 0u) {
        let words = arrayLength(&state);
        for (var at = PUBLISHED + thread; at < words; at += THREADS) {
            atomicStore(&state[at], 0u);
        }
    }
    if (thread == 0u) {
        atomicStore(&state[TICKET], 0u);
        atomicStore(&state[FINISHED], 0u);
        atomicStore(&state[RUN], next);
    }
}
