// One atomic of each workgroup on the sum and the count of workgroups at once: whoever completes the count has the sum,
// without a second round trip to it. For sums of one word, on devices with atomics of 64 bits.

/// The words of `shader/state.wgsl`, and behind them the sum above the count. What the sum carries over is lost, as
/// it is to be.
struct State {
    ticket: atomic<u32>,
    finished: atomic<u32>,
    run: atomic<u32>,
    fault: atomic<u32>,
    packed: atomic<u64>,
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
    let word = words_of(total)[0];
    let before = atomicAdd(&state.packed, (u64(word) << 32u) | 1lu);
    if (u32(before) + 1u == parameters.workgroups) {
        atomicStore(&state.packed, 0lu);
        write_result(acc_of(Words(u32(before >> 32u) + word)));
    }
}
