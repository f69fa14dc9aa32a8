// Values that know whether a segment begins, without that: it is their last word.

using Plain = of_values::Acc;

constexpr u32 PLAIN_WORDS = WORDS - 1;
static_assert(!COUNTS_SEGMENTS && !EMITS, "values know whether a segment begins, in one word, and all of them are written");

inline Words words_of_plain(Plain plain) { return words_of(Acc{plain, 0}); }
inline Plain plain_of(Words words) {
    words.at[PLAIN_WORDS] = 0;
    return acc_of(words).value;
}

inline Plain shuffled_plain(Plain plain, u32 lane) {
    Words words = words_of_plain(plain);
#pragma unroll
    for (u32 w = 0; w < PLAIN_WORDS; ++w) {
        words.at[w] = __shfl_sync(ALL_LANES, words.at[w], lane);
    }
    return plain_of(words);
}

/// The right one of two values in front of which there is another, if no segment begins in it.
inline Plain behind(Plain left, Plain right, bool begins) {
    const Plain both = REVERSE ? of_values::combine(right, left) : of_values::combine(left, right);
    return begins ? right : both;
}
