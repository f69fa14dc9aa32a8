// Parts of rows: of all rows' first parts first.

@group(0) @binding(2) var<storage, read_write> parts: array<u32>;

/// The value of this number.
fn part_at(number: u32) -> Acc {
    var words: Words;
    for (var k = 0u; k < WORDS; k++) { // unrolled
        words[k] = parts[number * WORDS + k];
    }
    return acc_of(words);
}

fn set_part(number: u32, value: Acc) {
    let words = words_of(value);
    for (var k = 0u; k < WORDS; k++) { // unrolled
        parts[number * WORDS + k] = words[k];
    }
}

/// What a row has in one of the parts that are read.
fn part_in_front(row: u32, part: u32) -> Acc {
    return part_at(parameters.parts_in_front + part * parameters.count + row);
}

/// Leaves what a row has in this part of it.
fn leave_part(row: u32, part: u32, value: Acc) {
    if (parameters.parts_left > 1u) {
        set_part(parameters.parts_behind + part * parameters.count + row, value);
    } else {
        leave_value(row, value);
    }
}
