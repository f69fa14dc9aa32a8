// Rows of an n-dimensional array: what a launch is handed, and where items lie.
//
// A row are the items along some axes, in C order; there is one for each place on the axes across. Each row is folded in the order of an
// array that holds it alone: lanes of tiles, halves of lanes, a tree of tiles; or, by an operator that does not commute, trees of neighbours.

/// An axis: how many places it has, and how far apart they are in the input and in the output.
struct RowAxis {
    u64 len;
    i64 input, output;
};

struct Rows {
    Inputs inputs;
    Cell* output;
    /// The values of parts of rows, of all rows' first parts first: read by `fold`, and left.
    const Words* parts_in_front;
    Words* parts_behind;
    /// Rows, items of each, the first items of input and output.
    u64 count, items, first_in, first_out;
    /// Parts of each row that are read, and that are left; one of them is the row's value.
    u64 parts, parts_left;
    RowAxis across[ACROSS == 0 ? 1 : ACROSS];
    RowAxis along[ALONG == 0 ? 1 : ALONG];
    u64 has_init;
    InitWords init;
};

template <bool IS_LONG> struct IndexOf { using Type = u32; };
template <> struct IndexOf<true> { using Type = u64; };
/// The number of a row, an item or a part.
using Index = IndexOf<LONG != 0>::Type;
/// A place in the input or the output, or how far two of them are apart, counted modulo 2^32 or 2^64, so that strides may be negative.
using Place = IndexOf<FAR != 0>::Type;

/// Two values, the earlier one first; a scan from the end meets the later one first.
inline Acc then(const Acc& earlier, const Acc& later) { return REVERSE ? combine(later, earlier) : combine(earlier, later); }

/// Lanes of a tile, its lines of a lane each, and its items.
constexpr u32 TILE_LANES = 128, TILE_LINES = 16, TILE_ITEMS = TILE_LANES * TILE_LINES;

/// How far place `number` is from the first, the last of `AXES` axes counting fastest.
template <u32 AXES, bool OUTPUT> inline Place distance(const RowAxis* axes, Index number) {
    Place at = 0;
    if constexpr (AXES > 1) {
#pragma unroll
        for (u32 k = AXES - 1; k > 0; --k) {
            const Index len = Index(axes[k].len), place = number % len;
            number /= len;
            at += place * Place(OUTPUT ? axes[k].output : axes[k].input);
        }
    }
    return AXES == 0 ? 0 : at + number * Place(OUTPUT ? axes[0].output : axes[0].input);
}

/// Where an item of a row is, counted from its first.
inline Place item_at(const Rows& rows, Index item) { return distance<ALONG, false>(rows.along, item); }

/// The accesses at this item of the input.
inline Access fetch_at(const Rows& rows, Place at_item) { return fetch_once(at(rows.inputs, u64(at_item)), 0, 0); }

/// Leaves what a row has in this part of it.
inline void leave_part(const Rows& rows, Index row, Index part, const Acc& value) {
    if (rows.parts_left > 1) {
        rows.parts_behind[u64(part) * rows.count + row] = words_of(value);
        return;
    }
    rows.output[Place(rows.first_out) + distance<ACROSS, true>(rows.across, row)] =
        cell_of(rows.has_init ? combine(init(rows.init), value) : value);
}

/// Values as they come, as an aligned binary tree: those of 2^k of them that are not yet part of more. At most 2^(LEVELS - 1).
template <u32 LEVELS, u32 WIDTH> struct Tree {
    Acc at[LEVELS][WIDTH];

    /// Takes the next values, in front of which there are `count`: of 2^FIRST values each.
    template <u32 FIRST = 0> __forceinline__ void push(Acc (&next)[WIDTH], u32 count) {
        bool goes_up = true;
#pragma unroll
        for (u32 k = FIRST; k < LEVELS; ++k) {
            const bool is_full = count >> (k - FIRST) & 1;
#pragma unroll
            for (u32 v = 0; v < WIDTH; ++v) {
                const Acc both = then(at[k][v], next[v]);
                at[k][v] = chosen(at[k][v], next[v], goes_up && !is_full);
                next[v] = chosen(next[v], both, goes_up && is_full);
            }
            goes_up = goes_up && is_full;
        }
    }

    /// The value of `count` of them, at least one: the last of their aligned prefixes.
    __forceinline__ void total(u32 count, Acc (&value)[WIDTH]) const {
        bool is_first = true;
#pragma unroll
        for (u32 k = 0; k < LEVELS; ++k) {
            const bool is_full = count >> k & 1;
#pragma unroll
            for (u32 v = 0; v < WIDTH; ++v) {
                const Acc both = is_first ? at[k][v] : then(at[k][v], value[v]);
                value[v] = is_full ? both : value[v];
            }
            is_first = is_first && !is_full;
        }
    }

    __forceinline__ void clear() {
#pragma unroll
        for (u32 k = 0; k < LEVELS; ++k) {
#pragma unroll
            for (u32 v = 0; v < WIDTH; ++v) {
                at[k][v] = padding();
            }
        }
    }
};
