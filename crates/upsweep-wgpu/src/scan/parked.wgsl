// Where the subgroup that looks keeps its items meanwhile: in shared memory, where PARKS.
//
// A thread that holds what comes before its groups beside its items has not enough registers for looking as well, and how
// many it is given is the same for all threads of a launch: on an H200 a scan of 2^26 `f32` then took 231 us, with half as
// many workgroups at a time, instead of 180.

const PARKED = UNIT + UNIT_GROUPS;

var<workgroup> parked: array<Acc, (PARKS * SUBGROUP * UNITS * PARKED + 1u - PARKS)>;

fn park(lane: u32, held: ptr<function, Held>) {
    for (var r = 0u; r < UNITS; r++) { // unrolled
        for (var k = 0u; k < UNIT; k++) { // unrolled
            parked[(r * PARKED + k) * SUBGROUP + lane] = (*held)[r].items[k];
        }
        for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
            parked[(r * PARKED + UNIT + g) * SUBGROUP + lane] = (*held)[r].before[g];
        }
    }
}

fn unpark(lane: u32, held: ptr<function, Held>) {
    for (var r = 0u; r < UNITS; r++) { // unrolled
        for (var k = 0u; k < UNIT; k++) { // unrolled
            (*held)[r].items[k] = parked[(r * PARKED + k) * SUBGROUP + lane];
        }
        for (var g = 0u; g < UNIT_GROUPS; g++) { // unrolled
            (*held)[r].before[g] = parked[(r * PARKED + UNIT + g) * SUBGROUP + lane];
        }
    }
}
