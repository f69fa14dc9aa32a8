// Aligned prefixes of what lanes have.

/// S over each `width` neighbouring lanes.
template <u32 width> inline Acc scan_lanes(Acc upto, u32 lane) {
#pragma unroll
    for (u32 half = 1; half < width; half *= 2) {
        const Acc left = shuffled(upto, (lane & ~(2 * half - 1)) + half - 1);
        upto = chosen(upto, then(left, upto), lane & half);
    }
    return upto;
}
