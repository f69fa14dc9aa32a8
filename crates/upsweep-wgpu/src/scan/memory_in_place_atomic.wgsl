// The output holds the input, and its words may have several writers.

fn read_access(at: u32) -> Access {
    return atomicLoad(&output[at]);
}
