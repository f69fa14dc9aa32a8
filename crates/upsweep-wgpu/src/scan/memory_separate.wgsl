// Input and output in different buffers.

@group(0) @binding(0) var<storage, read> input: array<Access>;

fn read_access(at: u32) -> Access {
    return input[at];
}
