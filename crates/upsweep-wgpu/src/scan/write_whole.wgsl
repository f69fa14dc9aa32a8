// Items that are accesses of their own, or whose words have one writer.

alias OutWord = OutAccess;

fn write_access(at: u32, access: OutAccess) {
    output[at] = access;
}

fn write_item(at: u32, item: Stored) {
    write_part(at / OUT_ACCESS_ITEMS, at % OUT_ACCESS_ITEMS, item);
}
