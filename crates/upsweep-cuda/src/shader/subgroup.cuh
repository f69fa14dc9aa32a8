// What the threads of a warp do together.

constexpr u32 SUBGROUP = 32;

/// The number of this thread's warp. By way of a shuffle, so that the compiler knows it to be the same for all of them: else it
/// gets every shuffle behind a comparison with it ready for threads that went apart, which doubled the code of a scan.
inline u32 number_of_warp() { return __shfl_sync(ALL_LANES, threadIdx.x / SUBGROUP, 0); }

/// The second if `is_second`: without a branch, so that chains of operations run side by side.
inline Acc chosen(Acc first, Acc second, bool is_second) { return is_second ? second : first; }

/// The value of the lane before; padding for lane 0.
inline Acc previous(Acc acc, u32 lane) { return chosen(shuffled(acc, lane - 1), padding(), lane == 0); }

// From compute capability 8.0 on a warp adds words of 32 bits in one instruction.
#if __CUDA_ARCH__ >= 800
constexpr bool ADDS_LANES = SUMS_WORDS;
inline u32 sum_lanes(u32 word) { return __reduce_add_sync(ALL_LANES, word); }
#else
constexpr bool ADDS_LANES = false;
inline u32 sum_lanes(u32 word) { return word; }
#endif
