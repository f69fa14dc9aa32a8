// A row's value is an item of the output.

using Cell = OutMemory;
inline Cell cell_of(const Acc& value) { return pack_one(stored(value)); }
inline Acc value_of_nothing() { return identity(); }
