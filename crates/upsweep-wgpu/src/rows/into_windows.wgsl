// What comes into each window of each row, behind the first: a thread for each row.

const TILES_OF_WINDOW = 32u;

fn run_into_windows(workgroup: u32, thread: u32) {
    let row = workgroup * THREADS + thread;
    if (workgroup >= parameters.workgroups || row >= parameters.count) {
        return;
    }
    var into = into_row();
    var tiles: Tree;
    let windows = (parameters.parts - 1u) / PARTS_OF_WINDOW;
    for (var window = 0u; window < windows; window++) {
        for (var p = 0u; p < PARTS_OF_WINDOW; p++) {
            let value = part_in_front(row, window * PARTS_OF_WINDOW + p);
            push_at(&tiles, Values(value), p * TILES, LOG_TILES);
        }
        into = then(into, total(&tiles, TILES_OF_WINDOW)[0]);
        set_part(parameters.parts_behind + (window + 1u) * parameters.count + row, into);
    }
}
