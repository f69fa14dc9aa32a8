// What kernels take for granted, tried once when a device is opened.
//
//     misplaced    neighbouring threads are neighbouring lanes of one subgroup
//     messages     words that carry their own proof go from workgroup to workgroup, and are what was sent
//     misrounded   `pack2x16float` rounds to the nearest f16, ties to even, keeps subnormals, and makes an infinity of what is too large
//     progress     a workgroup that has started goes on, though all others that fit wait for it
//
// Workgroups take tickets. Each waits for what the workgroup STRIDE tickets before it says after its own wait, as
// scans do with look-back; there are more of them than any device holds at once. All threads of a workgroup wait with
// the first. Every wait is bounded, and the first that is in vain ends the others.
//
// Needs: nothing. Whatever the device does, this ends.

@group(0) @binding(0) var<storage, read_write> state: array<atomic<u32>>;

const TICKET = 0u;
const FINISHED = 1u;
const MISPLACED = 2u;
const LATE = 3u;
const WRONG = 4u;
const HEARD = 5u;
/// Two floats; the first becomes their product, which is too small for a normal one.
const SMALL = 6u;
const FACTOR = 7u;
/// Floats that `pack2x16float` rounds otherwise than it should.
const MISROUNDED = 8u;
const MESSAGES = 9u;

/// Floats between which no other is half-way between two f16, from less than half of the smallest f16 to twice the largest, and an
/// infinity; shared by so many workgroups.
const FIRST_ROUNDED = 0x32800000u;
const ROUNDED_STEP = 0x1000u;
const ROUNDED = 0x15800u;
const INFINITY = 0x7f800000u;
const ROUNDING_WORKGROUPS = 32u;

/// What proves a message: no memory holds it by accident.
const PROOF = 0xa53c0000u;

fn run_litmus(thread: u32, is_misplaced: bool) {
    if (is_misplaced) {
        atomicAdd(&state[MISPLACED], 1u);
    }
    if (thread == 0u) {
        let ticket = atomicAdd(&state[TICKET], 1u);
        if (ticket == 0u) {
            let small = bitcast<f32>(atomicLoad(&state[SMALL]));
            let product = small * bitcast<f32>(atomicLoad(&state[FACTOR]));
            atomicStore(&state[SMALL], bitcast<u32>(product));
        }
        if (ticket >= STRIDE) {
            wait_for(ticket - STRIDE);
        }
        send(ticket);
        try_rounding(ticket);
        atomicAdd(&state[FINISHED], 1u);
    }
    workgroupBarrier();
}

fn try_rounding(ticket: u32) {
    if (ticket >= ROUNDING_WORKGROUPS) {
        return;
    }
    var misrounded = is_misrounded(INFINITY);
    for (var at = ticket; at < ROUNDED; at += ROUNDING_WORKGROUPS) {
        let bits = FIRST_ROUNDED + at * ROUNDED_STEP;
        misrounded |= is_misrounded(bits - 1u) || is_misrounded(bits) || is_misrounded(bits + 1u);
    }
    if (misrounded) {
        atomicAdd(&state[MISROUNDED], 1u);
    }
}

fn is_misrounded(bits: u32) -> bool {
    let both = vec2<f32>(bitcast<f32>(bits), bitcast<f32>(bits | 0x80000000u));
    return pack2x16float(both) != (half_bits(both.x) | (half_bits(both.y) << 16u));
}

/// A value of 32 bits that differs from ticket to ticket.
fn message(ticket: u32) -> u32 {
    return (ticket + 1u) * 0x9e3779b1u;
}

fn send(ticket: u32) {
    let value = message(ticket);
    atomicStore(&state[MESSAGES + 2u * ticket], PROOF | (value & 0xffffu));
    atomicStore(&state[MESSAGES + 2u * ticket + 1u], PROOF | (value >> 16u));
}

/// So rarely that it costs nothing, so often that a trial that fails ends soon. No size of a subgroup.
const LOOKS_BETWEEN = 64u;

fn wait_for(ticket: u32) {
    for (var look = 0u; look < LOOKS; look++) {
        let low = atomicLoad(&state[MESSAGES + 2u * ticket]);
        let high = atomicLoad(&state[MESSAGES + 2u * ticket + 1u]);
        if ((low & 0xffff0000u) == PROOF && (high & 0xffff0000u) == PROOF) {
            let is_right = ((low & 0xffffu) | (high << 16u)) == message(ticket);
            atomicAdd(&state[select(WRONG, HEARD, is_right)], 1u);
            return;
        }
        // Now and then, whether somebody has waited in vain already: then the trial has failed, and ends.
        if (look % LOOKS_BETWEEN == LOOKS_BETWEEN - 1u && atomicLoad(&state[LATE]) != 0u) {
            return;
        }
    }
    atomicAdd(&state[LATE], 1u);
}
