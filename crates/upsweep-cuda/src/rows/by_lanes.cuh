// How a team folds a tile of a row whose operator commutes: items by lanes, lanes by halves.

constexpr u32 LINE = TEAM * ACCESSES * ACCESS_ITEMS;
static_assert(LINE <= TILE_LANES, "each value of a member is a lane");

/// Where in a tile an access of a member lies: accesses of a line are as many members apart.
inline u32 place_of(u32 line, u32 a, u32 member) { return line * LINE + (a * TEAM + member) * ACCESS_ITEMS; }

/// What a member has of a tile.
struct Folded {
    Acc lanes[ACCESSES][ACCESS_ITEMS];

    __forceinline__ void clear() {
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                lanes[a][v] = padding();
            }
        }
    }

    /// Takes lines of a tile from `line` on, which were read; its first item is number `first` of the row.
    __forceinline__ void add(const Access (&held)[LINES_HELD][ACCESSES], Index items, Index first, u32 line, u32 member) {
#pragma unroll
        for (u32 l = 0; l < LINES_HELD; ++l) {
#pragma unroll
            for (u32 a = 0; a < ACCESSES; ++a) {
                const Index item = first + place_of(line + l, a, member);
                const Items own = unpack(held[l][a]);
#pragma unroll
                for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                    lanes[a][v] = combine(lanes[a][v], chosen(padding(), enter(own.at[v], u64(item) + v), item < items));
                }
            }
        }
    }

    /// Folds lanes that lie in one member in several accesses.
    __forceinline__ void fold_accesses() {
#pragma unroll
        for (u32 half = ACCESSES / 2; half > 0; half /= 2) {
#pragma unroll
            for (u32 a = 0; a < half; ++a) {
#pragma unroll
                for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                    lanes[a][v] = combine(lanes[a][v], lanes[a + half][v]);
                }
            }
        }
    }
};

/// Lanes of one access.
__forceinline__ Acc fold_access(Acc (&lanes)[ACCESS_ITEMS]) {
#pragma unroll
    for (u32 half = ACCESS_ITEMS / 2; half > 0; half /= 2) {
        // Of many values the compiler wants a constant bound, else it keeps them in memory.
#pragma unroll
        for (u32 v = 0; v < (ACCESS_ITEMS + 1) / 2; ++v) {
            if (v < half) {
                lanes[v] = combine(lanes[v], lanes[v + half]);
            }
        }
    }
    return lanes[0];
}

/// The values of COUNT tiles of which members have lanes: in `found` of each member those from the number on that is returned, `LEFT` of
/// them. While a member has several tiles, it hands half of them to the other, and gets the other half of the other's. Of fewer tiles than
/// members several have the same.
template <u32 COUNT> constexpr u32 LEFT = COUNT > TEAM ? COUNT / TEAM : 1;

template <u32 COUNT> __forceinline__ u32 fold_tiles(Folded (&tiles)[COUNT], u32 member, Acc (&found)[LEFT<COUNT>]) {
    u32 left = COUNT, first = 0;
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) {
        tiles[k].fold_accesses();
    }
#pragma unroll
    for (u32 apart = TEAM / 2; apart > 0; apart /= 2) {
        const bool is_upper = member & apart, is_later = ORDERED && is_upper;
        const bool hands_over = left > 1;
        left = hands_over ? left / 2 : left;
        first += hands_over && is_upper ? left : 0;
#pragma unroll
        for (u32 k = 0; k < (COUNT + 1) / 2; ++k) {
#pragma unroll
            for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                if (k < left) {
                    Acc &low = tiles[k].lanes[0][v], &high = tiles[hands_over ? k + left : k].lanes[0][v];
                    const Acc own = chosen(low, high, is_upper);
                    const Acc other = shuffled_xor(hands_over ? chosen(high, low, is_upper) : own, apart);
                    low = combine(chosen(own, other, is_later), chosen(other, own, is_later));
                }
            }
        }
    }
#pragma unroll
    for (u32 k = 0; k < LEFT<COUNT>; ++k) {
        found[k] = fold_access(tiles[k].lanes[0]);
    }
    return first;
}
