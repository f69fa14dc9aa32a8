// A scan in three launches: 3n of traffic, and no workgroup waits for another.
//
//     upsweep     reads, and leaves the total of every chunk
//     spine       one workgroup: what comes into every window
//     downsweep   reads again, scans, writes
//
// Source: M. Harris, S. Sengupta, J. Owens, Parallel Prefix Sum (Scan) with CUDA (2007).

const WINDOWS_SEEN = THREADS / CHUNKS_OF_WINDOW;

var<workgroup> window_totals: array<Acc, WINDOWS_SEEN>;

fn run_upsweep(workgroup: u32, thread: u32) {
    if (workgroup >= parameters.dispatch_chunks) {
        return;
    }
    begin_run();
    let chunk = parameters.first_chunk + workgroup;
    var held: Held;
    scan_chunk(chunk, thread, &held);
    let total = chunk_total(thread);
    if (thread == 0u) {
        publish(chunk, total);
    }
}

fn run_spine(workgroup: u32, thread: u32) {
    begin_run();
    if (thread == 0u) {
        window_carry = start_value();
    }
    for (var first = 0u; first < parameters.chunks; first += THREADS) {
        var total = padding();
        if (first + thread < parameters.chunks) {
            total = find(first + thread).acc;
        }
        total = scan_across(total, thread, CHUNKS_OF_WINDOW);
        workgroupBarrier();
        if (thread % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1u) {
            window_totals[thread / CHUNKS_OF_WINDOW] = total;
        }
        workgroupBarrier();
        if (thread == 0u) {
            var carry = window_carry;
            for (var w = 0u; w < WINDOWS_SEEN; w++) {
                let next = then(carry, window_totals[w]);
                window_totals[w] = carry;
                carry = next;
            }
            window_carry = carry;
        }
        workgroupBarrier();
        if (thread < WINDOWS_SEEN) {
            publish(parameters.prefixes + first / CHUNKS_OF_WINDOW + thread, window_totals[thread]);
        }
    }
    // What comes behind it all, where that is not one of those.
    if (thread == 0u && parameters.chunks % THREADS == 0u) {
        publish(parameters.prefixes + parameters.chunks / CHUNKS_OF_WINDOW, window_carry);
    }
}

fn run_downsweep(workgroup: u32, thread: u32) {
    begin_run();
    if (workgroup < parameters.dispatch_chunks) {
        let chunk = parameters.first_chunk + workgroup;
        var held: Held;
        scan_chunk(chunk, thread, &held);
        find_carries(chunk, thread);
        finish_chunk(chunk, thread, &held);
    }
    count_finished(thread);
}

/// Fills `tile_carries` from what upsweep and spine have left.
fn find_carries(chunk: u32, thread: u32) {
    let first = chunk - chunk % CHUNKS_OF_WINDOW;
    if (first + thread < chunk) {
        aggregates[thread] = find(first + thread).acc;
    }
    if (thread == 0u) {
        window_carry = find(parameters.prefixes + chunk / CHUNKS_OF_WINDOW).acc;
    }
    workgroupBarrier();
    carry_tiles(chunk, 0u, false, thread);
}
