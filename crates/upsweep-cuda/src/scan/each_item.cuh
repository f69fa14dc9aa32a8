// A scan writes a value for each item, where the item was: what selections have instead (`../select/selected.cuh`) there is not.

/// Whether not every item is written where it was.
constexpr bool EMITS = false;

inline void emit(const Scan&, u64, const Group&, u32) {}
inline void emit_row(const Scan&, u64, const Group&, u32, Acc, Exchange&, u32) {}
constexpr bool FITS_STAGE = false;
struct SelectedOfRows {};
inline void keep(SelectedOfRows&, u32, const Group&) {}
inline void emit_rows(const Chunk&, u32, u32, Acc, const SelectedOfRows&) {}
