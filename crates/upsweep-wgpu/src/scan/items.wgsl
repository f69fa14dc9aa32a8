// What one thread does with the items of its unit. Words of several items: `packed.wgsl`.

/// S over the items of each group.
fn scan_groups(loaded: Unit) -> Unit {
    var unit = loaded;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        const i = 4u * g;
        let pair = then(unit.items[i], unit.items[i + 1u]);
        let other = then(unit.items[i + 2u], unit.items[i + 3u]);
        unit.items[i + 1u] = pair;
        unit.items[i + 2u] = then(pair, unit.items[i + 2u]);
        unit.items[i + 3u] = then(pair, other);
    }
    return unit;
}

/// The totals of groups that were scanned.
fn scanned_totals(unit: Unit) -> array<Acc, UNIT_GROUPS> {
    var totals: array<Acc, UNIT_GROUPS>;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        totals[g] = unit.items[4u * g + 3u];
    }
    return totals;
}

/// A unit that knows what comes before its groups in their row.
fn scanned_row(unit: Unit) -> Unit {
    if (LOOSE == 1u) {
        // Where the grouping cannot be seen, what comes before each group need not wait apart from the items.
        return prefixes(unit, padding());
    }
    return unit;
}

/// Every item's prefix, `row_carry` coming into the row.
fn prefixes(scanned: Unit, row_carry: Acc) -> Unit {
    var unit = scanned;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        const i = 4u * g;
        let carry = then(row_carry, unit.before[g]);
        if (INCLUSIVE == 1u) {
            for (var k = 0u; k < 4u; k++) { // unrolled
                unit.items[i + k] = then(carry, unit.items[i + k]);
            }
        } else {
            for (var k = 3u; k > 0u; k--) { // unrolled
                unit.items[i + k] = then(carry, unit.items[i + k - 1u]);
            }
            unit.items[i] = carry;
        }
    }
    return unit;
}

/// A scanned unit with what comes into its row in front; `starts` if it is the first of all.
fn with_carry(scanned: Unit, row_carry: Acc, starts: bool) -> Unit {
    var unit = scanned;
    if (LOOSE == 1u) {
        for (var k = 0u; k < UNIT; k++) { // unrolled
            unit.items[k] = then(row_carry, unit.items[k]);
        }
    } else {
        unit = prefixes(unit, row_carry);
    }
    if (starts && INCLUSIVE == 0u && (parameters.flags & 1u) == 0u) {
        unit.items[0] = identity();
    }
    return unit;
}

/// The items of a unit one after another.
fn total_in_line(unit: Unit) -> Acc {
    var total = unit.items[0];
    for (var k = 1u; k < UNIT; k++) { // unrolled
        total = then(total, unit.items[k]);
    }
    return total;
}

/// Writes item `i` of the scan.
fn write_value(i: u32, item: Acc) {
    write_item(parameters.out_start + place(i), stored(item));
}
