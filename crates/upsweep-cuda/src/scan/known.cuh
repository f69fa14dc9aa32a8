// What is known of the windows in front of a chunk, where what comes into them is published.

/// Windows back from this chunk's own, what comes into which is looked for at once.
inline u32 newest_known(const Scan& scan, u32 mark, u32 window, u32 lane, Acc& carry) {
    const Published* into = scan.state->published + scan.chunks;
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
