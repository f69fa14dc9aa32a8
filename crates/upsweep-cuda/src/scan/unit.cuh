// The way of one thread's group out of shared memory or memory, and back to memory. What is done with it: `items.cuh`, `packed.cuh`.

/// The accesses in which a group is written.
__forceinline__ void pack_group(const Group& group, OutAccess (&accesses)[OUT_ACCESSES]) {
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
}

/// A chunk, where it is staged or lies.
struct Chunk {
    ScanOfArray scan;
    Inputs from;
    u64 first;

    /// One that is staged.
    Chunk(const Scan& scan, const Inputs& stage, u32 number) : scan(scan), from(stage), first(u64(number) * CHUNK) {}
    /// One that is read from where it lies.
    Chunk(const Scan& scan, u32 number) : scan(scan), from(), first(u64(number) * CHUNK) { from = source(); }

    /// Whether it is staged, or read in whole accesses.
    bool is_whole() const { return has(CHUNK); }

    /// Whether so many of its values are there, all items of them.
    bool has(u32 values) const { return first + values <= scan.items / PACKED; }

    /// Where its items begin in the array, whichever of them comes first.
    Inputs source() const { return at(scan.inputs, REVERSE ? scan.values() - first - CHUNK : first); }

    /// Where the rows of a warp begin among its items.
    static Offset rows_of(u32 warp) { return turned(WARPS - 1, warp) * Offset(ROWS * ROW); }

    /// The place in the array of item `i` from the end that the scan starts at.
    u64 place(u64 i) const { return REVERSE ? scan.values() - 1 - i : i; }

    /// The number of a group's first item from the end that the scan starts at.
    u64 number_of(u32 row, u32 place) const { return first + row * ROW + place * GROUP; }

    /// How far item `i` of the chunk lies behind its first.
    static i32 step(u32 i) { return REVERSE ? -i32(i) : i32(i); }

    /// Items from this chunk on, or as many as it has.
    u32 left() const { return u32(min(scan.values() - first, u64(CHUNK))); }

    /// A lane's group of a row, from where it is staged or lies. With `IS_COMPARED` what is in front of it is staged too.
    template <bool IS_COMPARED = STAGED && COMPARES> Group staged(u32 row, u32 lane) const {
        const Offset gaps = turned(WARPS - 1, row / ROWS) * Offset(GAP);
        const Offset item = turned(CHUNK - GROUP, row * ROW + lane * GROUP) + gaps;
        if constexpr (!ALIGNED) {
            Access accesses[ACCESSES];
            read_skewed((const u8*)(first_of(from) + item), accesses);
            return entered(accesses, 0);
        } else {
            // Of two accesses every other four lanes take the second first, so that no two lanes want one bank.
            const u32 turn = ACCESSES == 2 ? lane >> 2 & 1 : 0;
            Access accesses[ACCESSES];
#pragma unroll
            for (u32 a = 0; a < ACCESSES; ++a) {
                accesses[a] = IS_COMPARED ? fetch_compared(from, item, a ^ turn) : fetch(from, item, a ^ turn);
            }
            return entered(accesses, turn);
        }
    }

