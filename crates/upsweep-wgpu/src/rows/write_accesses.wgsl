// Items that are written at once are an access.

fn write_all(at: u32, apart: u32, items: array<Stored, WRITTEN>) {
    write_access(at / WRITTEN, pack(items));
}
