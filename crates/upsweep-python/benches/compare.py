"""upsweep beside numpy in one process, in turns: `compare.py [--quick | --all]`. With --all every type, up to 2^26 items, in fewer turns.

Every result is checked before its time counts. Times are medians over turns, each of which calls one and then the other."""

import statistics
import sys
import time

import numpy as np

import upsweep

# How long the calls of one turn take together, and how many turns there are.
TURN_SECONDS = 0.02
TURNS = 31
LENGTHS = [1 << 10, 1 << 16, 1 << 22]
DTYPES = ["float32", "float16", "int32", "uint8", "float64"]
ALL_DTYPES = [*DTYPES, "int8", "uint16", "int16", "uint32", "uint64", "int64"]
SIDE = 1 << 12


@upsweep.operator(identity=-0.0, commutative=True)
def add(left, right):
    return left + right


def near(found, wanted):
    """Whether results agree. numpy adds up one after another, which takes a scan of 2^22 float32 0.1 % away from the sum."""
    np.testing.assert_allclose(np.asarray(found, "f8"), np.asarray(wanted, "f8"), rtol=5e-3, atol=1e-2)


def measured(ours, theirs, turns):
    """Seconds of one call of each."""
    near(ours(), theirs())
    calls = []
    for call in (ours, theirs):
        began = time.perf_counter()
        call()
        once = max(time.perf_counter() - began, 1e-7)
        calls.append(max(1, int(TURN_SECONDS / once)))
    times = ([], [])
    for _ in range(turns):
        for call, count, taken in zip((ours, theirs), calls, times):
            began = time.perf_counter()
            for _ in range(count):
                call()
            taken.append((time.perf_counter() - began) / count)
    return [statistics.median(taken) for taken in times]


def jobs(quick, everything):
    """Name, length and calls of each row."""
    generator = np.random.default_rng(5)
    dtypes = ["float32"] if quick else ALL_DTYPES if everything else DTYPES
    lengths = LENGTHS[:2] if quick else [*LENGTHS, 1 << 26] if everything else LENGTHS
    for dtype in dtypes:
        for length in lengths:
            x = (generator.random(length) * 100).astype(dtype)
            if dtype == "float16":
                # Sums that numpy's own type holds.
                x = (generator.random(length) < 64 / length).astype(dtype)
            if dtype == "float32" and length > 1 << 22:
                # A prefix of numpy's stops to grow where an item is less than half a unit in its last place.
                x = (generator.random(length) < (1 << 20) / length).astype(dtype)
            for name in ("sum", "cumsum", "argmax"):
                ours, theirs = getattr(upsweep, name), getattr(np, name)
                yield f"{name} {dtype}", length, lambda x=x, f=ours: f(x), lambda x=x, f=theirs: f(x)
            if dtype == "float32":
                mask = generator.random(length) > 0.5
                yield "select float32", length, lambda x=x, m=mask: upsweep.select(x, m), lambda x=x, m=mask: x[m]
                view, squares = upsweep.view(x), upsweep.view(x).map(lambda x: x * x)
                yield "sum of squares by a view", length, squares.sum, lambda x=x: (x * x).sum()
                above = view.select(lambda x: x > 50)
                if length <= 1 << 22:
                    yield "select by a view", length, above.array, lambda x=x: x[x > 50]
                yield "sum by an operator", length, lambda x=x: upsweep.reduce(x, add), lambda x=x: np.sum(x)
                yield "cumsum by an operator", length, lambda x=x: upsweep.scan(x, add), lambda x=x: np.cumsum(x)
    side = SIDE // 16 if quick else SIDE
    table = generator.random((side, side), "float32")
    room = np.empty_like(table)
    for axis in (0, 1):
        name = f"along axis {axis}, float32"
        yield f"sum {name}", side * side, lambda a=axis: upsweep.sum(table, axis=a), lambda a=axis: np.sum(table, axis=a)
        yield (
            f"cumsum {name}",
            side * side,
            lambda a=axis: upsweep.cumsum(table, axis=a, out=room),
            lambda a=axis: np.cumsum(table, axis=a, out=room),
        )


def main():
    quick, everything = ("--quick" in sys.argv[1:], "--all" in sys.argv[1:])
    turns = 3 if quick or everything else TURNS
    print(f"{'job':32} {'items':>9} {'upsweep µs':>12} {'numpy µs':>12} {'times as fast':>14}")
    for name, length, ours, theirs in jobs(quick, everything):
        own, other = measured(ours, theirs, turns)
        print(f"{name:32} {length:>9} {own * 1e6:>12.2f} {other * 1e6:>12.2f} {other / own:>14.2f}", flush=True)


if __name__ == "__main__":
    main()
