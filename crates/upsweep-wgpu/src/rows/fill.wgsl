// Rows without items.

fn run_fill_rows(workgroup: u32, thread: u32) {
    let row = workgroup * THREADS + thread;
    if (workgroup >= parameters.workgroups || row >= parameters.count) {
        return;
    }
    let at = parameters.out_start + offsets_of_row(row).y;
    if (parameters.has_init == 1u) {
        write_value(at, init());
    } else {
        write_value(at, value_of_nothing());
    }
}
