// What workgroups tell others of the same launch.
//
// Each word carries its own proof: 32 bits of a value and the mark of the run that wrote them. A word of an earlier run
// reads as one not written yet, so that nothing need be cleared between runs, and words order nothing but themselves.

/// A value as words that prove themselves.
struct Published {
    u64 at[WORDS];
};

/// Words of 8 bytes of a total.
constexpr u32 TOTAL_WORDS = (RESULT_WORDS + 1) / 2;

/// Memory that workgroups share. A total is that of a reduction, for atomics alone; or what comes in behind a scan, for the
/// host. Tickets and those who finished are counted where somebody asks.
struct State {
    u32 run;
    u32 finished;
    /// A word of the host's: 1 if a workgroup has waited in vain for another.
    volatile u32* in_vain;
    u64 total[TOTAL_WORDS];
    u32 tickets;
    u32 unused;
    Published published[1];
};

/// Leaves a total for the host, as it is stored.
inline void hand_to_host(State* state, Acc acc) {
    const ResultWords words = result_words(acc);
#pragma unroll
    for (u32 k = 0; k < TOTAL_WORDS; ++k) {
        state->total[k] = words.at[2 * k] | (2 * k + 1 < RESULT_WORDS ? u64(words.at[2 * k + 1]) << 32 : 0);
    }
}

/// Makes a value known to all workgroups. An exchange arrives sooner than a store: a scan of 2^28 `f32` took 535 us on an
/// H200 instead of 558.
inline void publish(Published* slot, Acc acc, u32 mark) {
    const Words words = words_of(acc);
#pragma unroll
    for (u32 k = 0; k < WORDS; ++k) {
        const u64 word = u64(mark) << 32 | words.at[k];
        asm volatile("{.reg .b64 old; atom.relaxed.gpu.global.exch.b64 old, [%0], %1;}" ::"l"(slot->at + k), "l"(word)
                     : "memory");
    }
}

inline Published look_at(const Published* slot) {
    Published looked;
#pragma unroll
    for (u32 k = 0; k < WORDS; ++k) {
        asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(looked.at[k]) : "l"(slot->at + k) : "memory");
    }
    return looked;
}

inline bool is_there(const Published& looked, u32 mark) {
    bool is = true;
#pragma unroll
    for (u32 k = 0; k < WORDS; ++k) {
        is = is && u32(looked.at[k] >> 32) == mark;
    }
    return is;
}

inline Acc acc_in(const Published& looked) {
    Words words;
#pragma unroll
    for (u32 k = 0; k < WORDS; ++k) {
        words.at[k] = u32(looked.at[k]);
    }
    return acc_of(words);
}

/// After the run of this mark, marks begin again.
constexpr u32 LAST_MARK = 0xffffffffu;

/// The mark of this run; never 0, which fresh memory has.
inline u32 mark_of_run(const State* state) {
    u32 run;
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(run) : "l"(&state->run) : "memory");
    return run + 1;
}

/// The last to look at the state makes it ready for the next run. Before marks begin again, what was published is
/// forgotten.
inline void end_run(State* state, u32 mark, u64 slots) {
    const bool begins_again = mark == LAST_MARK;
#pragma unroll 1
    for (u64 slot = 0; begins_again && slot < slots; ++slot) {
        for (u32 k = 0; k < WORDS; ++k) {
            state->published[slot].at[k] = 0;
        }
    }
    state->finished = 0;
    state->tickets = 0;
    state->run = begins_again ? 0 : mark;
}
