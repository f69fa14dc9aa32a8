// How a team folds a tile of a row in order: trees of neighbours, of items, members and lines.

constexpr u32 GROUP = ACCESSES * ACCESS_ITEMS, LINE = TEAM * GROUP;
static_assert(GROUP == 4, "a member has a group of each line");

/// Where in a tile an access of a member lies: those of a line follow one another.
inline u32 place_of(u32 line, u32 a, u32 member) { return line * LINE + (member * ACCESSES + a) * ACCESS_ITEMS; }

/// What a member has of a tile.
struct Folded {
    Tree<6, 1> lines;
    u32 count;

    __forceinline__ void clear() {
        lines.clear();
        count = 0;
    }

    /// Takes lines of a tile from `line` on, which were read; its first item is number `first` of the row.
    __forceinline__ void add(const Access (&held)[LINES_HELD][ACCESSES], Index items, Index first, u32 line, u32 member) {
#pragma unroll
        for (u32 l = 0; l < LINES_HELD; ++l) {
            Acc own[GROUP];
#pragma unroll
            for (u32 a = 0; a < ACCESSES; ++a) {
                const Index item = first + place_of(line + l, a, member);
                const Items read = unpack(held[l][a]);
#pragma unroll
                for (u32 v = 0; v < ACCESS_ITEMS; ++v) {
                    own[a * ACCESS_ITEMS + v] = chosen(padding(), enter(read.at[v], u64(item) + v), item < items);
                }
            }
            Acc value[1] = {then(then(own[0], own[1]), then(own[2], own[3]))};
#pragma unroll
            for (u32 apart = 1; apart < TEAM; apart *= 2) {
                value[0] = then(value[0], shuffled_down(value[0], apart));
            }
            lines.push(value, count++);
        }
    }

    /// The value of the tile, for the team's first member.
    __forceinline__ Acc total() const {
        Acc value[1] = {padding()};
        lines.total(count, value);
        return value[0];
    }
};

/// The values of COUNT tiles, which all members have; see `by_lanes.cuh`.
template <u32 COUNT> constexpr u32 LEFT = COUNT;

template <u32 COUNT> __forceinline__ u32 fold_tiles(const Folded (&tiles)[COUNT], u32, Acc (&found)[COUNT]) {
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) {
        found[k] = tiles[k].total();
    }
    return 0;
}
