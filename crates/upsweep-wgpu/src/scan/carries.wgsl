// What comes into the tiles of a chunk, once it is known what comes into its window.

/// Totals of chunks that this workgroup has looked at.
var<workgroup> aggregates: array<Acc, THREADS>;
var<workgroup> window_carry: Acc;

/// Fills `tile_carries` from `window_carry` and the totals of the window's chunks before this one, which begin at
/// `first` of `aggregates`. The chunk that ends a window publishes what comes into the next.
fn carry_tiles(chunk: u32, first: u32, publishes: bool, thread: u32) {
    let own = chunk % CHUNKS_OF_WINDOW;
    let owner = thread / CHUNK_TILES;
    var slot = padding();
    if (owner == own) {
        slot = tile_totals[thread % CHUNK_TILES];
    } else if (owner < own && thread % CHUNK_TILES == CHUNK_TILES - 1u) {
        slot = aggregates[first + owner];
    }
    let upto = scan_across(slot, thread, WINDOW_TILES);
    let before = previous(upto, thread, WINDOW_TILES);
    if (owner == own) {
        tile_carries[thread % CHUNK_TILES] = then(window_carry, before);
    }
    if (publishes && thread == WINDOW_TILES - 1u && own == CHUNKS_OF_WINDOW - 1u) {
        publish(parameters.prefixes + chunk / CHUNKS_OF_WINDOW + 1u, then(window_carry, upto));
    }
}

/// A workgroup has finished; the last makes the state ready for the next run.
fn count_finished(thread: u32) {
    var finished = 0u;
    if (thread == 0u) {
        finished = atomicAdd(&state[FINISHED], 1u) + 1u;
    }
    if (from_first(finished, thread) == parameters.workgroups) {
        end_run(thread);
    }
}
