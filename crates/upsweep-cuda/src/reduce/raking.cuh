// Threads leave what they have in shared memory, and one warp rakes over it.

/// Values in shared memory: of tiles, or of threads where grouping cannot be seen.
constexpr u32 VALUES = EXACT ? THREADS : TILES;

/// Lanes of a tile in shared memory, and of the tiles of all teams.
constexpr u32 WIDTH = TEAM * RUN;
__shared__ Acc raked[EXACT ? 1 : TEAMS * WIDTH];

/// Leaves the value of each team's tile, those of the workgroup from `first` on: lanes in halves, first those that lie in one
/// thread in several runs, then those that lie in one raker, then those of rakers.
__forceinline__ void fold_tile(Lanes& lanes, Acc* tiles, u32 first, u32 warp, u32 lane) {
    lanes.fold_runs();
    // The tiles before have been raked.
    __syncthreads();
#pragma unroll
    for (u32 v = 0; v < RUN; ++v) {
        raked[threadIdx.x * RUN + v] = lanes.at[0][v];
    }
    __syncthreads();
#pragma unroll 4
    for (u32 team = 0; team < (warp == 0 ? TEAMS : 0); ++team) {
        constexpr u32 EACH = WIDTH / SUBGROUP;
        Acc own[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            own[k] = raked[team * WIDTH + k * SUBGROUP + lane];
        }
#pragma unroll
        for (u32 half = EACH / 2; half > 0; half /= 2) {
#pragma unroll
            for (u32 k = 0; k < half; ++k) {
                own[k] = combine(own[k], own[k + half]);
            }
        }
#pragma unroll
        for (u32 distance = SUBGROUP / 2; distance > 0; distance /= 2) {
            own[0] = combine(own[0], shuffled_xor(own[0], distance));
        }
        if (lane == 0) {
            tiles[first + team] = own[0];
        }
    }
}

/// Leaves the value that a thread has.
inline void fold_thread(Acc own, Acc* values, u32 warp, u32 lane) { values[threadIdx.x] = own; }
