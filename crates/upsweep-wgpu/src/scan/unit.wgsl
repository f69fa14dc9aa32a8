// Neighbouring items of one thread: loading, S over their row, storing. What is done with them: `items.wgsl`, `packed.wgsl`.

/// The items from number `first` of the scan on. Where units are whole accesses, anything behind the end.
fn load_unit(first: u32) -> Unit {
    var unit: Unit;
    if (ALIGNED == 1u) {
        var at = first;
        if (REVERSE == 1u) {
            at = parameters.items - first - UNIT;
        }
        for (var a = 0u; a < UNIT / ACCESS_ITEMS; a++) { // unrolled
            var items = unpack(fetch(at + a * ACCESS_ITEMS));
            for (var v = 0u; v < ACCESS_ITEMS; v++) { // unrolled
                const number = a * ACCESS_ITEMS + v;
                const k = REVERSE * (UNIT - 1u - number) + (1u - REVERSE) * number;
                unit.items[k] = enter(items[v], 0u);
            }
        }
    } else {
        for (var k = 0u; k < UNIT; k++) { // unrolled
            let at = parameters.start + place(min(first + k, parameters.items - 1u));
            var items = unpack(read_access(at / ACCESS_ITEMS));
            unit.items[k] = enter(items[at % ACCESS_ITEMS], 0u);
        }
    }
    return unit;
}

/// The unit from number `first` on with padding behind the end.
fn padded(loaded: Unit, first: u32) -> Unit {
    var unit = loaded;
    for (var k = 0u; k < UNIT; k++) { // unrolled
        if (first + k >= parameters.items) {
            unit.items[k] = padding();
        }
    }
    return unit;
}

/// Writes a unit to the items from number `first` of the scan on. Units are whole accesses.
fn store_unit(first: u32, unit: Unit) {
    var at = parameters.out_start + first;
    if (REVERSE == 1u) {
        at = parameters.out_start + parameters.items - first - UNIT;
    }
    for (var a = 0u; a < UNIT / OUT_ACCESS_ITEMS; a++) { // unrolled
        var items: array<Stored, OUT_ACCESS_ITEMS>;
        for (var v = 0u; v < OUT_ACCESS_ITEMS; v++) { // unrolled
            const number = a * OUT_ACCESS_ITEMS + v;
            const k = REVERSE * (UNIT - 1u - number) + (1u - REVERSE) * number;
            items[v] = stored(unit.items[k]);
        }
        write_access((at + a * OUT_ACCESS_ITEMS) / OUT_ACCESS_ITEMS, pack(items));
    }
}

/// Writes those that there are of a unit, one by one.
fn store_items(first: u32, unit: Unit) {
    for (var k = 0u; k < UNIT; k++) { // unrolled
        if (first + k < parameters.items) {
            write_value(first + k, unit.items[k]);
        }
    }
}

/// S over the items of each group of a unit, and over the groups of the row that it is a part of, whose total goes
/// to `row_totals` if it `leaves` that.
fn scan_row(loaded: Unit, thread: u32, number: u32, leaves: bool) -> Unit {
    var unit = scan_groups(loaded);
    var upto = scanned_totals(unit);
    for (var width = 1u; width < UNIT_GROUPS; width *= 2u) { // unrolled
        for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
            if ((g & width) != 0u) {
                upto[g] = then(upto[max(g & ~(width - 1u), 1u) - 1u], upto[g]);
            }
        }
    }
    if (UNIT_GROUPS == 1u) {
        upto[0] = scan_across(upto[0], thread, ROW_THREADS);
    } else {
        for (var width = 1u; width < ROW_THREADS; width *= 2u) { // unrolled
            let left = from_left(upto[UNIT_GROUPS - 1u], thread, width);
            if ((thread & width) != 0u) {
                for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
                    upto[g] = then(left, upto[g]);
                }
            }
        }
    }
    unit.before[0] = previous(upto[UNIT_GROUPS - 1u], thread, ROW_THREADS);
    for (var g = 1u; g < UNIT_GROUPS; g++) { // unrolled
        unit.before[g] = upto[g - 1u];
    }
    if (leaves && thread % ROW_THREADS == ROW_THREADS - 1u) {
        row_totals[number / ROW_THREADS] = upto[UNIT_GROUPS - 1u];
    }
    return scanned_row(unit);
}

fn total_of_unit(unit: Unit) -> Acc {
    var groups: array<Acc, UNIT_GROUPS>;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        const i = 4u * g;
        groups[g] = then(then(unit.items[i], unit.items[i + 1u]), then(unit.items[i + 2u], unit.items[i + 3u]));
    }
    for (var width = 1u; width < UNIT_GROUPS; width *= 2u) { // unrolled
        for (var g = 0u; g < UNIT_GROUPS; g += 2u * width) { // unrolled
            groups[g] = then(groups[g], groups[g + width]);
        }
    }
    return groups[0];
}
