// Aligned prefixes across threads by one subgroup, which rakes over the values of all in shared memory.

const RAKERS = min(SUBGROUP, THREADS);

/// S over the values of `width` neighbouring threads. A raker takes the run of values of one block, or, of a long
/// block, every level in turn.
fn scan_across(value: Acc, thread: u32, width: u32) -> Acc {
    workgroupBarrier();
    exchange[thread] = value;
    workgroupBarrier();
    if (thread < RAKERS) {
        for (var first = thread * width; first < THREADS; first += RAKERS * width) {
            for (var half = 1u; half < width; half *= 2u) {
                for (var at = first; at < first + width; at++) {
                    if ((at & half) != 0u) {
                        exchange[at] = then(exchange[(at & ~(half - 1u)) - 1u], exchange[at]);
                    }
                }
            }
        }
    }
    workgroupBarrier();
    return exchange[thread];
}
