// What one subgroup does for its workgroup: the levels above tiles.
//
// Its threads hold TILE_STEPS values each, those of a window's 32 tiles at least: slot i · SUBGROUP + lane is the value i
// of thread `lane`. Only the threads below SUBGROUP call these functions, but for `fold_lanes`.

alias Slots = array<Acc, TILE_STEPS>;

/// S over blocks of `width` slots, at most as many as a window has tiles.
fn scan_slots(values: Slots, width: u32) -> Slots {
    var upto = values;
    for (var half = 1u; half < WINDOW_TILES; half *= 2u) { // unrolled
        if (half < width) {
            for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
                if (half < SUBGROUP) {
                    let distance = (lane & (half - 1u)) + 1u;
                    let left = shuffled(upto[i], lane - min(distance, lane));
                    if ((lane & half) != 0u) {
                        upto[i] = then(left, upto[i]);
                    }
                } else if (((i * SUBGROUP) & half) != 0u) {
                    const left_of = max(((i * SUBGROUP) & ~(half - 1u)) / SUBGROUP, 1u) - 1u;
                    upto[i] = then(shuffled(upto[left_of], SUBGROUP - 1u), upto[i]);
                }
            }
        }
    }
    return upto;
}

/// The values of each `width` neighbouring lanes by a tree, for all of them.
fn fold_lanes(value: Acc, width: u32) -> Acc {
    var total = value;
    for (var half = 1u; half < SUBGROUP; half *= 2u) { // unrolled
        if (half < width) {
            let other = shuffled_xor(total, half);
            if ((lane & half) != 0u) {
                total = then(other, total);
            } else {
                total = then(total, other);
            }
        }
    }
    return total;
}

/// The slot before each; padding for the first.
fn previous_slots(values: Slots) -> Slots {
    var before: Slots;
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        before[i] = shuffled(values[i], lane - min(1u, lane));
        if (lane == 0u) {
            before[i] = padding();
        }
        if (i > 0u) {
            const left_of = max(i, 1u) - 1u;
            let last = shuffled(values[left_of], SUBGROUP - 1u);
            if (lane == 0u) {
                before[i] = last;
            }
        }
    }
    return before;
}

/// The chunk that was scanned: what comes before each tile within it, in the tile's slot, and its total.
struct Tiles { before: Slots, total: Acc }

fn scanned_tiles() -> Tiles {
    var tiles: Slots;
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        tiles[i] = padding();
        if (i * SUBGROUP + lane < CHUNK_TILES) {
            tiles[i] = tile_totals[i * SUBGROUP + lane];
        }
    }
    let upto = scan_slots(tiles, CHUNK_TILES);
    let total = shuffled(upto[(CHUNK_TILES - 1u) / SUBGROUP], (CHUNK_TILES - 1u) % SUBGROUP);
    return Tiles(previous_slots(upto), total);
}

/// The values of all slots by a tree over those of each step, and those in turn.
fn fold_slots(values: Slots) -> Acc {
    var total = fold_lanes(values[0], SUBGROUP);
    for (var i = 1u; i < TILE_STEPS; i++) { // unrolled
        total = then(total, fold_lanes(values[i], SUBGROUP));
    }
    return total;
}

/// The slot's chunk of the window, if the slot is that of its last tile and it comes before chunk `own`.
fn is_total_before(slot: u32, own: u32) -> bool {
    return slot < own * CHUNK_TILES && slot % CHUNK_TILES == CHUNK_TILES - 1u;
}

/// Fills `tile_carries`, from what comes into the window and the totals of its chunks before this one, each in the
/// slot of its last tile. Gives what comes into the next window, to the thread that `owns_last_slot`, if this chunk
/// ends its window.
fn carry_tiles(chunk: u32, window_carry: Acc, totals: Slots) -> Acc {
    let own = (chunk % CHUNKS_OF_WINDOW) * CHUNK_TILES;
    var slots = totals;
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        let tile = i * SUBGROUP + lane - own;
        if (tile < CHUNK_TILES) {
            slots[i] = tile_totals[tile];
        }
    }
    let upto = scan_slots(slots, WINDOW_TILES);
    let before = previous_slots(upto);
    for (var i = 0u; i < TILE_STEPS; i++) { // unrolled
        let tile = i * SUBGROUP + lane - own;
        if (tile < CHUNK_TILES) {
            tile_carries[tile] = then(window_carry, before[i]);
        }
    }
    return then(window_carry, upto[(WINDOW_TILES - 1u) / SUBGROUP]);
}

fn owns_last_slot() -> bool {
    return lane == (WINDOW_TILES - 1u) % SUBGROUP;
}
