// A reduction whose operator does not commute: the total of its scan, which nobody writes.
//
//     upsweep       reads, and leaves the total of every chunk
//     spine         one workgroup: what comes into every window, and behind the last
//     write_total   one thread: that is the total

fn run_write_total(workgroup: u32, thread: u32) {
    if (workgroup > 0u || thread > 0u) {
        return;
    }
    let windows = (parameters.chunks + CHUNKS_OF_WINDOW - 1u) / CHUNKS_OF_WINDOW;
    var value = handed(parameters.prefixes + windows);
    if (parameters.items == 0u) {
        value = identity();
    }
    if ((parameters.flags & 8u) != 0u) {
        let start = init();
        value = combine(start, value);
        if (parameters.items == 0u) {
            value = start;
        }
    }
    write_item(parameters.out_start, stored(value));
}
