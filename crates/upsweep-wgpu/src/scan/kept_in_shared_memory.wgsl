// Items wait for their carry in shared memory, which on many devices is as large as all registers: so more of
// them can be on their way at once. What comes before each group stays in registers.

struct Kept { before: array<Acc, UNIT_GROUPS> }

/// Item k of all units side by side, so that neighbouring threads meet different banks.
var<workgroup> waiting: array<Acc, CHUNK>;

fn keep(unit: Unit, number: u32) -> Kept {
    for (var k = 0u; k < UNIT; k++) { // unrolled
        waiting[k * (CHUNK / UNIT) + number] = unit.items[k];
    }
    return Kept(unit.before);
}

fn kept(unit: Kept, number: u32) -> Unit {
    var items: array<Acc, UNIT>;
    for (var k = 0u; k < UNIT; k++) { // unrolled
        items[k] = waiting[k * (CHUNK / UNIT) + number];
    }
    return Unit(items, unit.before);
}
