// Prefixes across threads by a work-efficient tree in shared memory (G. Blelloch, 1990). It nests operations from the
// left, which S does not: for operators whose grouping cannot be seen, or where a lower level of determinism
// is asked for.

/// Prefixes over the values of `width` neighbouring threads.
fn scan_across(value: Acc, thread: u32, width: u32) -> Acc {
    let member = thread % width;
    workgroupBarrier();
    exchange[thread] = value;
    workgroupBarrier();
    for (var half = 1u; half < width; half *= 2u) {
        if ((member + 1u) % (2u * half) == 0u) {
            exchange[thread] = then(exchange[thread - half], exchange[thread]);
        }
        workgroupBarrier();
    }
    if (member == width - 1u) {
        exchange[thread] = padding();
    }
    workgroupBarrier();
    for (var half = width / 2u; half > 0u; half /= 2u) {
        if ((member + 1u) % (2u * half) == 0u) {
            let before = exchange[thread];
            let left = exchange[thread - half];
            exchange[thread - half] = before;
            exchange[thread] = then(before, left);
        }
        workgroupBarrier();
    }
    return then(exchange[thread], value);
}
