// What one thread does with the items of its group where some are selected: what is scanned is how many (`selected.cuh`), or of runs more
// (`run_lengths.cuh`), and items wait beside it.

/// Items of one thread, side by side; a bit for each that is selected, and what is in front of the group.
struct Group {
    Payload at[GROUP];
    u32 selected;
    Acc before;
};

/// Puts an item into a group, none of which is there before.
inline void hold(Group& group, u32 k, const Item& item) {
    group.at[k] = item.payload;
    group.selected = (k == 0 ? 0 : group.selected) | (item.is_selected ? 1u << k : 0);
}

/// Takes it out again, if there is no item.
inline void hold_if(Group& group, u32 k, bool is_there) { group.selected &= is_there ? ~0u : ~(1u << k); }

/// How many are in front of which item of a group takes no scan.
inline Group scan_group(const Group& group) { return group; }

inline Group prefixes(Group group, Acc into) {
    group.before = into;
    return group;
}

/// Which items of a warp's rows are selected, a bit for each that a lane has.
struct SelectedOfRows {
    u32 words[(ROWS * GROUP + 31) / 32];

    u32 of(u32 r) const { return words[r * GROUP / 32] >> r * GROUP % 32 & ((1u << GROUP) - 1); }
};

/// Keeps what is known of row r, the rows in front being there.
inline void keep(SelectedOfRows& selected, u32 r, const Group& group) {
    const u32 at = r * GROUP % 32;
    u32& word = selected.words[r * GROUP / 32];
    word = at == 0 ? group.selected : word | group.selected << at;
}

/// Writes an item.
inline void write_value(OutMemory* to, const Payload& item, u32) { *to = pack_one(stored(item)); }

/// Nobody asks for items in front of others.
inline void write_identity(OutMemory*) {}

/// The number of items of a group that there are, the first of which is number `at`.
inline u32 there_are(const Scan& scan, u64 at) { return at < scan.items ? u32(min(scan.items - at, u64(GROUP))) : 0; }
