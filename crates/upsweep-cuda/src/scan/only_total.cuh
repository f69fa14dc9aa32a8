// A reduction whose operator does not commute: the total of its scan, which nobody writes.
//
//     upsweep     reads, and leaves the total of every chunk, `upsweep.cuh`
//     spine       one workgroup: what comes into every window, `spine.cuh`
//     total       one warp: the chunks of the last window, and what comes into it

extern "C" __global__ void __launch_bounds__(SUBGROUP, 1) total(const Scan launched, const Outcome to) {
    const auto& scan = sized(launched);
    take_given(scan.inputs);
    const u32 lane = threadIdx.x;
    const u32 window = (scan.chunks - 1) / CHUNKS_OF_WINDOW, first = window * CHUNKS_OF_WINDOW;
    const Acc carry = window == 0 ? padding() : handed(into_windows(scan) + window - 1);
    const Acc own = first + lane < scan.chunks ? handed(scan.published() + first + lane) : padding();
    const Acc all = then(carry, fold_lanes<SUBGROUP>(own, lane));
    if (lane == 0) {
        write_outcome(to, scan.items, all);
    }
}
