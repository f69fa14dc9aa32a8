// Every workgroup publishes its value; the last to finish folds them, in order.

/// The halves of a slot lie beside one another: with those of all slots side by side instead, 2^24 `f32` took 26.1 us on an
/// H200 and 24.6 in an earlier run with these.
fn half_of(slot: u32, half: u32) -> u32 {
    return PUBLISHED + 2u * WORDS * slot + half;
}

/// The run's number is on its way while items are folded.
fn prepare() {
    mark = (atomicLoad(&state[RUN]) + 1u) << 16u;
}

fn finish(total: Acc, workgroup: u32, thread: u32) {
    if (parameters.workgroups == 1u) {
        if (thread == 0u) {
            write_result(total);
        }
        return;
    }
    if (thread == 0u) {
        publish(workgroup, total);
    }
    // What was published proves itself, so that nobody waits for it to arrive before the next atomic.
    var finished = 0u;
    if (thread == 0u) {
        finished = atomicAdd(&state[FINISHED], 1u) + 1u;
    }
    if (from_first(finished, thread) < parameters.workgroups) {
        return;
    }
    let all = fold_left_by_workgroups(thread);
    if (thread == 0u) {
        write_result(all);
    }
    end_run(thread);
}

alias Glanced = Looked;

fn glance(slot: u32) -> Glanced {
    return look_at(slot);
}

/// What was published, which has been or will be at once.
fn settle(slot: u32, glanced: Glanced) -> Acc {
    var found = found_in(glanced);
    for (var look = 0u; look < LOOKS && !found.found; look++) {
        found = find(slot);
    }
    if (!found.found) {
        atomicStore(&state[FAULT], 1u);
        return padding();
    }
    return found.acc;
}

/// The last workgroup makes the state ready for the next run.
fn end_run(thread: u32) {
    let next = (mark >> 16u) % 0xffffu;
    if (next == 0u) {
        forget_all(thread);
    }
    if (thread == 0u) {
        atomicStore(&state[FINISHED], 0u);
        atomicStore(&state[RUN], next);
    }
}
