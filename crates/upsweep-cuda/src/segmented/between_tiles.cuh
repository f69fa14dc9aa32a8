// What comes into tiles: totals of windows, and the values that waited for it.

/// Windows at which a lane looks at once: where one segment has all items, a warp looks at all windows in front of its own.
constexpr u32 LOOKS = 4;

/// What the tile of this lane has, S over those of its window as far as it: for a workgroup of one warp.
inline Known upto_tile(const Scan& scan, const Told& told_by, u32 lane) {
    const u32 tile = blockIdx.x * SUBGROUP + lane;
    Known upto = tile < tiles_of(scan) ? told(told_by.tiles + tile) : nothing();
#pragma unroll
    for (u32 half = 1; half < SUBGROUP; half *= 2) {
        const Known left = shuffled(upto, (lane & ~(2 * half - 1)) + half - 1);
        const Known both = joined(left, upto);
        upto = lane & half ? both : upto;
    }
    return upto;
}

/// Writes this workgroup's share of all segments without items, if workgroups share them; else the first one writes those in front
/// of the first item.
inline void write_empty(const Scan& scan, const Told& told_by) {
    const bool is_shared = *told_by.crowds;
    const u64 segments = is_shared ? scan.inputs.segments : blockIdx.x == 0 ? told_by.starts[0] >> 1 : 0;
    const u64 share = is_shared ? (segments + gridDim.x - 1) / gridDim.x : segments;
    const u64 end = min(segments, share * (blockIdx.x + 1));
    for (u64 segment = share * blockIdx.x + threadIdx.x; segment < end; segment += SUBGROUP) {
        if (offset_at(scan.inputs.marks, segment) == offset_at(scan.inputs.marks, segment + 1)) {
            scan.output[segment] = pack_one(value_of_nothing(scan));
        }
    }
}

extern "C" __global__ void __launch_bounds__(SUBGROUP, 1) windows(const Scan launched, const Told told_by) {
    const auto& scan = sized(launched);
    take_given(scan.inputs);
    let_next_begin();
    wait_for_last();
    const Known upto = upto_tile(scan, told_by, threadIdx.x);
    if (threadIdx.x == SUBGROUP - 1 && blockIdx.x * SUBGROUP < tiles_of(scan)) {
        tell(told_by.totals + blockIdx.x, upto);
    }
    write_empty(scan, told_by);
}

/// What comes into a window: those in front of it in turn, from the last on in which a segment begins. All lanes of a warp call it.
inline Known into_window(const Told& told_by, u32 window, u32 lane) {
    u32 first = 0, is_found = 0;
    for (u32 end = window; end > 0;) {
        u32 begins[LOOKS];
#pragma unroll
        for (u32 k = 0; k < LOOKS; ++k) {
            const u32 behind = k * SUBGROUP + lane + 1;
            begins[k] = behind <= end ? told_by.totals[end - behind].at[WORDS] : 0;
        }
        const u32 from = end > LOOKS * SUBGROUP ? end - LOOKS * SUBGROUP : 0;
#pragma unroll
        for (u32 k = LOOKS; k-- > 0;) {
            const u32 begin = __ballot_sync(ALL_LANES, begins[k] != 0);
            first = begin ? end - k * SUBGROUP - __ffs(begin) : first;
            is_found |= begin != 0;
        }
        end = is_found ? 0 : from;
    }
    // The first of these may begin one, and no other does.
    Acc next = first + lane < window ? told(told_by.totals + first + lane).value : padding();
    Acc carry = chosen(combine(padding(), next), next, is_found);
    carry = shuffled(carry, 0);
    for (u32 from = first; from < window; from += SUBGROUP) {
        const Acc own = next;
        const u32 behind = from + SUBGROUP + lane;
        next = behind < window ? told(told_by.totals + behind).value : padding();
#pragma unroll
        for (u32 k = 0; k < SUBGROUP; ++k) {
            // What is not there is padding; the first is in it.
            const Acc other = shuffled(own, k);
            carry = k == 0 && from == first ? carry : combine(carry, other);
        }
    }
    return {carry, is_found};
}

extern "C" __global__ void __launch_bounds__(SUBGROUP, 1) finish(const Scan launched, const Told told_by) {
    const auto& scan = sized(launched);
    take_given(scan.inputs);
    wait_for_last();
    const u32 lane = threadIdx.x, tile = blockIdx.x * SUBGROUP + lane;
    if (tile == 0) {
        *told_by.crowds = 0;
    }
    const bool is_there = tile < tiles_of(scan);
    const Known upto = upto_tile(scan, told_by, lane);
    const Known carry = into_window(told_by, blockIdx.x, lane), above = shuffled(upto, lane - 1);
    const Known into = lane == 0 ? carry : joined(carry, above);
    if (is_there && told_by.waiting[tile].segment != NOBODY) {
        const Waiting waiting = told_by.waiting[tile];
        const Acc row = combine(into.value, acc_of(waiting.row)), group = combine(row, acc_of(waiting.group));
        scan.output[waiting.segment] = pack_one(value_of_segment(scan, combine(group, acc_of(waiting.items))));
    }
}
