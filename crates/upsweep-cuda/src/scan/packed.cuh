// Sums of short integers whose values are words of PACKED neighbouring items: what one thread does with a group of words.
//
// A word is scanned as a value of 32 bits is, so that shuffles, barriers and totals are paid for once for all its items. What goes
// from thread to thread are plain sums; those of their bits that items do not have are lost in the end.

/// Words of one thread, side by side: of items, later of their prefixes.
struct Group {
    u32 at[GROUP];
};

/// Puts an item into a group.
inline void hold(Group& group, u32 k, const Item& item) { group.at[k] = enter(item, 0); }

/// Puts padding there, if there is no item.
inline void hold_if(Group& group, u32 k, bool is_there) { group.at[k] = chosen(padding(), group.at[k], is_there); }

/// The sum of `acc` and the items of a word.
inline Acc add_items(Acc acc, u32 word) {
    return PACKED == 4 ? __dp4a(word, 0x01010101u, acc) : __dp2a_lo(word, 0x0101u, acc);
}

inline Acc total_of(const Group& words) {
    Acc total = 0;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        total = add_items(total, words.at[k]);
    }
    return total;
}

/// Nothing is done before it is known what comes in.
inline Group scan_group(const Group& words) { return words; }

/// The total of a group that was scanned.
inline Acc scanned_total(const Group& words) { return total_of(words); }

/// A word with its items in the order of the scan, or of such a one as it lies in memory.
inline u32 turned_word(u32 word) { return REVERSE ? __byte_perm(word, 0, PACKED == 4 ? 0x0123 : 0x1032) : word; }

/// The prefixes of a word's items, in the order of the scan; `into` comes into the word.
inline u32 word_prefixes(u32 word, Acc into) {
    if constexpr (PACKED == 4) {
        // Items 0 and 2, and 1 and 3, in halves, in which nothing is carried over.
        const u32 even = word & 0x00ff00ffu, odd = __byte_perm(word, 0, 0x4341);
        const u32 upto_odd = (even + odd) * 0x00010001u + __byte_perm(into, 0, 0x4040);
        const u32 upto = __byte_perm(upto_odd - odd, upto_odd, 0x6240);
        return INCLUSIVE ? upto : __byte_perm(upto, into, 0x2104);
    } else {
        const u32 first = word + into;
        return INCLUSIVE ? __byte_perm(first, word + (first << 16), 0x7610) : __byte_perm(into, first, 0x5410);
    }
}

/// The prefixes of a group's items: `into` comes into the group.
inline Group prefixes(const Group& words, Acc into) {
    Group scanned;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) {
        scanned.at[k] = turned_word(word_prefixes(turned_word(words.at[k]), into));
        into = add_items(into, words.at[k]);
    }
    return scanned;
}

/// Writes a word; of the last one, which may be a part, the items that there are. In reverse it is the first in memory, and its items
/// the upper ones.
inline void write_value(OutMemory* to, u32 word, u32 items) {
    if (items >= PACKED) {
        *to = word;
        return;
    }
    constexpr u32 BYTES = 4 / PACKED;
#pragma unroll
    for (u32 byte = 0; byte < 4; ++byte) {
        if (REVERSE ? byte >= (PACKED - items) * BYTES : byte < items * BYTES) {
            ((u8*)to)[byte] = u8(word >> 8 * byte);
        }
    }
}

/// Writes what an exclusive scan begins with.
inline void write_identity(OutMemory* to) { *to = pack_one(stored(identity())); }
