// The values of a row's parts: of each FAN neighbours one, by a tree; or, in order, of all, one after another. A thread for each.

const FAN = 32u;

fn run_fold_parts(workgroup: u32, thread: u32) {
    let number = workgroup * THREADS + thread;
    if (workgroup >= parameters.workgroups || number >= parameters.count * parameters.parts_left) {
        return;
    }
    let row = number % parameters.count;
    let group = number / parameters.count;
    if (COMMUTES == 1u) {
        let first = group * FAN;
        let count = min(parameters.parts - first, FAN);
        var values: Tree;
        for (var k = 0u; k < count; k++) {
            push(&values, Values(part_in_front(row, first + k)), k);
        }
        leave_part(row, group, total(&values, count)[0]);
    } else {
        var value = padding();
        for (var part = 0u; part < parameters.parts; part++) {
            value = then(value, part_in_front(row, part));
        }
        leave_part(row, group, value);
    }
}
