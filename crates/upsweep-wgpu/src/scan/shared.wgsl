// Values of other threads through shared memory.

/// The value of the last thread of the left half of this thread's block of 2 · `width`; for threads of the left
/// half, anything.
fn from_left(value: Acc, thread: u32, width: u32) -> Acc {
    let distance = (thread & (width - 1u)) + 1u;
    return from_thread(value, thread, thread - min(distance, thread));
}

/// The value of the thread before; padding for the first of `width` threads.
fn previous(value: Acc, thread: u32, width: u32) -> Acc {
    let found = from_thread(value, thread, thread - min(1u, thread));
    if (thread % width == 0u) {
        return padding();
    }
    return found;
}