    /// The same of a chunk of which a part is staged, with padding behind the end.
    Group staged_part(u32 row, u32 lane) const {
        Group group = staged(row, lane);
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            hold_if(group, k, row * ROW + lane * GROUP + k < left());
        }
        return group;
    }

    /// The group that these accesses hold, the second first if `turn`.
    static __forceinline__ Group entered(const Access (&accesses)[ACCESSES], u32 turn) {
        Items items[ACCESSES];
#pragma unroll
        for (u32 a = 0; a < ACCESSES; ++a) {
            items[a] = unpack(accesses[a]);
        }
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            const u32 number = REVERSE ? GROUP - 1 - k : k, a = number / ACCESS_ITEMS, v = number % ACCESS_ITEMS;
            const Item item = ACCESSES == 2 && turn ? items[a ^ (ACCESSES - 1)].at[v] : items[a].at[v];
            hold(group, k, item);
        }
        return group;
    }

    /// The same from where it lies, with padding behind the end.
    Group loaded(u32 row, u32 lane) const {
        const u32 behind = row * ROW + lane * GROUP;
        const Inputs items_from = at(scan.inputs, place(first));
        InMemory items[GROUP] = {};
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (behind + k < left()) {
                items[k] = fetch_one(items_from, step(behind + k));
            }
        }
        Group group;
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            hold(group, k, unpack_one(items[k]));
            hold_if(group, k, behind + k < left());
        }
        return group;
    }

    /// Writes a row, its warp's rows one after another; every access of the warp to neighbouring bytes.
    __forceinline__ void store(u32 row, u32 lane, const Group& group, Exchange& exchange, Kept& kept) const {
        OutAccess accesses[OUT_ACCESSES];
        pack_group(group, accesses);
        const u64 row_at = first + row * ROW;
        const OutMemory* begin = scan.output + (REVERSE ? scan.values() - row_at - ROW : row_at);
        OutAccess* to = (OutAccess*)begin;
        // Of the warp's first group and its last one, what lies in no access of its own goes by itself.
        bool is_apart = false;
        if constexpr (!OUT_ALIGNED) {
            const u32 skew = u64(begin) % sizeof(OutAccess);
            to = (OutAccess*)((const u8*)begin - skew) + (REVERSE && skew > 0);
            move_to_accesses(accesses, kept, lane, skew);
            is_apart = lane == 0 && row % ROWS == 0;
            if (is_apart || (lane == SUBGROUP - 1 && row % ROWS == ROWS - 1)) {
                store_part(row, lane, group, is_apart, skew);
            }
        }
        const Offset place = turned(SUBGROUP - 1, lane);
        if constexpr (OUT_ACCESSES == 2) {
            // Every other four lanes write their second access first, so that no two lanes want one bank.
            const bool turn = place & 4;
            __syncwarp();
            exchange.out[2 * place + turn] = turn ? accesses[1] : accesses[0];
            exchange.out[2 * place + !turn] = turn ? accesses[0] : accesses[1];
            __syncwarp();
#pragma unroll
            for (u32 a = 0; a < 2; ++a) {
                const u32 number = a * SUBGROUP + lane;
                if (OUT_ALIGNED || row % ROWS > 0 || number / 2 != u32(turned(SUBGROUP - 1, 0))) {
                    to[number] = exchange.out[number];
                }
            }
        } else if (!is_apart) {
#pragma unroll
            for (u32 a = 0; a < OUT_ACCESSES; ++a) {
                to[place * Offset(OUT_ACCESSES) + Offset(a)] = accesses[a];
            }
        }
    }

    /// Writes the items of a group that no access holds together with the one before it, if it is the first of its warp; else those
    /// that would lie in the access of one behind it.
    void store_part(u32 row, u32 lane, const Group& group, bool is_first, u32 skew) const {
        constexpr u32 SIZE = sizeof(OutMemory), ITEMS = sizeof(OutAccess) / SIZE;
        // Items of the group in its own accesses are those from the scan's start on; in memory, that is from the other end in reverse.
        const u32 own = GROUP - (REVERSE ? (ITEMS - skew / SIZE) % ITEMS : skew / SIZE);
        OutMemory* to = scan.output + place(first);
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (is_first == k < own) {
                to[step(row * ROW + lane * GROUP + k)] = pack_one(stored(group.at[k]));
            }
        }
    }

    /// Those that there are, one by one.
    void store_items(u32 row, u32 lane, const Group& group) const {
        const u32 at = row * ROW + lane * GROUP;
        OutMemory* to = scan.output + place(first);
#pragma unroll
        for (u32 k = 0; k < GROUP; ++k) {
            if (at + k < left()) {
                const u64 items = scan.items - (first + at + k) * PACKED;
                write_value(to + step(at + k), group.at[k], u32(min(items, u64(PACKED))));
            }
        }
    }

    /// Where nothing comes before, the identity is what an exclusive scan begins with. Behind what this warp has written, for that
    /// which has the chunk's first row: so that no row need ask whether it is the first. Padding may be the identity, as 0 of sums of
    /// integers is: it is there then.
    void store_start(u32 lane) const {
        if (!INCLUSIVE && !PADS_WITH_IDENTITY && first == 0 && !scan.has_init && has_items(scan)) {
            __syncwarp();
            if (lane == 0) {
                write_identity(scan.output + place(0));
            }
        }
    }
};
