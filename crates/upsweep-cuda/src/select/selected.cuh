// Where selected items go: one behind another, from the beginning or behind what others have left. Partitioned, those that are not selected
// follow behind all of them. Where they begin segments, so do the numbers of items: offsets.

/// Whether not every item is written where it was.
constexpr bool EMITS = true;

/// What is scanned.
inline Acc total_of(const Group& group) { return Acc(__popc(group.selected)); }
inline Acc scanned_total(const Group& group) { return total_of(group); }

/// The place of the first item that is selected.
inline u64 first_place(const Scan& scan) { return BEGINS_BEHIND ? *scan.inputs.count : 0; }

/// Whether what is selected begins segments, whose offsets are wanted.
constexpr bool OFFSETS = OFFSET_WORDS > 0;

template <u32 WORDS> struct SegmentOffsetOf { using Type = u32; };
template <> struct SegmentOffsetOf<2> { using Type = u64; };
using SegmentOffset = SegmentOffsetOf<OFFSET_WORDS>::Type;

/// Offsets lie behind their number.
constexpr u32 NUMBER_BYTES = 16;

inline SegmentOffset* offsets(const Scan& scan) { return (SegmentOffset*)((u8*)scan.inputs.lengths + NUMBER_BYTES); }

/// Leaves how many are selected in all, with those in front of the first, which the group with the last item knows.
inline void leave_count(const Scan& scan, u64 at, Acc before, const Group& group) {
    if (COUNTS && at < scan.items && scan.items - at <= GROUP) {
        const u64 count = first_place(scan) + u64(before) + __popc(group.selected);
        scan.inputs.count[BEGINS_BEHIND] = count;
        if (OFFSETS) {
            *(u64*)scan.inputs.lengths = count + 1;
            offsets(scan)[count] = scan.items;
        }
    }
}

/// Writes the items of a group, the first of which is number `at`, one by one.
inline void emit(const Scan& scan, u64 at, const Group& group, u32) {
    const u64 border = PARTITIONS ? *scan.inputs.count : 0;
    u64 to = group.before;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        const bool is_selected = group.selected >> k & 1;
        if (WRITES_SELECTED && is_selected) {
            write_value(scan.output + (first_place(scan) + to), group.at[k], 1);
            if (OFFSETS) {
                offsets(scan)[to] = at + k;
            }
        } else if (PARTITIONS && !is_selected && k < there_are(scan, at)) {
            write_value(scan.output + (border + at + k - to), group.at[k], 1);
        }
        to += is_selected ? 1 : 0;
    }
    leave_count(scan, at, group.before, group);
}

/// The same of all lanes of the warp that has a row, of which `into` are selected in front: items go to neighbours in shared memory first,
/// and from there in whole accesses of the warp.
inline void emit_row(const Scan& scan, u64 at, const Group& group, u32, Acc into, Exchange& exchange, u32 lane) {
    // Items of the row in front of this lane's that are selected, and all that are: by votes, which take one step where a scan takes five.
    const u32 in_front = (1u << lane) - 1;
    u32 own = 0, count = 0;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        const u32 lanes = __ballot_sync(ALL_LANES, group.selected >> k & 1);
        own += __popc(lanes & in_front);
        count += __popc(lanes);
    }
    if constexpr (WRITES_SELECTED) {
        OutMemory* staged = (OutMemory*)exchange.out;
        u32 to = own, other = count + lane * GROUP - own;
        __syncwarp();
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const bool is_selected = group.selected >> k & 1;
            if (is_selected || (PARTITIONS && k < there_are(scan, at))) {
                staged[is_selected ? to : other] = pack_one(stored(group.at[k]));
            }
            if (OFFSETS && is_selected) {
                offsets(scan)[into + to] = at + k;
            }
            to += is_selected ? 1 : 0;
            other += is_selected ? 0 : 1;
        }
        __syncwarp();
        OutMemory* output = scan.output + (first_place(scan) + into);
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (k * SUBGROUP + lane < count) {
                output[k * SUBGROUP + lane] = staged[k * SUBGROUP + lane];
            }
        }
        if constexpr (PARTITIONS) {
            const u64 row = at - lane * GROUP;
            const u32 rest = row < scan.items ? u32(min(scan.items - row, u64(ROW))) - count : 0;
            OutMemory* others = scan.output + (*scan.inputs.count + row - into);
            for (u32 k = lane; k < rest; k += SUBGROUP) {
                others[k] = staged[count + k];
            }
        }
    }
    leave_count(scan, at, into + own, group);
}
