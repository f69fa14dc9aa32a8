// An access is less than a word, which is shifted to its beginning.

fn fetch_at(item: u32) -> Access {
    let at = parameters.start + item;
    return read_access(at / ACCESS_ITEMS) >> (ITEM_BITS * (at % ACCESS_ITEMS));
}
