// What one thread does with the items of its group where some are selected: what is scanned is how many, and items wait beside it.

/// Items of one thread, side by side; a bit for each that is selected, and how many are in front of the group.
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

inline Acc total_of(const Group& group) { return Acc(__popc(group.selected)); }

/// How many are in front of which item of a group takes no scan.
inline Group scan_group(const Group& group) { return group; }

inline Acc scanned_total(const Group& group) { return total_of(group); }

inline Group prefixes(Group group, Acc into) {
    group.before = into;
    return group;
}

/// Writes an item.
inline void write_value(OutMemory* to, const Payload& item, u32) { *to = pack_one(stored(item)); }

/// Nobody asks for items in front of others.
inline void write_identity(OutMemory*) {}

/// The number of items of a group that there are, the first of which is number `at`.
inline u32 there_are(const Scan& scan, u64 at) { return at < scan.items ? u32(min(scan.items - at, u64(GROUP))) : 0; }
