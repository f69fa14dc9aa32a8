// Where the items of a tile lie in the accesses that are read: its slots.
//
// An array that begins where no access may is read by the accesses around it, and its items lie `lead` slots further on:
//
//     slots        0      1      2      3    │   4      …    127   │  128     …
//     items        –      0      1      2    │   3      …    126   │  127    128 …      with a lead of 1
//     lane        127     0      1      2    │   3      …    126   │  127     0  …
//
// So lanes are turned round by as many, and the last ones of a row lie in the first slots of the next one. Halves of lanes that are
// turned round are the same pairs in another order, which nobody sees who commutes. Where grouping cannot be seen either,
// slots are dealt out to tiles instead of items.

/// Slots before the array's first item.
inline u32 lead_of(const Reduce& reduce) { return SKEWED ? u64(first_of(reduce.inputs)) % sizeof(Access) / sizeof(InMemory) : 0; }

/// Slots that are dealt out.
inline u64 slots_of(const Reduce& reduce) { return reduce.items + (EXACT ? lead_of(reduce) : 0); }

/// Workgroups that have some of them; without any there is one that says so.
inline u32 workgroups_with_slots(const Reduce& reduce) {
    constexpr u64 CHUNK = u64(TILES) * TILE;
    return u32(max((slots_of(reduce) + CHUNK - 1) / CHUNK, u64(1)));
}

/// Where the items of a tile lie.
struct Tile {
    /// The number of what lies in slot 0.
    u64 first;
    /// Slots of its items.
    u32 begin, end;

    inline Tile(const Reduce& reduce, u64 number) {
        const u32 lead = lead_of(reduce);
        const u64 at = number * TILE, slots = slots_of(reduce);
        first = at - lead;
        begin = EXACT && number > 0 ? 0 : lead;
        end = at < slots ? u32(min(slots - at, u64(TILE))) + (EXACT ? 0 : lead) : 0;
    }

    /// Whether the slots of an access, of which those before `stop` are there, hold items of the tile; of the first, from its
    /// item `v` on.
    template <bool WHOLE> __forceinline__ bool has(bool may_be_first, u32 access, u32 v, u32 stop) const {
        const bool is_behind = !SKEWED || !may_be_first || access * ACCESS_ITEMS + v >= begin;
        return (WHOLE || access < stop) && is_behind;
    }
};
