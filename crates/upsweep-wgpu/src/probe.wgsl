// As many bytes, moved with no arithmetic worth the name.
//
// A workgroup takes ACCESSES rows of THREADS accesses of 16 bytes; all loads of a thread are on their way at once.

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(THREADS)
fn copy_all(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (id.y * count.x + id.x) * THREADS * ACCESSES + thread;
    let end = min(arrayLength(&input), arrayLength(&output));
    var held: array<vec4<u32>, ACCESSES>;
    if (first + (ACCESSES - 1u) * THREADS < end) {
        for (var k = 0u; k < ACCESSES; k++) { // unrolled
            held[k] = input[first + k * THREADS];
        }
        for (var k = 0u; k < ACCESSES; k++) { // unrolled
            output[first + k * THREADS] = held[k];
        }
        return;
    }
    for (var at = first; at < end; at += THREADS) {
        output[at] = input[at];
    }
}

@compute @workgroup_size(THREADS)
fn read_all(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (id.y * count.x + id.x) * THREADS * ACCESSES + thread;
    let end = arrayLength(&input);
    var seen = vec4<u32>();
    if (first + (ACCESSES - 1u) * THREADS < end) {
        var held: array<vec4<u32>, ACCESSES>;
        for (var k = 0u; k < ACCESSES; k++) { // unrolled
            held[k] = input[first + k * THREADS];
        }
        for (var k = 0u; k < ACCESSES; k++) { // unrolled
            seen |= held[k];
        }
    } else {
        for (var at = first; at < end; at += THREADS) {
            seen |= input[at];
        }
    }
    // Never so for the bytes that are measured, but nobody can know that.
    if (all(seen == vec4<u32>(0xdeadbeefu, 1u, 2u, 3u))) {
        result[0] = seen.x;
    }
}
