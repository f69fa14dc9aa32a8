// Neighbouring items of one thread where some are selected: what is scanned is how many (`count.wgsl`), or of runs more (`run_lengths.wgsl`), and
// items wait beside it.

/// Items; a bit for each that is selected; and what is in front of the unit in its row.
struct Unit {
    items: array<Payload, UNIT>,
    selected: u32,
    before: Acc,
}

/// The items from number `first` on. Where units are whole accesses, anything behind the end.
fn load_unit(first: u32) -> Unit {
    var unit: Unit;
    if (ALIGNED == 1u) {
        for (var a = 0u; a < UNIT / ACCESS_ITEMS; a++) { // unrolled
            var items = unpack(fetch(first + a * ACCESS_ITEMS));
            for (var v = 0u; v < ACCESS_ITEMS; v++) { // unrolled
                const k = a * ACCESS_ITEMS + v;
                unit.items[k] = items[v].payload;
                unit.selected |= u32(items[v].is_selected) << k;
            }
        }
    } else {
        for (var k = 0u; k < UNIT; k++) { // unrolled
            let at = parameters.start + min(first + k, parameters.items - 1u);
            var items = unpack(read_access(at / ACCESS_ITEMS));
            unit.items[k] = items[at % ACCESS_ITEMS].payload;
            unit.selected |= u32(items[at % ACCESS_ITEMS].is_selected) << k;
        }
    }
    return unit;
}

/// The unit from number `first` on without what is behind the end.
fn padded(loaded: Unit, first: u32) -> Unit {
    var unit = loaded;
    let there = min(parameters.items - min(first, parameters.items), UNIT);
    unit.selected = extractBits(unit.selected, 0u, there);
    return unit;
}

fn total_of_unit(unit: Unit) -> Acc {
    return total_in_line(unit);
}

/// What is in a row: in front of a unit, and, for the last thread of the row, in all.
struct InRow { before: Acc, total: Acc }

/// What is in front of a unit in its row, whose total goes to `row_totals` if it `leaves` that.
fn scan_row(loaded: Unit, thread: u32, number: u32, leaves: bool) -> Unit {
    var unit = loaded;
    let row = found_in_row(unit, thread);
    unit.before = row.before;
    if (leaves && thread % ROW_THREADS == ROW_THREADS - 1u) {
        row_totals[number / ROW_THREADS] = row.total;
    }
    return unit;
}

/// Segments there are none.
fn find_heads(chunk: u32, thread: u32, slot: u32, closes_too: bool) {}

fn marked(loaded: Unit, first: u32, at: u32, slot: u32) -> Unit {
    return loaded;
}

/// Units wait in registers.
fn park(lane: u32, held: ptr<function, Held>) {}

fn unpark(lane: u32, held: ptr<function, Held>) {}
