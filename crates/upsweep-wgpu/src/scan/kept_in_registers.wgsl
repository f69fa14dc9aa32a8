// Units wait for their carry in registers.

alias Kept = Unit;

fn keep(unit: Unit, number: u32) -> Kept {
    return unit;
}

fn kept(unit: Kept, number: u32) -> Unit {
    return unit;
}
