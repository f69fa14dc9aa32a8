// Items that are not cut into segments: what `segments.cuh` says, of one segment that nobody sees.

constexpr bool EMITS = false;

struct Marks {};

struct Heads {
    void find(const Scan&, u32) {}
    bool is_needed() const { return true; }
};

inline void mark(const Scan&, const Heads&, u64, Group&, Marks&, u32) {}
inline void cut(const Scan&, const Marks&, u32, Group&) {}
inline void emit(const Scan&, const Heads&, u64, const Group&, const Marks&, u32) {}
