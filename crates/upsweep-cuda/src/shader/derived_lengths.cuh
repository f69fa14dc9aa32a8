// Parameters and the number of items follow from lengths in the device's memory.

inline u64 ceil_div(u64 length, u64 divisor) { return length / divisor + (length % divisor > 0); }

/// Tells the host that there are indices, but nothing that they could stand for.
inline void find_some(const Inputs& inputs, u64 length, u64 indices) {
    if (length == 0 && indices > 0 && blockIdx.x == 0 && threadIdx.x == 0) {
        tell(inputs, NOTHING_TO_GATHER, indices, 0);
    }
}
