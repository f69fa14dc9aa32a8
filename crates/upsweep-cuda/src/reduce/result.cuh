// Where a result goes, and what it begins with.

struct Outcome {
    /// Memory of the device, or a mailbox and the number of the message; or nowhere.
    Result* result;
    u64* mailbox;
    u32 message;
    /// Whether there is a start value, and its words.
    u32 has_init;
    InitWords init;
};

/// Writes the result of so many items. One thread.
inline void write_outcome(const Outcome& to, u64 items, Acc total) {
    Acc value = items == 0 ? identity() : total;
    if (to.has_init) {
        const Acc start = init(to.init);
        value = items == 0 ? start : combine(start, total);
    }
    if (to.result) {
        *to.result = result_of(value);
    }
    if (to.mailbox) {
        leave_message(to.mailbox, to.message, result_words(value));
    }
}
