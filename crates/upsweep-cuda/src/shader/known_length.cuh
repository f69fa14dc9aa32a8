// The host knows how many items there are, and has launched as many workgroups as have some.

/// Without any, nothing was launched.
template <typename Call> inline bool has_items(const Call&) { return true; }

/// Workgroups that have something to do, and whether this is none of them.
template <typename Call> inline u32 workgroups_of(const Call&) { return gridDim.x; }
template <typename Call> inline bool is_idle(const Call&) { return false; }
