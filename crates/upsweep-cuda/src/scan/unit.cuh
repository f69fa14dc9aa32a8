// Neighbouring items of one thread, a group: out of shared memory or memory, S over them and over their row with the carry in
// front, and back to memory.

/// Accesses that hold a group.
constexpr u32 ACCESSES = GROUP / ACCESS_ITEMS, OUT_ACCESSES = GROUP / OUT_ACCESS_ITEMS;

/// Items of one thread, side by side; later their prefixes.
struct Group {
    Acc at[GROUP];
};

inline Acc total_of(const Group& group) {
    return then(then(group.at[0], group.at[1]), then(group.at[2], group.at[3]));
}

/// Where a warp puts a row in another order, if a lane has two accesses of it.
struct Exchange {
    OutAccess at[OUT_ACCESSES == 2 ? 2 * SUBGROUP : 1];
};

/// A chunk, where it is staged and where it lies.
struct Chunk {
    const Scan& scan;
    const InMemory* stage;
    u64 first;

    /// One that is staged.
    Chunk(const Scan& scan, const InMemory* stage, u32 number) : scan(scan), stage(stage), first(u64(number) * CHUNK) {}
    /// One that is read from where it lies.
    Chunk(const Scan& scan, u32 number) : scan(scan), first(u64(number) * CHUNK) { stage = source(); }

    /// Whether it is staged, or read in whole accesses.
    bool is_whole() const { return ALIGNED && first + CHUNK <= scan.items; }

    /// Where its items begin in the array, whichever of them comes first.
    const InMemory* source() const { return scan.input + (REVERSE ? scan.items - first - CHUNK : first); }

    /// Where the rows of a warp begin among its items.
    static u32 rows_of(u32 warp) { return (REVERSE ? WARPS - 1 - warp : warp) * ROWS * ROW; }

    /// The place in the array of item `i` from the end that the scan starts at.
    u64 place(u64 i) const { return REVERSE ? scan.items - 1 - i : i; }

    /// A lane's group of a row, from where it is staged.
    Group staged(u32 row, u32 lane) const {
        const u32 at = row * ROW + lane * GROUP;
        const Access* accesses = (const Access*)(stage + (REVERSE ? CHUNK - GROUP - at : at));
        // Of two accesses every other four lanes take the second first, so that no two lanes want one bank.
        const u32 turn = ACCESSES == 2 ? lane >> 2 & 1 : 0;
        Items items[ACCESSES];
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            items[a] = unpack(accesses[a ^ turn]);
        }
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const u32 number = REVERSE ? GROUP - 1 - k : k, a = number / ACCESS_ITEMS, v = number % ACCESS_ITEMS;
            const Item item = ACCESSES == 2 && turn ? items[a ^ (ACCESSES - 1)].at[v] : items[a].at[v];
            group.at[k] = enter(item, 0);
        }
        return group;
    }

    /// The same from where it lies, with padding behind the end.
    Group loaded(u32 row, u32 lane) const {
        const u64 at = first + row * ROW + lane * GROUP;
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const Acc acc = enter(unpack_one(scan.input[place(min(at + k, scan.items - 1))]), 0);
            group.at[k] = chosen(padding(), acc, at + k < scan.items);
        }
        return group;
    }

    /// Writes a row; every access of the warp to neighbouring bytes.
    void store(u32 row, u32 lane, Group group, Exchange& exchange) const {
        const u64 at = first + row * ROW + lane * GROUP;
        if (is_start(at)) {
            group.at[0] = identity();
        }
        OutAccess accesses[OUT_ACCESSES];
#pragma unroll
        for (u32 a = 0; a < OUT_ACCESSES; ++a) {
            OutItems items;
#pragma unroll
            for (u32 v = 0; v < OUT_ACCESS_ITEMS; ++v) {
                const u32 number = a * OUT_ACCESS_ITEMS + v;
                items.at[v] = stored(group.at[REVERSE ? GROUP - 1 - number : number]);
            }
            accesses[a] = pack(items);
        }
        const u64 row_at = first + row * ROW;
        OutAccess* to = (OutAccess*)(scan.output + (REVERSE ? scan.items - row_at - ROW : row_at));
        const u32 place = REVERSE ? SUBGROUP - 1 - lane : lane;
        if constexpr (OUT_ACCESSES == 2) {
            // Every other four lanes write their second access first, so that no two lanes want one bank.
            const bool turn = place & 4;
            __syncwarp();
            exchange.at[2 * place + turn] = turn ? accesses[1] : accesses[0];
            exchange.at[2 * place + !turn] = turn ? accesses[0] : accesses[1];
            __syncwarp();
            to[lane] = exchange.at[lane];
            to[SUBGROUP + lane] = exchange.at[SUBGROUP + lane];
        } else {
#pragma unroll
            for (u32 a = 0; a < OUT_ACCESSES; ++a) {
                to[place * OUT_ACCESSES + a] = accesses[a];
            }
        }
    }

    /// Those that there are, one by one.
    void store_items(u32 row, u32 lane, const Group& group) const {
        const u64 at = first + row * ROW + lane * GROUP;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (at + k < scan.items) {
                scan.output[place(at + k)] = pack_one(stored(chosen(group.at[k], identity(), k == 0 && is_start(at))));
            }
        }
    }

    /// Whether nothing comes before this item.
    bool is_start(u64 at) const { return !INCLUSIVE && at == 0 && !scan.has_init; }
};

/// S over the items of a group.
inline Group scan_group(Group group) {
    const Acc right = then(group.at[2], group.at[3]);
    group.at[1] = then(group.at[0], group.at[1]);
    group.at[2] = then(group.at[1], group.at[2]);
    group.at[3] = then(group.at[1], right);
    return group;
}

/// What comes into a lane's group from those before it in its row, `total` being that of its own.
inline Acc before_in_row(Acc total, u32 lane) { return previous(scan_lanes<SUBGROUP>(total, lane), lane); }

/// The prefixes of a group's items: `into` comes into the group, S over which it is.
inline Group prefixes(const Group& group, Acc into) {
    Group scanned;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        scanned.at[k] = INCLUSIVE ? then(into, group.at[k]) : k == 0 ? into : then(into, group.at[k > 0 ? k - 1 : 0]);
    }
    return scanned;
}

/// The prefixes of a row's items, `carry` coming into the row.
inline Group scan_row(Group group, Acc carry, u32 lane) {
    group = scan_group(group);
    return prefixes(group, then(carry, before_in_row(group.at[3], lane)));
}
