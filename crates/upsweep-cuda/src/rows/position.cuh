// A row's value is where its extreme is.

using Cell = u64;
inline Cell cell_of(const Acc& value) { return result_of(value); }
inline Acc value_of_nothing() { return padding(); }
