"""Compares `upsweep reduce` and `upsweep scan` with numpy on files that numpy wrote.

Integers must agree bit for bit. A sum of n floats may differ from the exact one by
(40 + log2 n) eps times the sum of the magnitudes; a product by n eps of itself; extremes by nothing.

Of the eight variants of a scan, each array and operator gets two, the next two with each seed: all eight are met for every
type and operator over the arrays of a run, and for every array over four seeds. With UPSWEEP_TEST_EXHAUSTIVE=1 each gets all.

usage: compare_with_numpy.py PROGRAM, in an empty directory
"""

import itertools
import math
import os
import subprocess
import sys
import time

import numpy as np

PROGRAM = sys.argv[1]
DTYPES = ["|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8"]
SHAPES = [(0,), (1,), (7,), (3, 5, 11), (1000,), (4097,), (300, 701)]
BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
EXTREME = {"min": np.minimum, "max": np.maximum}

EXHAUSTIVE = os.environ.get("UPSWEEP_TEST_EXHAUSTIVE") == "1"
# As in upsweep-testing: without the variable, the day since 1970.
SEED = int(os.environ.get("UPSWEEP_TEST_SEED") or time.time() // 86_400)
VARIANTS = list(itertools.product((False, True), (False, True), (None, 3)))

runs = 0
failures = []


def run(*arguments):
    """Standard output of the program."""
    global runs
    runs += 1
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        failures.append(f"{' '.join(arguments)}: status {done.returncode}: {done.stderr.strip()}")
        return None
    return done.stdout.strip()


def expect(right, *what):
    if not right:
        failures.append(" ".join(str(part) for part in what))


def items(dtype, shape, seed):
    """Integers of any bits; floats of both signs, or close to 1 so that products stay finite."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return random.uniform(-1, 1, shape).astype(dtype)
    facts = np.iinfo(dtype)
    return random.integers(facts.min, facts.max, shape, dtype=dtype, endpoint=True)


def eps(dtype):
    """Of the type that items are combined in: f32 for f16."""
    return np.finfo(np.float32 if dtype == np.float16 else dtype).eps


def bound(n, dtype, magnitudes):
    return (40 + math.log2(max(n, 1))) * float(eps(dtype)) * magnitudes


def check_reduce(name, array):
    n, dtype, flat = array.size, array.dtype, array.ravel()
    integer = dtype.kind != "f"
    for op, function in (("sum", np.sum), ("product", np.prod)):
        text = run("reduce", name, "--op", op)
        if text is None:
            continue
        if integer:
            expect(int(text) == int(function(array)), name, op, text, function(array))
        elif op == "sum":
            exact = math.fsum(flat.astype(float))
            limit = bound(n, dtype, math.fsum(abs(flat.astype(float))))
            expect(abs(float(text) - exact) <= limit, name, op, text, exact)
    for op in ("min", "max"):
        text = run("reduce", name, "--op", op)
        if n == 0:
            expect(text == "none", name, op, text)
        elif text is not None:
            wanted = getattr(np, op)(array)
            expect(dtype.type(text) == wanted, name, op, text, wanted)
    for op in ("argmin", "argmax"):
        text = run("reduce", name, "--op", op)
        wanted = str(getattr(np, op)(array)) if n > 0 else "none"
        expect(text == wanted, name, op, text, wanted)
    text = run("reduce", name, "--op", "mean")
    if n == 0:
        expect(text == "nan", name, "mean", text)
    elif text is not None:
        wide = [int(item) for item in flat] if integer else flat.astype(float)
        exact = (sum(wide) if integer else math.fsum(wide)) / n
        limit = bound(n, np.float64 if integer else dtype, float(sum(abs(x) for x in wide))) / n
        expect(abs(float(text) - exact) <= limit + abs(exact) * 2 * float(eps(np.float64 if integer else dtype)), name, "mean", text, exact)
    if integer:
        for op, function in BITWISE.items():
            text = run("reduce", name, "--op", op)
            expect(text is not None and int(text) == int(function.reduce(flat)), name, op, text)


def accumulate(function, flat, exclusive, reverse, init, dtype):
    """What a scan gives, by numpy; integers wrap in `dtype`."""
    flat = flat.astype(dtype)[::-1] if reverse else flat.astype(dtype)
    out = function.accumulate(np.concatenate([np.array([init], dtype), flat]), dtype=dtype)
    out = out[:-1] if exclusive else out[1:]
    return out[::-1] if reverse else out


def check_scan(name, array, number):
    dtype, flat = array.dtype, array.ravel()
    integer = dtype.kind != "f"
    # What sums and products of integers are written in, by numpy too.
    wide = np.cumsum(flat[:0]).dtype if integer else dtype
    if integer:
        facts = np.iinfo(dtype)
        identity = {"sum": 0, "product": 1, "min": facts.max, "max": facts.min}
        identity |= {"and": -1 if facts.min < 0 else facts.max, "or": 0, "xor": 0}
    else:
        identity = {"sum": 0, "min": math.inf, "max": -math.inf}
    functions = {"sum": np.add, "product": np.multiply, **EXTREME, **BITWISE}
    for place, (op, start) in enumerate(identity.items()):
        for variant, (exclusive, reverse, init) in enumerate(VARIANTS):
            if not EXHAUSTIVE and (variant + place + number + SEED) % 4 != 0:
                continue
            options = ["--exclusive"] * exclusive + ["--reverse"] * reverse
            options += [] if init is None else ["--init", str(init)]
            if run("scan", name, "-o", "out.npy", "--op", op, *options) is None:
                continue
            out = np.load("out.npy")
            what = (name, op, *options)
            written = wide if op in ("sum", "product") else dtype
            expect(out.dtype == written and out.shape == array.shape, *what, out.dtype)
            first = start if init is None else init
            if op == "sum" and not integer:
                check_float_sums(flat, out.ravel(), exclusive, reverse, first, what)
                continue
            wanted = accumulate(functions[op], flat, exclusive, reverse, first, written)
            expect(out.tobytes() == wanted.tobytes(), *what)
    if integer:
        # In their own type, in which they wrap.
        if run("scan", name, "-o", "out.npy", "--acc", dtype.kind + str(8 * dtype.itemsize)) is not None:
            out = np.load("out.npy")
            wanted = np.cumsum(flat, dtype=dtype).reshape(array.shape)
            expect(out.dtype == dtype and np.array_equal(out, wanted), name, "scan --acc", dtype)


def check_float_sums(flat, out, exclusive, reverse, init, what):
    wide = np.longdouble
    exact = accumulate(np.add, flat, exclusive, reverse, init, wide)
    magnitudes = accumulate(np.add, abs(flat), exclusive, reverse, abs(init), wide)
    limit = bound(flat.size + 1, flat.dtype, magnitudes)
    # A result is rounded once more when it is stored.
    limit = limit + abs(exact) * float(np.finfo(flat.dtype).eps)
    expect(bool(np.all(abs(out.astype(wide) - exact) <= limit)), *what)


def check_order():
    """An array has the same sums, bit for bit, however it is stored; without dimensions it has one item."""
    array = items("<f4", (301, 1, 517), 97)
    for order in ("C", "F"):
        np.save(f"{order}.npy", np.asarray(array, order=order))
        run("scan", f"{order}.npy", "-o", f"{order}-out.npy")
    expect(run("reduce", "C.npy") == run("reduce", "F.npy"), "order of a sum")
    expect(np.load("C-out.npy").tobytes() == np.load("F-out.npy").tobytes(), "order of a scan")
    np.save("one.npy", np.float32(3.5))
    expect(run("reduce", "one.npy") == "3.5", "no dimensions")
    run("scan", "one.npy", "-o", "out.npy")
    expect(np.load("out.npy").shape == (), "scan without dimensions")
    unit = np.dtype("<f8", metadata={"unit": "m"})
    np.lib.format.write_array(open("unit.npy", "wb"), np.arange(1, 5, dtype=unit))
    expect(run("reduce", "unit.npy") == "10.0", "metadata")


def main():
    for dtype in DTYPES:
        for number, shape in enumerate(SHAPES):
            array = items(dtype, shape, number)
            name = f"{dtype[1:]}-{number}.npy"
            np.save(name, array)
            check_reduce(name, array)
            if number != len(SHAPES) - 1 or dtype in ("<i4", "<f2", "<f4"):
                check_scan(name, array, number)
        # The other byte order, and columns first.
        array = items(dtype, (50,), 99)
        np.save("big.npy", array.astype(np.dtype(dtype).newbyteorder(">")))
        check_reduce("big.npy", array)
        columns = np.asfortranarray(items(dtype, (7, 1, 11, 5), 98))
        np.save("columns.npy", columns)
        check_reduce("columns.npy", columns)
        check_scan("columns.npy", columns, 0)
    check_order()
    print(f"{runs} runs by UPSWEEP_TEST_SEED={SEED}, {len(failures)} differ from numpy {np.__version__}")
    for failure in failures[:40]:
        print(failure)
    sys.exit(1 if failures else 0)


main()
