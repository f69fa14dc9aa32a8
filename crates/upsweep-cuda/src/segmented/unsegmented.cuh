// Items that are not cut into segments: what `segments.cuh` says, of one segment that nobody sees.

struct Marks {
    u32 of_row[ROWS];
};

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
