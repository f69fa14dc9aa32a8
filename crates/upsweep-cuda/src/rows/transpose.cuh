// Every item to its place in the output, where neighbours of the one are far apart in the other: through shared memory.
//
//     input   │ x → │            output  │ y → │        x: the last axis but one, whose items are neighbours in the input
//             │ y ↓ │                    │ x ↓ │        y: the last axis, whose items are neighbours in the output
//
// A workgroup takes a square of SIDE items. A row of shared memory has one item more, so that a column of it lies in all banks.

constexpr u32 SIDE = 64, WIDE = 32, DEEP = THREADS / WIDE;

/// A side of the square, as far as there are items.
inline u32 side_of(u64 begin, u64 len) { return u32(min(len - begin, u64(SIDE))); }

extern "C" __global__ void __launch_bounds__(THREADS) transpose(const Rows rows) {
    __shared__ InMemory square[SIDE][SIDE + 1];
    const RowAxis &across = rows.across[ACROSS - 2], &down = rows.across[ACROSS - 1];
    const u32 squares_across = u32((across.len + SIDE - 1) / SIDE), squares_down = u32((down.len + SIDE - 1) / SIDE);
    const u64 x = u64(blockIdx.x % squares_across) * SIDE;
    const u32 others = blockIdx.x / squares_across;
    const u64 y = u64(others % squares_down) * SIDE;
    const Index front = Index(others / squares_down);
    const u32 wide = side_of(x, across.len), deep = side_of(y, down.len);
    const u32 lane = threadIdx.x % WIDE, first = threadIdx.x / WIDE;
    // Places are counted from one to the next, without multiplications.
    i64 from = i64(rows.first_in) + distance<ACROSS - 2, false>(rows.across, front);
    from += i64(x + lane) * across.input + i64(y + first) * down.input;
    const i64 to_right = WIDE * across.input, downwards = DEEP * down.input;
    InMemory held[SIDE / DEEP][SIDE / WIDE];
#pragma unroll
    for (u32 v = 0; v < SIDE / DEEP; ++v) {
#pragma unroll
        for (u32 u = 0; u < SIDE / WIDE; ++u) {
            if (u * WIDE + lane < wide && v * DEEP + first < deep) {
                held[v][u] = fetch_one(rows.inputs, from + u * to_right);
            }
        }
        from += downwards;
    }
#pragma unroll
    for (u32 v = 0; v < SIDE / DEEP; ++v) {
#pragma unroll
        for (u32 u = 0; u < SIDE / WIDE; ++u) {
            square[v * DEEP + first][u * WIDE + lane] = held[v][u];
        }
    }
    __syncthreads();
    i64 to = i64(rows.first_out) + distance<ACROSS - 2, true>(rows.across, front);
    to += i64(x + first) * across.output + i64(y + lane) * down.output;
    const i64 further = WIDE * down.output, below = DEEP * across.output;
#pragma unroll
    for (u32 u = 0; u < SIDE / DEEP; ++u) {
#pragma unroll
        for (u32 v = 0; v < SIDE / WIDE; ++v) {
            if (u * DEEP + first < wide && v * WIDE + lane < deep) {
                rows.output[to + v * further] = square[v * WIDE + lane][u * DEEP + first];
            }
        }
        to += below;
    }
}
