// A chunk's total without a scan of the chunk.

var<workgroup> subgroup_totals: array<Acc, SUBGROUPS>;

/// Where neither grouping nor order can be seen: leaves the totals of what the threads of each subgroup hold.
fn leave_totals(thread: u32, held: ptr<function, Held>) {
    var total = padding();
    for (var r = 0u; r < UNITS; r++) { // unrolled
        total = then(total, total_in_line((*held)[r]));
    }
    leave_total(thread, total);
}

fn leave_total(thread: u32, own: Acc) {
    let total = fold_lanes(own, SUBGROUP);
    // A subgroup of the device may be wider than those that are counted on.
    if (thread % SUBGROUP == 0u) {
        subgroup_totals[thread / SUBGROUP] = total;
    }
    workgroupBarrier();
}

/// The total, for every thread of the subgroups that ask.
fn total_left() -> Acc {
    var total = padding();
    for (var i = lane % SUBGROUP; i < SUBGROUPS; i += SUBGROUP) {
        total = then(total, subgroup_totals[i]);
    }
    return fold_lanes(total, SUBGROUP);
}

/// Elsewhere: leaves `row_totals`. Lanes of a row fold several of their units at once: at each level of the row's tree
/// a lane hands half of its units to its neighbour, and gets the other half of the neighbour's, while it has several.
fn leave_row_totals(thread: u32, held: ptr<function, Held>) {
    var totals: array<Acc, UNITS>;
    for (var r = 0u; r < UNITS; r++) { // unrolled
        totals[r] = total_of_unit((*held)[r]);
    }
    // The units that this lane is left with begin at this one.
    var first = 0u;
    for (var half = 1u; half < ROW_THREADS; half *= 2u) { // unrolled
        let is_right = (lane & half) != 0u;
        const keeps = max(UNITS / (2u * half), 1u);
        if (UNITS / half > 1u) {
            for (var r = 0u; r < UNITS / 2u / half; r++) { // unrolled
                let other = shuffled_xor(chosen(totals[r + keeps], totals[r], is_right), half);
                let own = chosen(totals[r], totals[r + keeps], is_right);
                totals[r] = then(chosen(own, other, is_right), chosen(other, own, is_right));
            }
            first += select(0u, keeps, is_right);
        } else {
            let other = shuffled_xor(totals[0], half);
            totals[0] = then(chosen(totals[0], other, is_right), chosen(other, totals[0], is_right));
        }
    }
    // Of the lanes that hold the same, the first; each holds so many units.
    const left = max(UNITS / ROW_THREADS, 1u);
    if (lane % ROW_THREADS < UNITS) {
        for (var r = 0u; r < UNITS; r++) { // unrolled
            if (r < left) {
                row_totals[unit_of(thread, first + r) / ROW_THREADS] = totals[r];
            }
        }
    }
    workgroupBarrier();
}

/// The total by a tree over `row_totals`, for the subgroup that looks.
fn total_of_rows() -> Acc {
    var totals: array<Acc, LANE_ROWS>;
    for (var k = 0u; k < LANE_ROWS; k++) { // unrolled
        totals[k] = row_totals[(lane * LANE_ROWS + k) % CHUNK_ROWS];
    }
    for (var width = 1u; width < LANE_ROWS; width *= 2u) { // unrolled
        for (var k = 0u; k < LANE_ROWS; k += 2u * width) { // unrolled
            totals[k] = then(totals[k], totals[k + width]);
        }
    }
    return fold_lanes(totals[0], CHUNK_ROWS / LANE_ROWS);
}

/// The total of a chunk of which nothing is kept, for every thread. What is kept of another stays as it is.
fn total_of_chunk(chunk: u32, thread: u32) -> Acc {
    var free_total = padding();
    var end = UNITS;
    if (FALLBACK == 1u) {
        // A chunk is held meanwhile. A number of turns that compilers do not know keeps them from loading all units at
        // once, for which there are no registers: on an H200 2^26 `u32` took 192 us instead of 181.
        end = min(end, parameters.chunks * UNITS);
    }
    if (SEGMENTED == 1u) {
        find_heads(chunk, thread, FALLBACK, false);
    }
    for (var batch = 0u; batch < end; batch += TOTAL_BATCH) {
        var units: array<Unit, TOTAL_BATCH>;
        for (var b = 0u; b < TOTAL_BATCH; b++) { // unrolled
            units[b] = load_unit(first_of(chunk) + unit_of(thread, batch + b) * UNIT);
        }
        if (!is_whole(chunk)) {
            for (var b = 0u; b < TOTAL_BATCH; b++) { // unrolled
                units[b] = padded(units[b], first_of(chunk) + unit_of(thread, batch + b) * UNIT);
            }
        }
        if (SEGMENTED == 1u) {
            for (var b = 0u; b < TOTAL_BATCH; b++) { // unrolled
                let at = unit_of(thread, batch + b) * UNIT;
                units[b] = marked(units[b], first_of(chunk) + at, at, FALLBACK);
            }
        }
        for (var b = 0u; b < TOTAL_BATCH; b++) { // unrolled
            if (IS_FREE == 1u && SUBGROUP > 1u) {
                free_total = then(free_total, total_in_line(units[b]));
            } else {
                scan_row(units[b], thread, unit_of(thread, batch + b), true);
            }
        }
    }
    if (IS_FREE == 1u && SUBGROUP > 1u) {
        leave_total(thread, free_total);
        return total_left();
    }
    workgroupBarrier();
    let tiles = from_thread(scan_rows(thread), thread, (thread * ROWS + ROWS - 1u) % THREADS);
    return from_thread(scan_across(tiles, thread, CHUNK_TILES), thread, CHUNK_TILES - 1u);
}
