// The values of a row's parts: of each FAN neighbours one, by a tree; or, in order, of all, one after another. A thread for each.

constexpr u32 FAN = 32;

extern "C" __global__ void __launch_bounds__(FOLD_THREADS) fold_parts(const Rows rows) {
    take_given(rows.inputs);
    const u64 number = u64(blockIdx.x) * FOLD_THREADS + threadIdx.x;
    if (number >= rows.count * rows.parts_left) {
        return;
    }
    const Index row = Index(number % rows.count), group = Index(number / rows.count);
    Acc value[1] = {padding()};
    if constexpr (!COMMUTES) {
#pragma unroll 4
        for (u64 part = 0; part < rows.parts; ++part) {
            value[0] = then(value[0], acc_of(rows.parts_in_front[part * rows.count + row]));
        }
    } else {
        Tree<6, 1> parts;
        parts.clear();
        const u64 first = u64(group) * FAN;
        const u32 count = u32(min(rows.parts - first, u64(FAN)));
#pragma unroll 4
        for (u32 k = 0; k < count; ++k) {
            Acc next[1] = {acc_of(rows.parts_in_front[(first + k) * rows.count + row])};
            parts.push(next, k);
        }
        parts.total(count, value);
    }
    leave_part(rows, row, group, value[0]);
}

/// Rows without items.
extern "C" __global__ void __launch_bounds__(FOLD_THREADS) fill_rows(const Rows rows) {
    take_given(rows.inputs);
    const u64 row = u64(blockIdx.x) * FOLD_THREADS + threadIdx.x;
    if (row < rows.count) {
        const Acc value = rows.has_init ? init(rows.init) : value_of_nothing();
        rows.output[Place(rows.first_out) + distance<ACROSS, true>(rows.across, Index(row))] = cell_of(value);
    }
}
