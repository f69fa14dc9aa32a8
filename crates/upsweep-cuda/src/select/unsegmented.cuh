// What scans ask of segments, where items are selected and there are none: the same for every kind of selection.

/// Whether not every item is written where it was.
constexpr bool EMITS = true;

struct Marks {
    u32 of_row[ROWS];
};

/// Segments there are none.
struct Heads {
    void find(const Scan&, u32) {}
};

inline bool begins_in(const Acc&) { return false; }
inline u32 cuts_of(const Scan&, const Heads&, u64) { return 0; }
inline void find_cuts(const Scan&, const Heads&, u64, u32, Marks& cuts) {
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        cuts.of_row[r] = 0;
    }
}
inline void mark(const Scan&, u64, u32, Group&) {}
inline void cut(const Scan&, u32, Group&) {}

/// The number of items of a group that there are, the first of which is number `at`.
inline u32 there_are(const Scan& scan, u64 at) { return at < scan.items ? u32(min(scan.items - at, u64(GROUP))) : 0; }
