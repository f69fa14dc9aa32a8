// A row's value is an item of the output.

fn write_value(at: u32, value: Acc) {
    write_item(at, stored(value));
}

fn value_of_nothing() -> Acc {
    return identity();
}
