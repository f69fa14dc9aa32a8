// Short items that begin anywhere: a word may have several writers.

alias OutWord = atomic<u32>;

@group(0) @binding(1) var<storage, read_write> output: array<OutWord>;

fn write_access(at: u32, access: OutAccess) {
    atomicStore(&output[at], access);
}

fn write_item(at: u32, item: Stored) {
    let shift = (at % OUT_ACCESS_ITEMS) * OUT_BITS;
    atomicAnd(&output[at / OUT_ACCESS_ITEMS], ~(OUT_MASK << shift));
    atomicOr(&output[at / OUT_ACCESS_ITEMS], bits_of(item) << shift);
}
