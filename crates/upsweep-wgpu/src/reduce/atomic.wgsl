// One atomic of each workgroup on the total. `Total` and `collect` are those of `counted.wgsl` or `packed.wgsl`.

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
    if (thread == 0u) {
        if (parameters.workgroups == 1u) {
            write_result(total);
        } else {
            collect(total);
        }
    }
}
