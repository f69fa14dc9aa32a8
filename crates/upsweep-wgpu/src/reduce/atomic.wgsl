// One atomic of each workgroup on the total; the last to finish takes it away. `Total` is u32, or u64 on devices that
// have atomics of it; it and `add_to_total` are the header's.

/// The words of `shader/state.wgsl`, and behind them the total.
struct State {
    ticket: atomic<u32>,
    finished: atomic<u32>,
    run: atomic<u32>,
    fault: atomic<u32>,
    total: atomic<Total>,
}

@group(0) @binding(2) var<storage, read_write> state: State;

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
    let finished = atomicAdd(&state.finished, 1u + (u32(before) & parameters.zero));
    if (finished + 1u == parameters.workgroups) {
        let all = atomicExchange(&state.total, ordered(padding()));
        atomicStore(&state.finished, 0u);
        write_result(unordered(all));
    }
}
