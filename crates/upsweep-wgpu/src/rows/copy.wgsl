// Every item to its place in the output, where neighbours of the one are neighbours of the other: whole accesses.
//
// A thread has COPIED accesses, as many accesses apart as there are threads, all on their way at once.

fn run_copy_items(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let first = workgroup * (THREADS * COPIED) + thread;
    let accesses = parameters.count / WRITTEN;
    var held: array<Access, COPIED>;
    for (var k = 0u; k < COPIED; k++) { // unrolled
        let number = min(first + k * THREADS, accesses - 1u);
        held[k] = fetch_at(offsets_of_row(number * WRITTEN).x);
    }
    for (var k = 0u; k < COPIED; k++) { // unrolled
        let number = first + k * THREADS;
        if (number < accesses) {
            let at = parameters.out_start + offsets_of_row(number * WRITTEN).y;
            write_access(at / WRITTEN, held[k]);
        }
    }
}
