// Items are written one by one.

fn write_all(at: u32, apart: u32, items: array<Stored, WRITTEN>) {
    for (var v = 0u; v < WRITTEN; v++) { // unrolled
        write_item(at + v * apart, items[v]);
    }
}
