// Lengths in the device's memory, whose bounds the host knows.

/// Tells the host what was wrong, with two numbers.
inline void tell(const Inputs& inputs, u32 fault, u64 found, u64 bound) {
    inputs.fault[1] = found;
    inputs.fault[2] = bound;
    __threadfence_system();
    *(volatile u32*)inputs.fault = fault;
    __threadfence_system();
}

/// A length, no more than its bound. One above it is told to the host, with what it was.
inline u64 within_bound(const Inputs& inputs, u64 length, u64 bound) {
    if (length > bound && blockIdx.x == 0 && threadIdx.x == 0) {
        tell(inputs, LENGTH_ABOVE_BOUND, length, bound);
    }
    return min(length, bound);
}
