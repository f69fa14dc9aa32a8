// Where runs go: the first item of each, one behind another, and how many items it has. What is scanned is `Runs`: how many runs have begun,
// and how many items the last of them has so far.
//
// The thread that has the first item of a run writes the length of the run in front; the one with the last item of all, that of the last run.
//
// Source: our own; a segmented scan (G. Blelloch, 1990) of ones whose values are not written, but their ends.

/// Whether not every item is written where it was.
constexpr bool EMITS = true;

using Number = decltype(Acc::begun_0);

template <u32 WORDS> struct LengthOf { using Type = u32; };
template <> struct LengthOf<2> { using Type = u64; };
using Length = LengthOf<LENGTH_WORDS>::Type;

/// What is scanned. Items that are not there count too: nothing is behind them.
inline Acc total_of(const Group& group) {
    const u32 begin = group.selected;
    return Acc{Number(__popc(begin)), Number(begin ? GROUP - 31 + __clz(begin) : GROUP)};
}

inline Acc scanned_total(const Group& group) { return total_of(group); }

/// Writes how many items the last run has that has begun, if one has.
inline void end_run_of(const Scan& scan, Acc before) {
    if (before.begun_0 > 0) {
        ((Length*)scan.inputs.lengths)[before.begun_0 - 1] = before.items_0;
    }
}

/// Ends the last run of all, behind which there is no item, and leaves how many runs there are.
inline void end_runs(const Scan& scan, Acc all) {
    end_run_of(scan, all);
    *scan.inputs.count = all.begun_0;
}

/// Writes the runs that begin in a group, the first item of which is number `at`.
inline void emit(const Scan& scan, u64 at, const Group& group, u32) {
    Acc before = group.before;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        if (k < there_are(scan, at)) {
            if (group.selected >> k & 1) {
                end_run_of(scan, before);
                write_value(scan.output + before.begun_0, group.at[k], 1);
                before = Acc{before.begun_0 + 1, 0};
            }
            ++before.items_0;
        }
    }
    if (at < scan.items && scan.items - at <= GROUP) {
        end_runs(scan, before);
    }
}

/// The same of all lanes of the warp that has a row, `into` being what comes into it. By votes each knows what is in front of its group; gives
/// what comes out of the row.
__forceinline__ Acc emit_runs_of_row(const Scan& scan, u64 at, Group group, Acc into, u32 lane) {
    const u32 in_front = (1u << lane) - 1;
    // Of the row's items, those up to and with the last that begins a run, in front of this lane and in all.
    u32 own = 0, all = 0;
    Acc out = {into.begun_0, into.items_0 + ROW};
    group.before = Acc{into.begun_0, into.items_0 + lane * GROUP};
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        const u32 lanes = __ballot_sync(ALL_LANES, group.selected >> k & 1), before = lanes & in_front;
        own = before ? max(own, (31 - __clz(before)) * GROUP + k + 1) : own;
        all = lanes ? max(all, (31 - __clz(lanes)) * GROUP + k + 1) : all;
        group.before.begun_0 += __popc(before);
        out.begun_0 += __popc(lanes);
    }
    group.before.items_0 = own ? lane * GROUP - own + 1 : group.before.items_0;
    out.items_0 = all ? ROW - all + 1 : out.items_0;
    emit(scan, at, group, 0);
    return out;
}

inline void emit_row(const Scan& scan, u64 at, const Group& group, u32, Acc into, Exchange&, u32 lane) {
    emit_runs_of_row(scan, at, group, into, lane);
}
