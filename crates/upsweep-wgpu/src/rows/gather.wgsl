// Every item to its place in the output, where neighbours of the output are anywhere in the input: WRITTEN of them at once, of which
// VECTOR are neighbours in both.
//
// A thread has COPIED times as many, as far apart as there are threads, all on their way at once.

const READ = WRITTEN / VECTOR;

fn run_copy_items(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let first = workgroup * (THREADS * COPIED) + thread;
    let accesses = parameters.count / WRITTEN;
    var held: array<Access, ACCESSES_HELD>;
    for (var k = 0u; k < ACCESSES_HELD; k++) { // unrolled
        let number = min(first + k / READ * THREADS, accesses - 1u);
        held[k] = fetch_at(offsets_of_row(number * WRITTEN + k % READ * VECTOR).x);
    }
    for (var k = 0u; k < COPIED; k++) { // unrolled
        let number = first + k * THREADS;
        if (number < accesses) {
            var items: array<Stored, WRITTEN>;
            for (var v = 0u; v < WRITTEN; v++) { // unrolled
                items[v] = unpack(held[k * READ + v / VECTOR])[v % VECTOR];
            }
            write_all(parameters.out_start + offsets_of_row(number * WRITTEN).y, 1u, items);
        }
    }
}
