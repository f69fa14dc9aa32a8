// Items that are cut into segments: what their values know of these.
//
// A value carries whether a segment begins in what it was combined of, so that all that a scan does stays as it is. The first
// item of an array begins one. Between items, and at both ends of the array, there is a *cut* where a segment ends and another
// begins; of a group of four items, bits 0 to 4 say whether there is one in front of items 0 to 3 in memory, and behind the last.
//
//     marks.wgsl     keys, flags: every thread reads those of its own items
//     offsets.wgsl   a workgroup looks for the first segment that ends behind its chunk's beginning, and writes down where
//                    others do until the chunk ends
//
// They also say where the values of segments go, if those are written and not the values of items.
//
// Source: the operator, G. Blelloch, Prefix Sums and Their Applications (1990).

/// As in `unsegmented.wgsl`, with the cuts of each group.
struct Unit {
    items: array<Acc, UNIT>,
    before: array<Acc, UNIT_GROUPS>,
    cuts: array<u32, UNIT_GROUPS>,
}

/// 1 if a segment begins with item k of a group in the order of the scan, else 0.
fn begins(cuts: u32, k: u32) -> u32 {
    return (cuts >> (REVERSE * (4u - k) + (1u - REVERSE) * k)) & 1u;
}

/// Writes down in its values where segments begin in a unit, whose first item is number `first` of the scan and number `at`
/// of its chunk. What all threads have found out about the chunk is in `slot`.
fn marked(loaded: Unit, first: u32, at: u32, slot: u32) -> Unit {
    var unit = loaded;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        let cuts = cuts_of(first + 4u * g, at + 4u * g, slot);
        unit.cuts[g] = cuts;
        for (var k = 0u; k < 4u; k++) { // unrolled
            unit.items[4u * g + k].begins = begins(cuts, k) & u32(first + 4u * g + k < parameters.items);
        }
    }
    return unit;
}

/// What a segment without items has.
fn of_nothing() -> Acc {
    return Acc(value_chosen(identity().value, init().value, (parameters.flags & 1u) != 0u), 0u);
}

/// Makes outputs of prefixes: those of an exclusive scan begin anew, and a start value is in front of all.
fn cut(scanned: Unit) -> Unit {
    var unit = scanned;
    let first = of_nothing();
    if ((parameters.flags & 1u) != 0u) {
        for (var k = 0u; k < UNIT; k++) { // unrolled
            unit.items[k].value = then(first, Acc(unit.items[k].value, 0u)).value;
        }
    }
    if (INCLUSIVE == 0u) {
        for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
            for (var k = 0u; k < 4u; k++) { // unrolled
                const i = 4u * g + k;
                unit.items[i].value = value_chosen(unit.items[i].value, first.value, begins(unit.cuts[g], k) != 0u);
            }
        }
    }
    return unit;
}
