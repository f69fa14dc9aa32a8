// An array that is read, in a buffer of its own.

@group(0) @binding(0) var<storage, read> input: array<Access>;

fn read_access(at: u32) -> Access {
    return input[at];
}
