// Every workgroup leaves its value; further dispatches fold them.

@group(0) @binding(2) var<storage, read_write> partials: array<u32>;

fn prepare() {}

fn finish(total: Acc, workgroup: u32, thread: u32) {
    if (thread > 0u) {
        return;
    }
    if (parameters.workgroups == 1u) {
        write_result(total);
        return;
    }
    let words = words_of(total);
    for (var k = 0u; k < WORDS; k++) { // unrolled
        partials[workgroup * WORDS + k] = words[k];
    }
}

/// Folds the values that `reduce` left: one workgroup, a tree over neighbours.
fn run_fold_partials(workgroup: u32, thread: u32) {
    var kept = padding();
    for (var step = 0u; step * THREADS < parameters.workgroups; step++) {
        let slot = step * THREADS + thread;
        var value = padding();
        if (slot < parameters.workgroups) {
            var words: Words;
            for (var k = 0u; k < WORDS; k++) { // unrolled
                words[k] = partials[slot * WORDS + k];
            }
            value = acc_of(words);
        }
        let folded = fold_neighbours(value, thread);
        if (thread == step) {
            kept = folded;
        }
    }
    let total = fold_neighbours(kept, thread);
    if (thread == 0u) {
        write_result(total);
    }
}
