// Every item to its place in the output, where neighbours of the one are far apart in the other: through shared memory.
//
//     input   │ x → │            output  │ y → │        x: the last axis but one, whose items are neighbours in the input
//             │ y ↓ │                    │ x ↓ │        y: the last axis, whose items are neighbours in the output
//
// A workgroup takes a square of SIDE items, one quarter after another, and writes WRITTEN neighbours at once. A row of shared memory has one item more, so that a column of it
// lies in all banks.

const SIDE = 64u;
const HALF = 32u;
const DEEP = THREADS / HALF;

var<workgroup> quarter: array<array<Item, 33>, 32>;

fn run_transpose(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.workgroups) {
        return;
    }
    let across = parameters.across[ACROSS - 2u];
    let down = parameters.across[ACROSS - 1u];
    let squares_across = (across.x - 1u) / SIDE + 1u;
    let squares_down = (down.x - 1u) / SIDE + 1u;
    let others = workgroup / squares_across;
    let begin = offsets_in_front(others / squares_down);
    let lane_of_row = thread % HALF;
    let first = thread / HALF;
    for (var q = 0u; q < 4u; q++) {
        let x = workgroup % squares_across * SIDE + q % 2u * HALF;
        let y = others % squares_down * SIDE + q / 2u * HALF;
        for (var v = 0u; v < QUARTER_HELD; v++) { // unrolled
            let own_x = min(x + lane_of_row, across.x - 1u);
            let own_y = min(y + first + v * DEEP, down.x - 1u);
            let access = fetch_at(begin.x + own_x * across.y + own_y * down.y);
            quarter[first + v * DEEP][lane_of_row] = unpack(access)[0];
        }
        workgroupBarrier();
        for (var u = 0u; u < QUARTER_WRITTEN; u++) { // unrolled
            let number = thread + u * THREADS;
            let deep = number % (HALF / WRITTEN) * WRITTEN;
            let wide = number / (HALF / WRITTEN);
            var items: array<Stored, WRITTEN>;
            for (var v = 0u; v < WRITTEN; v++) { // unrolled
                items[v] = quarter[deep + v][wide];
            }
            if (x + wide < across.x && y + deep < down.x) {
                let at = begin.y + (x + wide) * across.z + (y + deep) * down.z;
                write_all(parameters.out_start + at, 1u, items);
            }
        }
        workgroupBarrier();
    }
}
