// Folds items in the order of docs/summation.md: tiles of 16 rows by 128 lanes, lanes down their rows, lanes in halves, an
// aligned binary tree over tiles.
//
//                  lane 0          …          lane 127
//     row 0      │ member 0 │ member 1 │ … │ member TEAM-1 │   a team of threads takes one tile;
//     …          │    ↓     │    ↓     │   │      ↓        │   each member holds ACCESSES accesses of a row
//     row 15     │          │          │   │               │
//                  halves: 64, 32, … 1       → the tile's value
//
// Striped, an access of each member follows that of the one before it; BLOCKED, all of a member's follow one another.
//
// A workgroup takes TILES neighbouring tiles, its TEAMS teams one each at a time; the values of its tiles are the leaves of the
// tree. What is not there is padding. `finish` does with a workgroup's value what the strategy says.
//
// The operator must commute. One of the caller's may do so but for rounding: ORDERED, its left operand is the earlier.
// Source of the shape: docs/decisions/2026-11-21-order-of-summation.md.

constexpr u32 ROWS = 16, ROW = 128, TILE = ROWS * ROW;
constexpr u32 ACCESSES = ROW / ACCESS_ITEMS / TEAM;
/// Neighbouring lanes that a member has, and how often, ROW / RUNS apart.
constexpr u32 RUN = BLOCKED ? ROW / TEAM : ACCESS_ITEMS, RUNS = ROW / TEAM / RUN;
constexpr u32 THREADS = SUBGROUP * WARPS;
constexpr u32 TEAMS = THREADS / TEAM;
constexpr u32 TILES = TEAMS * TILES_OF_TEAM;
/// Rows whose accesses are on their way at once.
constexpr u32 ROWS_HELD = ACCESSES_HELD / ACCESSES < 1 ? 1 : ACCESSES_HELD / ACCESSES;

struct Reduce {
    Inputs inputs;
    State* state;
    u64 items;
    Outcome to;

    void set_items(u64 fewer) { items = fewer; }
};

/// Writes the result. One thread.
inline void write_result(const Reduce& reduce, Acc total) { write_outcome(reduce.to, reduce.items, total); }
