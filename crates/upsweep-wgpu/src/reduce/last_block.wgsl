// Every workgroup publishes its value; the last to finish folds them, in order.

fn finish(total: Acc, workgroup: u32, thread: u32) {
    if (parameters.workgroups == 1u) {
        if (thread == 0u) {
            write_result(total);
        }
        return;
    }
    begin_run();
    if (thread == 0u) {
        publish(workgroup, total);
    }
    storageBarrier();
    var finished = 0u;
    if (thread == 0u) {
        finished = atomicAdd(&state[FINISHED], 1u) + 1u;
    }
    if (from_first(finished, thread) < parameters.workgroups) {
        return;
    }
    var kept = padding();
    for (var step = 0u; step * THREADS < parameters.workgroups; step++) {
        let slot = step * THREADS + thread;
        var value = padding();
        if (slot < parameters.workgroups) {
            value = wait_for(slot);
        }
        let folded = fold_neighbours(value, thread);
        if (thread == step) {
            kept = folded;
        }
    }
    let all = fold_neighbours(kept, thread);
    if (thread == 0u) {
        write_result(all);
    }
    end_run(thread);
}
