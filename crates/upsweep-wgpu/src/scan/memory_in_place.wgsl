// The output holds the input: accesses of both have one type.

fn read_access(at: u32) -> Access {
    return output[at];
}
