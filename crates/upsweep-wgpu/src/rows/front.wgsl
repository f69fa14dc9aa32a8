// Rows by the axes across but the last INNER, along which a workgroup has several rows.

/// How far the first of these rows is from the first of all, in the input and in the output.
fn offsets_in_front(front: u32) -> vec2<u32> {
    var number = front;
    var at = vec2<u32>(0u, 0u);
    for (var k = ACROSS; k > INNER; k--) { // unrolled
        let axis = parameters.across[k - INNER - 1u];
        at += (number % axis.x) * axis.yz;
        number /= axis.x;
    }
    return at;
}
