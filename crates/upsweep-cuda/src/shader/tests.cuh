// Every function of a header, in a kernel of one warp: what it says about eight accesses and one more item.

extern "C" __global__ void KERNEL(
    const Access* input, const InMemory* one, u64* results, u32* all_words, const InitWords start, void* total, void* output,
    void* output_one) {
    const u32 lane = threadIdx.x;
    Acc acc = combine(identity(), init(start));
#pragma unroll 1
    for (u32 k = 0; k < 8; ++k) {
        const Items items = unpack(input[8 * lane + k]);
        for (u32 j = 0; j < ACCESS_ITEMS; ++j) {
            acc = combine(acc, enter(items.at[j], u64(8 * lane + k) * ACCESS_ITEMS + j));
        }
    }
    acc = combine(acc, enter(unpack_one(one[lane]), u64(32 * 8) * ACCESS_ITEMS + lane));
    acc = combine(padding(), combine(acc, padding()));
    const Words words = words_of(acc);
    for (u32 k = 0; k < WORDS; ++k) {
        all_words[lane * WORDS + k] = words.at[k];
    }
#pragma unroll 1
    for (u32 step = 16; step > 0; step /= 2) {
        acc = combine(acc, shuffled_down(acc, step));
    }
    acc = combine(shuffled(acc, 0), combine(shuffled_xor(padding(), 1), shuffled_up(padding(), 1)));
