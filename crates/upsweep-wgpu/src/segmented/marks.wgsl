// Segments that keys or flags say: a thread reads those of its own items, and of their neighbours.
//
// Reduced, values carry how many segments have begun, which is where they go, one behind another.

/// Nothing is found out by all threads.
fn find_heads(chunk: u32, thread: u32, slot: u32, closes_too: bool) {}

/// Whether a segment begins between two neighbours.
fn is_between(before: Mark, own: Mark) -> bool {
    var differs = 0u;
    for (var w = 0u; w < MARK_WORDS; w++) { // unrolled
        if (BY_KEYS == 1u) {
            differs |= before[w] ^ own[w];
        } else {
            differs |= own[w];
        }
    }
    return differs != 0u;
}

/// Whether there is a cut in front of an item; none where there is no item, except at the array's ends.
fn is_cut(item: u32) -> bool {
    let last = parameters.items - 1u;
    let is_inside = (item > 0u) & (item <= last);
    let is_end = (item == 0u) | (item == parameters.items);
    return is_end | (is_inside & is_between(mark_at(min(max(item, 1u) - 1u, last)), mark_at(min(item, last))));
}

/// The cuts of the group that begins with number `first` of the scan.
fn cuts_of(first: u32, at: u32, slot: u32) -> u32 {
    var item = first;
    if (REVERSE == 1u) {
        // In front of the array, and so behind it in this arithmetic, if there is not all of the group.
        item = parameters.items - 4u - first;
    }
    var cuts = 0u;
    if (first + 4u > parameters.items) {
        for (var k = 0u; k <= 4u; k++) { // unrolled
            cuts |= u32(is_cut(item + k)) << k;
        }
    } else {
        var own = marks_of_group(item);
        for (var k = 1u; k < 4u; k++) { // unrolled
            cuts |= u32(is_between(own[k - 1u], own[k])) << k;
        }
        if (REVERSE == 0u) {
            var before = own[0];
            if (BY_KEYS == 1u) {
                before = mark_at(max(item, 1u) - 1u);
            }
            cuts |= u32((item == 0u) | is_between(before, own[0]));
        }
        if (REVERSE == 1u || EMITS == 1u) {
            let behind = item + 4u;
            let next = mark_at(min(behind, parameters.items - 1u));
            cuts |= u32((behind == parameters.items) | is_between(own[3], next)) << 4u;
        }
    }
    return cuts;
}

/// Writes the values of segments that end in a unit, whose first item is number `first`.
fn emit(scanned: Unit, first: u32, at: u32) {
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        for (var k = 0u; k < 4u; k++) { // unrolled
            let item = first + 4u * g + k;
            let own = scanned.items[4u * g + k];
            // Its number is too large only where a workgroup has waited in vain.
            let segment = own.begins - 1u;
            let ends = extractBits(scanned.cuts[g], k + 1u, 1u) != 0u;
            if (ends && item < parameters.items && segment < parameters.items) {
                write_item(parameters.out_start + segment, stored(own));
                write_unique(segment, item);
                if (item + 1u == parameters.items) {
                    write_count(segment + 1u);
                }
            }
        }
    }
}

/// Every segment has items, so that without items there is none.
fn emit_empty(chunk: u32, thread: u32) {
    if (parameters.items == 0u && thread == 0u) {
        write_count(0u);
    }
}
