// The search for a position. Nobody sees how items are grouped, so the members of a team have one value together; and of all
// that they have read at once they first find the best item, without positions. That is seldom better than the best so far: only
// then they look where it is.

/// The lanes of this thread's team.
inline u32 lanes_of_team() {
    return TEAM == SUBGROUP ? ALL_LANES : ((1u << TEAM % SUBGROUP) - 1) << (threadIdx.x % SUBGROUP & ~(TEAM - 1));
}

/// Chains of comparisons that run side by side.
constexpr u32 CHAINS = ACCESS_ITEMS < 4 ? ACCESS_ITEMS : 4;

/// The best of a tile's items that a member has read, in accesses before `stop`.
template <u32 HELD, bool WHOLE>
__forceinline__ Seen best_of(const Access (&held)[HELD][ACCESSES], const Tile& tile, u32 row, u32 stop, u32 member) {
    Seen found[CHAINS];
#pragma unroll
    for (u32 c = 0; c < CHAINS; ++c) {
        found[c] = worst_seen();
    }
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const u32 access = access_of(row + r, a, member);
            const Items items = unpack(held[r][a]);
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                const bool is_there = tile.has<WHOLE>(r + a == 0, access, v, stop);
                Seen& best = found[v % CHAINS];
                best = is_there ? better_of(best, see(Value(items.at[v]))) : best;
            }
        }
    }
#pragma unroll
    for (u32 half = CHAINS / 2; half > 0; half /= 2) {
#pragma unroll
        for (u32 c = 0; c < half; ++c) {
            found[c] = better_of(found[c], found[c + half]);
        }
    }
    return found[0];
}

/// What a member has read from `row` on, into the best value of its team, which all members have.
template <u32 HELD, bool WHOLE>
__forceinline__ void find(const Access (&held)[HELD][ACCESSES], const Tile& tile, u32 row, u32 stop, u32 member, Acc& best) {
    const u32 team = lanes_of_team();
    Seen found = best_of<HELD, WHOLE>(held, tile, row, stop, member);
    // The first item need not be better than nothing.
    if (!__any_sync(team, is_better(key_seen(found), best.key) || best.index == NOWHERE)) {
        return;
    }
#pragma unroll
    for (u32 half = TEAM / 2; half > 0; half /= 2) {
        found = better_of(found, __shfl_xor_sync(team, found, half));
    }
    // The first slot of those that are like it, counted from the member's first.
    constexpr u32 NONE = ~0u;
    u32 item = NONE;
#pragma unroll
    for (u32 r = HELD; r-- > 0;) {
#pragma unroll
        for (u32 a = ACCESSES; a-- > 0;) {
            const u32 access = access_of(row + r, a, member);
            const Items items = unpack(held[r][a]);
#pragma unroll
            for (u32 v = ACCESS_ITEMS; v-- > 0;) {
                const bool is_it = tile.has<WHOLE>(r + a == 0, access, v, stop) && is_like(see(Value(items.at[v])), found);
                item = is_it ? access_of(r, a, 0) * ACCESS_ITEMS + v : item;
            }
        }
    }
    item = item == NONE ? NONE : item + access_of(row, 0, member) * ACCESS_ITEMS;
#pragma unroll
    for (u32 half = TEAM / 2; half > 0; half /= 2) {
        item = min(item, __shfl_xor_sync(team, item, half));
    }
    best = Acc{key_seen(found), item == NONE ? NOWHERE : tile.first + item};
}
