// An access is whole words.

fn fetch_at(item: u32) -> Access {
    return fetch(item);
}
