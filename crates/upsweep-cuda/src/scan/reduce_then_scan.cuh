// A scan in three launches: 3n of traffic, and no workgroup waits for another.
//
//     upsweep     reads, and leaves the total of every chunk, `upsweep.cuh`
//     spine       one workgroup: what comes into every window, `spine.cuh`
//     downsweep   reads again, scans, writes
//
// Source: M. Harris, S. Sengupta, J. Owens, Parallel Prefix Sum (Scan) with CUDA (2007).

extern "C" __global__ void __launch_bounds__(THREADS, 1) downsweep(const Scan launched) {
    const auto& scan = sized(launched);
    if (is_idle(scan)) {
        return;
    }
    take_given(scan.inputs);
    __shared__ Shared shared;
    const Thread thread{number_of_warp(), threadIdx.x % SUBGROUP};
    // From the end backwards: what was read last is likely to be in a cache still.
    scan_handed(scan, workgroups_of(scan) - 1 - blockIdx.x, thread, shared);
}
