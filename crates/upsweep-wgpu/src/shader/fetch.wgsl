// The access that begins with an item.

fn fetch(item: u32) -> Access {
    return read_access((parameters.start + item) / ACCESS_ITEMS);
}
