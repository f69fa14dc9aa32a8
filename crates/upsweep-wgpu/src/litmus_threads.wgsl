// Without subgroups no thread can be in the wrong place.

@compute @workgroup_size(THREADS)
fn litmus(@builtin(local_invocation_index) thread: u32) {
    run_litmus(thread, false);
}
