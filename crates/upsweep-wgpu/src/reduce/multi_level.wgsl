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

/// Folds the values that `reduce` left: one workgroup.
fn run_fold_partials(workgroup: u32, thread: u32) {
    let total = fold_left_by_workgroups(thread);
    if (thread == 0u) {
        write_result(total);
    }
}

alias Glanced = Words;

fn glance(slot: u32) -> Glanced {
    var words: Words;
    for (var k = 0u; k < WORDS; k++) { // unrolled
        words[k] = partials[slot * WORDS + k];
    }
    return words;
}

fn settle(slot: u32, words: Glanced) -> Acc {
    return acc_of(words);
}
