// Items that are accesses of their own, or whose words have one writer.

alias OutWord = OutAccess;

@group(0) @binding(1) var<storage, read_write> output: array<OutWord>;

fn write_access(at: u32, access: OutAccess) {
    output[at] = access;
}

fn write_item(at: u32, item: Stored) {
    write_part(at / OUT_ACCESS_ITEMS, at % OUT_ACCESS_ITEMS, item);
}
