// Leaves a result for the host; `mailbox.rs` says how. One thread.

inline void leave_message(u64* mailbox, u32 number, const ResultWords& words) {
#pragma unroll
    for (u32 k = 0; k < RESULT_WORDS; ++k) {
        *(volatile u64*)(mailbox + k) = u64(number) << 32 | words.at[k];
    }
}
