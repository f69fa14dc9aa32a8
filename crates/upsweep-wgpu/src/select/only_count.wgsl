// Items that are counted go nowhere.

fn finish_chunk(chunk: u32, thread: u32, held: ptr<function, Held>) {
    leave_count(chunk, thread);
}
