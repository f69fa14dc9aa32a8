// Numbers for workgroups in the order in which they begin, so that whoever one waits for has begun.
//
// One word counts tickets below and runs above. Whoever takes the last ticket of a launch sets it for the next; what
// it says is known to all others by then, since it came with their tickets.

/// In this run the last to finish, whom nothing can follow, forgets what was published, and runs count from 0 again.
const LAST_RUN = (1u << (32u - TICKET_BITS)) - 1u;

var<private> run_of_ticket: u32;

/// A number for the workgroup; begins the run.
fn take_ticket(thread: u32) -> u32 {
    var word = 0u;
    if (thread == 0u) {
        word = atomicAdd(&state[TICKET], 1u);
    }
    word = from_first(word, thread);
    run_of_ticket = word >> TICKET_BITS;
    mark = (run_of_ticket + 1u) << 16u;
    return word & ((1u << TICKET_BITS) - 1u);
}

/// Every workgroup that took tickets calls this at its end, `is_last` saying whether it took the last of the launch.
fn end_tickets(is_last: bool, thread: u32) {
    let ends_run = parameters.first_chunk + parameters.dispatch_chunks == parameters.chunks;
    if (run_of_ticket == LAST_RUN && ends_run) {
        var finished = 0u;
        if (thread == 0u) {
            finished = atomicAdd(&state[FINISHED], 1u) + 1u;
        }
        if (from_first(finished, thread) == parameters.workgroups) {
            forget_all(thread);
            if (thread == 0u) {
                atomicStore(&state[FINISHED], 0u);
                atomicStore(&state[TICKET], 0u);
            }
        }
    } else if (is_last && thread == 0u) {
        atomicStore(&state[TICKET], (run_of_ticket + u32(ends_run)) << TICKET_BITS);
    }
}
