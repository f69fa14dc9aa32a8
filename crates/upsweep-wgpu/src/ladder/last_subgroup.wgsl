// The last LAST = 2 · SUBGROUP values: the first subgroup adds them by an operation of its own, with no barrier of the
// workgroup. What its threads do without a barrier, as in 2007, is defined nowhere today. SUBGROUP is how many neighbouring
// threads surely are in one subgroup; where it is larger, further threads add 0.

fn fold_last(thread: u32) {
    var own = 0u;
    if (thread < SUBGROUP) {
        own = values[thread] + values[thread + SUBGROUP];
    }
    let total = subgroupAdd(own);
    if (thread == 0u) {
        values[0] = total;
    }
}
