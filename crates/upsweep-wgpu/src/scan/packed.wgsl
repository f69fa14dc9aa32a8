// Sums of short integers whose values are words of PACKED neighbouring items: what one thread does with the words of its unit.
//
// A word is scanned as a value of 32 bits is. What goes from thread to thread are plain sums; those of their bits that items do not
// have are lost in the end. `dot4U8Packed` adds the bytes of a word too, but on an H200 (naga 30) a scan of 2^26 took 84 us by it
// instead of 67.

const ITEM_BITS = 32u / PACKED;
const ITEM_MASK = (1u << ITEM_BITS) - 1u;

/// The items at even and at odd places of a word, in halves, in which nothing is carried over.
const HALVES = 0x00ff00ffu;

/// The sum of a word's items.
fn sum_of(word: u32) -> Acc {
    var pairs = word;
    if (PACKED == 4u) {
        pairs = (word & HALVES) + ((word >> 8u) & HALVES);
    }
    return (pairs & 0xffffu) + (pairs >> 16u);
}

/// Nothing is done before it is known what comes in.
fn scan_groups(unit: Unit) -> Unit {
    return unit;
}

/// The totals of groups that were scanned.
fn scanned_totals(unit: Unit) -> array<Acc, UNIT_GROUPS> {
    var totals: array<Acc, UNIT_GROUPS>;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        const i = 4u * g;
        let left = sum_of(unit.items[i]) + sum_of(unit.items[i + 1u]);
        totals[g] = left + sum_of(unit.items[i + 2u]) + sum_of(unit.items[i + 3u]);
    }
    return totals;
}

/// A unit that knows what comes before its groups in their row.
fn scanned_row(unit: Unit) -> Unit {
    return unit;
}

/// A word with its items in the order of the scan, or of such a one as it lies in memory.
fn turned_word(word: u32) -> u32 {
    if (REVERSE == 1u) {
        let turned = (word << 16u) | (word >> 16u);
        if (PACKED == 4u) {
            return ((turned & HALVES) << 8u) | ((turned >> 8u) & HALVES);
        }
        return turned;
    }
    return word;
}

/// The prefixes of a word's items, in the order of the scan; `into` comes into the word.
fn word_prefixes(word: u32, into: Acc) -> u32 {
    let first = word + (into & ITEM_MASK);
    var upto = (first & 0xffffu) | ((word + (first << 16u)) & 0xffff0000u);
    if (PACKED == 4u) {
        // Items 1 and 3 with what comes before them, and items 0 and 2 without the others.
        let odd = (word >> 8u) & HALVES;
        let upto_odd = ((word & HALVES) + odd + (into & ITEM_MASK)) * 0x00010001u;
        upto = ((upto_odd - odd) & HALVES) | ((upto_odd & HALVES) << 8u);
    }
    if (INCLUSIVE == 1u) {
        return upto;
    }
    return (upto << ITEM_BITS) | (into & ITEM_MASK);
}

/// A scanned unit with what comes into its row in front.
fn with_carry(scanned: Unit, row_carry: Acc, starts: bool) -> Unit {
    var unit = scanned;
    for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
        var carry = row_carry + unit.before[g];
        for (var k = 0u; k < 4u; k++) { // unrolled
            let word = turned_word(unit.items[4u * g + k]);
            unit.items[4u * g + k] = turned_word(word_prefixes(word, carry));
            carry += sum_of(word);
        }
    }
    return unit;
}

/// The words of a unit one after another.
fn total_in_line(unit: Unit) -> Acc {
    let totals = scanned_totals(unit);
    var total = totals[0];
    for (var g = 1u; g < UNIT_GROUPS; g++) { // unrolled
        total += totals[g];
    }
    return total;
}

/// Writes word `i` of the scan; of the last one, which may be a part, the items that there are. In reverse it is the first in memory,
/// and its items the upper ones.
fn write_value(i: u32, word: u32) {
    let at = parameters.out_start + place(i);
    if (parameters.absent == 0u || i + 1u < parameters.items) {
        write_item(at, word);
        return;
    }
    let bits = ITEM_BITS * parameters.absent;
    write_bits(at / OUT_ACCESS_ITEMS, at % OUT_ACCESS_ITEMS, word, select(0xffffffffu >> bits, 0xffffffffu << bits, REVERSE == 1u));
}
