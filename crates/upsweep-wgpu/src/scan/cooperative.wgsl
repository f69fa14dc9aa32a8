// Aligned prefixes across threads by subgroup operations, and through shared memory where those do not reach.

/// The value of the last thread of the left half of this thread's block of 2 · `width`; for threads of the left
/// half, anything.
fn from_left(value: Acc, thread: u32, width: u32) -> Acc {
    let distance = (thread & (width - 1u)) + 1u;
    if (2u * width <= SUBGROUP) {
        return shuffled(value, lane - min(distance, lane));
    }
    return from_thread(value, thread, thread - min(distance, thread));
}

/// The value of the thread before; padding for the first of `width` threads.
fn previous(value: Acc, thread: u32, width: u32) -> Acc {
    var found: Acc;
    if (width <= SUBGROUP) {
        found = shuffled(value, lane - min(1u, lane));
    } else {
        found = from_thread(value, thread, thread - min(1u, thread));
    }
    if (thread % width == 0u) {
        return padding();
    }
    return found;
}

/// S over the values of `width` neighbouring threads.
fn scan_across(value: Acc, thread: u32, width: u32) -> Acc {
    var upto = value;
    for (var half = 1u; half < width; half *= 2u) {
        let left = from_left(upto, thread, half);
        if ((thread & half) != 0u) {
            upto = then(left, upto);
        }
    }
    return upto;
}
