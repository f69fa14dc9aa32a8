// An access is an item that is made of several arrays. The first one that rows reach has number 0.

fn fetch_at(item: u32) -> Access {
    return fetch(parameters.start + item);
}
