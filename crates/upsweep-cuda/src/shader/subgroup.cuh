// What the threads of a warp do together.

constexpr u32 SUBGROUP = 32;

/// The second if `is_second`: without a branch, so that chains of operations run side by side.
inline Acc chosen(Acc first, Acc second, bool is_second) { return is_second ? second : first; }

/// The value of the lane before; padding for lane 0.
inline Acc previous(Acc acc, u32 lane) { return chosen(shuffled(acc, lane - 1), padding(), lane == 0); }
