// Rows of an n-dimensional array: what a launch is handed, and where items lie.
//
// A row is the items along some axes, in C order; there is one for each place on the axes across. Each row is folded in the order of an
// array that holds it alone: lanes of tiles, halves of lanes, a tree of tiles; or, by an operator that does not commute, trees of neighbours.
//
// Distances are counted modulo 2^32, so that strides may be negative.

struct Parameters {
    /// Items in the bindings of input and output in front of the first row.
    start: u32,
    out_start: u32,
    /// Rows, and items of each.
    count: u32,
    items: u32,
    /// Parts of each row that are read, and that are left; one of them is the row's value.
    parts: u32,
    parts_left: u32,
    /// The number of the first part that is read, and of the first that is left.
    parts_in_front: u32,
    parts_behind: u32,
    /// The grid is folded, and may be a little larger.
    workgroups: u32,
    has_init: u32,
    /// 0: positions are counted in each row.
    index_low: u32,
    index_high: u32,
    /// Where items begin in the arrays that they are made of.
    starts: vec4<u32>,
    /// Each a length, and strides of the input and of the output.
    across: array<vec4<u32>, ACROSS_VECTORS>,
    along: array<vec4<u32>, ALONG_VECTORS>,
    /// Words of the start value.
    init: array<vec4<u32>, INIT_VECTORS>,
}

@group(0) @binding(3) var<uniform> parameters: Parameters;

/// Lanes of a tile, and its items.
const TILE_LANES = 128u;
const TILE_ITEMS = 2048u;

/// Two values, the earlier one first; a scan from the end meets the later one first.
fn then(earlier: Acc, later: Acc) -> Acc {
    if (REVERSE == 1u) {
        return combine(later, earlier);
    }
    return combine(earlier, later);
}

/// How far a row is from the first, in the input and in the output; the last axis counts fastest.
fn offsets_of_row(row: u32) -> vec2<u32> {
    var number = row;
    var at = vec2<u32>(0u, 0u);
    for (var k = ACROSS; k > 1u; k--) { // unrolled
        let axis = parameters.across[k - 1u];
        at += (number % axis.x) * axis.yz;
        number /= axis.x;
    }
    return at + number * parameters.across[0].yz;
}

/// How far an item is from the first of its row.
fn offsets_of_item(item: u32) -> vec2<u32> {
    var number = item;
    var at = vec2<u32>(0u, 0u);
    for (var k = ALONG; k > 1u; k--) { // unrolled
        let axis = parameters.along[k - 1u];
        at += (number % axis.x) * axis.yz;
        number /= axis.x;
    }
    return at + number * parameters.along[0].yz;
}

/// Tiles of a row.
fn tiles_of_row() -> u32 {
    return (parameters.items - 1u) / TILE_ITEMS + 1u;
}

/// What comes into a row.
fn into_row() -> Acc {
    if (parameters.has_init == 1u) {
        return init();
    }
    return padding();
}

/// Writes the value of a row.
fn leave_value(row: u32, value: Acc) {
    let at = parameters.out_start + offsets_of_row(row).y;
    if (parameters.has_init == 1u) {
        write_value(at, combine(init(), value));
    } else {
        write_value(at, value);
    }
}
