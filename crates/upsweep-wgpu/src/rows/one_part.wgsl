// A row has one part.

fn leave_part(row: u32, part: u32, value: Acc) {
    leave_value(row, value);
}
