// What the threads of one workgroup do together.

/// One value of each thread, for others to read.
var<workgroup> exchange: array<Acc, THREADS>;

/// The value of thread `source`.
fn from_thread(value: Acc, thread: u32, source: u32) -> Acc {
    workgroupBarrier();
    exchange[thread] = value;
    workgroupBarrier();
    return exchange[source];
}

/// A word that every thread reads alike.
var<workgroup> word_for_all: u32;

/// The word of thread 0, for all.
fn from_first(word: u32, thread: u32) -> u32 {
    if (thread == 0u) {
        word_for_all = word;
    }
    return workgroupUniformLoad(&word_for_all);
}

/// The second if `is_second`.
fn chosen(first: Acc, second: Acc, is_second: bool) -> Acc {
    if (is_second) {
        return second;
    }
    return first;
}
