// Threads fold by trees in shared memory with sequential addressing: a slot takes in the one that is half of all slots further on.

/// Values in shared memory: of tiles, or of threads where grouping cannot be seen.
constexpr u32 VALUES = EXACT ? THREADS : TILES;

/// A slot for each thread's value, or for each of its lanes.
__shared__ Acc slots_of_threads[EXACT ? THREADS : THREADS * RUN];

/// Waits for the other members of those that share slots: of a warp at most, or of the whole workgroup.
template <u32 MEMBERS> inline void meet() {
    if constexpr (MEMBERS > SUBGROUP) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}

/// COUNT slots in halves, to the first one.
template <u32 COUNT, u32 MEMBERS> inline void fold_halves(Acc* slots, u32 member) {
    meet<MEMBERS>();
#pragma unroll
    for (u32 half = COUNT / 2; half > 0; half /= 2) {
        for (u32 slot = member; slot < half; slot += MEMBERS) {
            slots[slot] = combine(slots[slot], slots[slot + half]);
        }
        meet<MEMBERS>();
    }
}

/// The slot of value `k` of COUNT, so that halves of slots are neighbours of values: the bits of `k` from the last to the first.
template <u32 COUNT> inline u32 slot_of(u32 k) { return u32(u64(__brev(k)) * COUNT >> 32); }

/// Leaves the value of each team's tile, those of the workgroup from `first` on: lanes in halves.
__forceinline__ void fold_tile(Lanes& lanes, Acc* tiles, u32 first, u32 warp, u32 lane) {
    const u32 team = threadIdx.x / TEAM, member = threadIdx.x % TEAM;
    Acc* const slots = slots_of_threads + team * TEAM * RUN;
    lanes.fold_runs();
#pragma unroll
    for (u32 v = 0; v < RUN; ++v) {
        slots[member * RUN + v] = lanes.at[0][v];
    }
    fold_halves<TEAM * RUN, TEAM>(slots, member);
    if (member == 0) {
        tiles[slot_of<TILES>(first + team)] = slots[0];
    }
}

/// Leaves the value that a thread has.
inline void fold_thread(Acc own, Acc* values, u32 warp, u32 lane) { values[threadIdx.x] = own; }

/// The value of the workgroup from COUNT values that were left.
template <u32 COUNT> inline Acc fold_values(Acc* values, u32 warp, u32 lane) {
    fold_halves<COUNT, THREADS>(values, threadIdx.x);
    return values[0];
}

/// The values of a warp's lanes by a tree over neighbours, for all of them.
template <u32 COUNT> inline Acc fold_lanes(Acc own) {
    const u32 lane = threadIdx.x % SUBGROUP;
    Acc* const slots = slots_of_threads + (threadIdx.x - lane);
    __syncwarp();
    slots[slot_of<SUBGROUP>(lane)] = own;
    fold_halves<SUBGROUP, SUBGROUP>(slots, lane);
    return slots[0];
}

/// Values of neighbours by a tree, COUNT of them in shared memory, no more than lanes; for the lanes of one warp.
template <u32 COUNT> inline Acc fold_neighbours(const Acc* values, u32 lane) {
    return fold_lanes<COUNT>(lane < COUNT ? values[lane] : padding());
}
