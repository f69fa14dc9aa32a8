// Only the device knows how many offsets there are. All kernels see a call of as many segments as these say.

inline void set_offsets(Inputs& inputs) {
    const u64 count = within_bound(inputs, *inputs.offset_count, inputs.segments + 1);
    inputs.segments = count == 0 ? 0 : count - 1;
    // Of no segments the first offset is read. Where there is none, this number stands for it, which is 0.
    inputs.marks = count == 0 ? (const Mark*)inputs.offset_count : inputs.marks;
}
