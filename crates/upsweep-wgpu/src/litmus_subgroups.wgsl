// Whether threads of a subgroup find one another where kernels look for them: as many neighbours as the smallest
// subgroup has, by the two ways that kernels go.

@compute @workgroup_size(THREADS)
fn litmus(
    @builtin(local_invocation_index) thread: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    var is_misplaced = false;
    for (var distance = 1u; distance < SUBGROUP; distance *= 2u) {
        let across = subgroupShuffleXor(thread, distance);
        let before = subgroupShuffle(thread, lane - min(distance, lane));
        let has_before = thread % SUBGROUP >= distance;
        is_misplaced |= across != (thread ^ distance);
        is_misplaced |= has_before && before != thread - distance;
    }
    run_litmus(thread, is_misplaced);
}
