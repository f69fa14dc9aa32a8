// The search for a position. Nobody sees how items are grouped, so a thread keeps one value; and of all that it has read at once it
// first finds the best key, without positions. That is seldom better than the best so far: only then it looks where it was.

template <u32 HELD>
__forceinline__ void find(const Access (&held)[HELD][ACCESSES], u64 first, u32 row, u32 end, u32 member, Acc& best) {
    const auto key_at = [&](u32 r, u32 a, u32 v) { return hold_key(Value(unpack(held[r][a]).at[v])); };
    Key found = WORST;
#pragma unroll
    for (u32 r = 0; r < HELD; ++r) {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            const bool is_there = access_of(row + r, a, member) < end;
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                const Key key = key_at(r, a, v);
                found = is_there && is_better(key, found) ? key : found;
            }
        }
    }
    const bool is_first = best.index == NOWHERE && found == best.key;
    if (is_first || is_better(found, best.key)) {
        u64 index = NOWHERE;
#pragma unroll
        for (u32 r = HELD; r-- > 0;) {
#pragma unroll
            for (u32 a = ACCESSES; a-- > 0;) {
                const u32 access = access_of(row + r, a, member);
#pragma unroll
                for (u32 v = ACCESS_ITEMS; v-- > 0;) {
                    index = access < end && key_at(r, a, v) == found ? first + access * ACCESS_ITEMS + v : index;
                }
            }
        }
        best = Acc{found, index};
    }
}
