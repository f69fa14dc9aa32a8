// How a team scans a line of a row: a member has a group. S over groups is found by exchanges; what is in front of a line, a tile or a
// window, all members know.

const LINE = TEAM * GROUP;

/// Where in a tile an access of a member lies.
fn place_of(line: u32, a: u32, member: u32) -> u32 {
    return line * LINE + member * GROUP + a * VECTOR;
}

/// What a member has read of a line.
alias OfLine = array<Access, ACCESSES>;

/// S over the items of the group that a member has read, of which the first is number `item`.
fn take_group(held: OfLine, item: u32) -> Group {
    var at: Group;
    for (var a = 0u; a < ACCESSES; a++) { // unrolled
        let own = unpack(held[a]);
        for (var v = 0u; v < VECTOR; v++) { // unrolled
            const k = a * VECTOR + v;
            at[k] = padding();
            if (item + k < parameters.items) {
                at[k] = enter(own[v], 0u);
            }
        }
    }
    return scanned(at);
}

/// What comes into a member's group, and the total of the line.
struct Line { into: Acc, total: Acc }

fn scan_line(group: Acc, into_line: Acc, thread: u32) -> Line {
    var upto = group;
    for (var half = 1u; half < min(TEAM, SUBGROUP); half *= 2u) {
        let left = shuffled(upto, (lane & ~(2u * half - 1u)) + half - 1u);
        if ((thread & half) != 0u) {
            upto = then(left, upto);
        }
    }
    for (var half = SUBGROUP; half < TEAM; half *= 2u) {
        let left = from_thread(upto, thread, (thread & ~(2u * half - 1u)) + half - 1u);
        if ((thread & half) != 0u) {
            upto = then(left, upto);
        }
    }
    var found = Line(into_line, upto);
    var in_front = upto;
    if (TEAM > SUBGROUP) {
        in_front = from_thread(upto, thread, max(thread, 1u) - 1u);
        found.total = exchange[thread | (TEAM - 1u)];
    } else {
        in_front = shuffled(upto, max(lane, 1u) - 1u);
        found.total = shuffled(upto, lane | (TEAM - 1u));
    }
    if (thread % TEAM > 0u) {
        found.into = then(into_line, in_front);
    }
    return found;
}

/// Writes the prefixes of a group, the first of which is that of item number `item`.
fn write_group(row_out: u32, item: u32, at: Group, into: Acc) {
    for (var k = 0u; k < 4u; k += WRITTEN) { // unrolled
        if (item + k < parameters.items) {
            var items: array<Stored, WRITTEN>;
            for (var v = 0u; v < WRITTEN; v++) { // unrolled
                const own = k + v;
                const in_front = max(own, 1u) - 1u;
                items[v] = stored_prefix(into, at[own], at[in_front], own == 0u, item + own);
            }
            write_all(row_out + offsets_of_item(item + k).y, 1u, items);
        }
    }
}
