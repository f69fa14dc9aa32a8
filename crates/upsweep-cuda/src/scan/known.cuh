// What is known of the windows in front of a chunk, where what comes into them is published.

/// The totals of the first `count` chunks from `from` on, one for each lane, and padding for the others; `there` says whether all
/// of them came.
inline Acc totals_from(const Scan& scan, u32 mark, u32 from, u32 count, u32 lane, bool& there) {
    const Published* published = scan.published() + from + min(lane, max(count, 1u) - 1);
    Published looked = look_at(published);
    for (u32 look = 0; look < LOOKS && !__all_sync(ALL_LANES, lane >= count || is_there(looked, mark)); ++look) {
        looked = look_at(published);
    }
    there = there && __all_sync(ALL_LANES, lane >= count || is_there(looked, mark));
    return lane < count ? acc_in(looked) : padding();
}

/// Where a segment begins in a chunk's own window in front of it, or in the window before, nothing else reaches the chunk. Says
/// whether that is so.
inline bool find_near(const Scan& scan, u32 mark, u32 number, u32 lane, Front& front) {
    if (!KNOWS_BEGINNINGS) {
        return false;
    }
    const u32 own = number % CHUNKS_OF_WINDOW, first = number - own;
    bool there = true;
    const Acc totals = totals_from(scan, mark, first, own, lane, there);
    const bool is_own = __any_sync(ALL_LANES, begins_in(totals));
    if (first > 0 && !is_own) {
        const Acc before = totals_from(scan, mark, first - CHUNKS_OF_WINDOW, CHUNKS_OF_WINDOW, lane, there);
        if (!__any_sync(ALL_LANES, begins_in(before))) {
            return false;
        }
        front.carry = shuffled(fold_lanes<CHUNKS_OF_WINDOW>(before, lane), 0);
    }
    front.totals = totals;
    return there && (first > 0 || is_own || own == 0);
}

/// Windows back from this chunk's own, what comes into which is looked for at once.
inline u32 newest_known(const Scan& scan, u32 mark, u32 window, u32 lane, Acc& carry) {
    const Published* into = scan.published() + scan.chunks;
    for (u32 newest = window; newest > 0; newest -= min(newest, SUBGROUP)) {
        const u32 looked_for = newest > lane ? newest - lane : 0;
        const Published looked = look_at(into + max(looked_for, 1u) - 1);
        const u32 there = __ballot_sync(ALL_LANES, looked_for > 0 && is_there(looked, mark));
        if (there) {
            const u32 found = __ffs(there) - 1;
            carry = shuffled(acc_in(looked), found);
            return newest - found;
        }
    }
    return 0;
}
