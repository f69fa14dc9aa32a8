// How many items there are, where one length in the device's memory says it.

/// The number of items, no more than the bound.
inline u64 items_within(const Inputs& inputs, u64 bound) {
    const u64 length = *inputs.length;
    if (length == 0 && blockIdx.x == 0 && threadIdx.x == 0) {
        count_none(inputs);
    }
    return within_bound(inputs, length, bound);
}
