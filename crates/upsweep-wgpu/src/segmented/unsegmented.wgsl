// Items that are not cut into segments: what `segments.wgsl` says, of one segment that nobody sees.

/// Items, later S of the items of each group; and what comes before each group within its row. Units are handed on
/// by value and indexed by constants, so that they lie in registers.
struct Unit {
    items: array<Acc, UNIT>,
    before: array<Acc, UNIT_GROUPS>,
}

fn find_heads(chunk: u32, thread: u32, slot: u32, closes_too: bool) {}

fn marked(loaded: Unit, first: u32, at: u32, slot: u32) -> Unit {
    return loaded;
}

fn cut(scanned: Unit) -> Unit {
    return scanned;
}

fn emit(scanned: Unit, first: u32, at: u32) {}

fn emit_empty(chunk: u32, thread: u32) {}
