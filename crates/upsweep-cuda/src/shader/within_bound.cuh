// Lengths in the device's memory, whose bounds the host knows.

/// A length, no more than its bound. One above it is told to the host, with what it was.
inline u64 within_bound(const Inputs& inputs, u64 length, u64 bound) {
    if (length > bound && blockIdx.x == 0 && threadIdx.x == 0) {
        inputs.fault[1] = length;
        inputs.fault[2] = bound;
        __threadfence_system();
        *(volatile u32*)inputs.fault = LENGTH_ABOVE_BOUND;
        __threadfence_system();
    }
    return min(length, bound);
}
