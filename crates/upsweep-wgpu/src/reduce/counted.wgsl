// The total apart from the count of workgroups; the last to finish takes it away. `Total` is u32, or u64 on devices that
// have atomics of it; it and `add_to_total` are the header's.

fn collect(total: Acc) {
    // `zero` is 0: the old total decides nothing, but has to be there before the count can go up.
    let before = add_to_total(total);
    let finished = atomicAdd(&state.finished, 1u + (u32(before) & parameters.zero));
    if (finished + 1u == parameters.workgroups) {
        let all = atomicExchange(&state.total, ordered(padding()));
        atomicStore(&state.finished, 0u);
        write_result(unordered(all));
    }
}
