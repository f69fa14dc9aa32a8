// One atomic of each workgroup on the total; the last to finish takes it away. `ATOMIC` is the header's.

fn prepare() {}

fn finish(total: Acc, workgroup: u32, thread: u32) {
    if (thread > 0u) {
        return;
    }
    if (parameters.workgroups == 1u) {
        write_result(total);
        return;
    }
    // `zero` is 0: the old total decides nothing, but has to be there before the count can go up.
    let before = add_to_total(total);
    let finished = atomicAdd(&state[FINISHED], 1u + (before & parameters.zero));
    if (finished + 1u == parameters.workgroups) {
        let all = atomicExchange(&state[TOTAL], ordered(padding()));
        atomicStore(&state[FINISHED], 0u);
        write_result(unordered(all));
    }
}
