// Only the device knows how many items there are. The host has launched a grid for the most there may be; workgroups without items end
// at once, and all others see a call of as many items as there are.

template <typename Call> inline bool has_items(const Call& call) { return call.items > 0; }

/// Workgroups that have something to do, and whether this is none of them.
template <typename Call> inline u32 workgroups_of(const Call& call) { return most_workgroups(call); }
template <typename Call> inline bool is_idle(const Call& call) { return blockIdx.x >= most_workgroups(call); }
