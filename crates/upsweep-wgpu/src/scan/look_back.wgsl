// A scan in a single pass over memory: 2n of traffic.
//
// A workgroup takes a ticket, which is the number of its chunk, so that whoever it waits for has begun. It publishes
// its chunk's total at once. What comes into its window it learns from the newest window whose prefix is known and the
// totals of all chunks since, folded in their order, window by window: whichever prefix that was, the bits are the same.
// The chunk that ends a window publishes the prefix of the next.
//
// Every wait is bounded. With FALLBACK, a workgroup that has waited too long computes the missing total itself; so this
// finishes on devices too that do not promise that workgroups go on. Without, it sets the state's fault word.
//
// Source: D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016); the fallback:
// T. Smith, R. Levien, J. Owens, Decoupled Fallback (2025); totals only, so that timing cannot be seen: our own.

const NONE = 0xffffffffu;
/// Windows whose totals the threads of a workgroup look for at once.
const WINDOWS_SEEN = THREADS / CHUNKS_OF_WINDOW;

/// 1 + number of the newest window, and of the last chunk, counted from the first that is looked for.
var<workgroup> newest_prefix: atomic<u32>;
var<workgroup> last_missing: atomic<u32>;
var<workgroup> window_totals: array<Acc, WINDOWS_SEEN>;

fn run_scan(workgroup: u32, thread: u32) {
    begin_run();
    var ticket = 0u;
    if (thread == 0u) {
        ticket = atomicAdd(&state[TICKET], 1u);
    }
    let number = from_first(ticket, thread) - parameters.first_ticket;
    if (number < parameters.dispatch_chunks) {
        scan_and_look_back(parameters.first_chunk + number, thread);
    }
    count_finished(thread);
}

fn scan_and_look_back(chunk: u32, thread: u32) {
    let publishes = (parameters.flags & 4u) == 0u || chunk != parameters.stalled;
    var held: Held;
    // The chunk that is worked on: this one, or one whose total is missing.
    var work = chunk;
    for (var round = 0u; round < ROUNDS; round++) {
        scan_chunk(work, thread, &held);
        let total = chunk_total(thread);
        if (thread == 0u && !publishes && work == chunk) {
            // As if asleep, until another has found the total out.
            for (var look = 0u; look < LOOKS && !find(work).found; look++) {}
        }
        // A chunk in place may have been overwritten since it was read, but then its total is published.
        if (thread == 0u && (work == chunk || !find(work).found)) {
            publish(work, total);
        }
        if (work != chunk) {
            work = chunk;
            continue;
        }
        work = look_back(chunk, publishes, thread);
        if (work == NONE) {
            break;
        }
    }
    if (work != NONE && thread == 0u) {
        atomicStore(&state[FAULT], 1u);
    }
    finish_chunk(chunk, thread, &held);
}

/// Fills `tile_carries`; or gives the number of a chunk whose total does not come.
fn look_back(chunk: u32, publishes: bool, thread: u32) -> u32 {
    let window = chunk / CHUNKS_OF_WINDOW;
    let base = window - min(window, WINDOWS_SEEN - 1u);
    let first = base * CHUNKS_OF_WINDOW;
    // Each thread looks for the total of one chunk, and some for the prefix of a window.
    var aggregate = Found(padding(), first + thread >= chunk);
    var prefix = Found(start_value(), base + thread == 0u);
    let asks = base + thread <= window;
    var known = 0u;
    var gap = 0u;
    var ready = false;
    for (var look = 0u; look < LOOKS_BACK; look++) {
        if (!aggregate.found) {
            aggregate = find(first + thread);
        }
        if (asks && !prefix.found) {
            prefix = find(parameters.prefixes + base + thread);
        }
        if (thread == 0u) {
            atomicStore(&newest_prefix, 0u);
            atomicStore(&last_missing, 0u);
        }
        workgroupBarrier();
        if (asks && prefix.found) {
            atomicMax(&newest_prefix, thread + 1u);
        }
        if (!aggregate.found) {
            atomicMax(&last_missing, thread + 1u);
        }
        workgroupBarrier();
        known = atomicLoad(&newest_prefix);
        gap = atomicLoad(&last_missing);
        workgroupBarrier();
        if (known > 0u && gap <= (known - 1u) * CHUNKS_OF_WINDOW) {
            ready = true;
            break;
        }
    }
    if (!ready) {
        if (FALLBACK == 1u) {
            // Without any prefix there is nobody to make up for but the slow: wait on.
            return select(chunk, first + gap - 1u, known > 0u && gap > 0u);
        }
        if (thread == 0u) {
            atomicStore(&state[FAULT], 1u);
        }
        known = max(known, 1u);
    }
    aggregates[thread] = aggregate.acc;
    let total = scan_across(aggregate.acc, thread, CHUNKS_OF_WINDOW);
    if (thread % CHUNKS_OF_WINDOW == CHUNKS_OF_WINDOW - 1u) {
        window_totals[thread / CHUNKS_OF_WINDOW] = total;
    }
    if (thread == known - 1u) {
        window_carry = prefix.acc;
    }
    workgroupBarrier();
    if (thread == 0u) {
        var carry = window_carry;
        for (var w = known - 1u; base + w < window; w++) {
            carry = then(carry, window_totals[w]);
        }
        window_carry = carry;
    }
    workgroupBarrier();
    carry_tiles(chunk, (window - base) * CHUNKS_OF_WINDOW, publishes, thread);
    return NONE;
}
