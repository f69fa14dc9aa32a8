// What one thread does with the items of its group. Words of several items: `packed.cuh`.

/// Items of one thread, side by side; later their prefixes.
struct Group {
    Acc at[GROUP];
};

/// Puts an item into a group.
inline void hold(Group& group, u32 k, const Item& item) { group.at[k] = enter(item, 0); }

/// Puts padding there, if there is no item.
inline void hold_if(Group& group, u32 k, bool is_there) { group.at[k] = chosen(padding(), group.at[k], is_there); }

inline Acc total_of(const Group& group) {
    return then(then(group.at[0], group.at[1]), then(group.at[2], group.at[3]));
}

/// S over the items of a group.
inline Group scan_group(Group group) {
    const Acc right = then(group.at[2], group.at[3]);
    group.at[1] = then(group.at[0], group.at[1]);
    group.at[2] = then(group.at[1], group.at[2]);
    group.at[3] = then(group.at[1], right);
    return group;
}

/// The total of a group that was scanned.
inline Acc scanned_total(const Group& group) { return group.at[GROUP - 1]; }

/// The prefixes of a group's items: `into` comes into the group, S over which it is.
inline Group prefixes(const Group& group, Acc into) {
    Group scanned;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        scanned.at[k] = INCLUSIVE ? then(into, group.at[k]) : k == 0 ? into : then(into, group.at[k > 0 ? k - 1 : 0]);
    }
    return scanned;
}

/// Writes an item.
inline void write_value(OutMemory* to, Acc item, u32) { *to = pack_one(stored(item)); }

/// Writes what an exclusive scan begins with.
inline void write_identity(OutMemory* to) { *to = pack_one(stored(identity())); }
