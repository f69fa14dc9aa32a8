"""Compares `upsweep reduce --axis`, `scan --axis` and `transpose` with numpy, on files that numpy wrote.

compare_axes_with_numpy.py PROGRAM
"""

import itertools
import pathlib
import subprocess
import sys

import numpy as np

PROGRAM = sys.argv[1]
SHAPES = [(5,), (3, 4), (1, 7), (2, 3, 4), (2, 3, 1, 5), (300, 20), (3, 2500), (0, 3), (3, 0)]
RESULTS = {"sum": np.sum, "product": np.prod, "min": np.min, "max": np.max, "mean": np.mean, "argmin": np.argmin, "argmax": np.argmax}
checked = 0


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def good(*arguments):
    done = run(*arguments)
    assert done.returncode == 0 and not done.stderr, (arguments, done.stderr)
    return np.load("out.npy")


def same(found, wanted, what):
    global checked
    checked += 1
    assert found.shape == wanted.shape, (what, found.shape, wanted.shape)
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=2e-4 if found.dtype == np.float32 else 1e-11, err_msg=str(what))
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=str(what))


random = np.random.default_rng(7)
for shape, dtype, order in itertools.product(SHAPES, ["<i2", "<f4", "<u8", ">f8"], "CF"):
    items = np.asarray(random.integers(1, 4, shape).astype(dtype), order=order)
    np.save("in.npy", items)
    rank = len(shape)
    choices = [(0,), (-1,)] + ([(0, rank - 1)] if rank > 1 else []) + ([(1, 2)] if rank > 2 else [])
    for axes in choices:
        text = ",".join(map(str, axes))
        rows = int(np.prod([n for k, n in enumerate(shape) if k not in [a % rank for a in axes]]))
        for name, call in RESULTS.items():
            if name.startswith("arg") and len(axes) > 1:
                continue
            if items.size == 0 and rows > 0 and name in ("min", "max", "argmin", "argmax"):
                assert run("reduce", "in.npy", "--op", name, f"--axis={text}", "-o", "none.npy").returncode == 2
                continue
            if items.size == 0 and name in ("min", "max", "argmin", "argmax", "mean"):
                continue
            along = axes[0] if name.startswith("arg") else axes
            keep = bool(random.integers(2))
            found = good("reduce", "in.npy", "--op", name, f"--axis={text}", "-o", "out.npy", *(["--keepdims"] if keep else []))
            with np.errstate(all="ignore"):
                wanted = call(items, axis=along, keepdims=keep)
            same(found, wanted, (shape, dtype, order, axes, name))
    for axis in {0, rank - 1}:
        found = good("scan", "in.npy", "--axis", axis, "-o", "out.npy")
        same(found, np.cumsum(items, axis=axis), (shape, dtype, order, axis, "scan"))
        found = good("scan", "in.npy", "--axis", axis, "--reverse", "--op", "max", "-o", "out.npy")
        same(found, np.flip(np.maximum.accumulate(np.flip(items, axis), axis=axis), axis), (shape, dtype, order, axis, "scan from the end"))
    same(good("transpose", "in.npy", "-o", "out.npy"), items.T, (shape, dtype, order, "transpose"))
    if rank == 3:
        same(good("transpose", "in.npy", "--axes", "1,-1,0", "-o", "out.npy"), items.transpose(1, 2, 0), (shape, order, "permuted"))

raw = np.arange(24, dtype="<f4")
raw.tofile("in.raw")
found = good("reduce", "in.raw", "--dtype", "f32", "--shape", "4,6", "--axis", "1", "-o", "out.npy")
same(found, raw.reshape(4, 6).sum(1), "raw")
np.save("in.npy", raw.reshape(4, 6))
WRONG = [
    ("reduce", "in.npy", "--axis", "2", "-o", "gone.npy"),
    ("reduce", "in.npy", "--axis=-3", "-o", "gone.npy"),
    ("reduce", "in.npy", "--axis", "0,-2", "-o", "gone.npy"),
    ("reduce", "in.npy", "--axis", "0"),
    ("reduce", "in.npy", "--keepdims", "-o", "gone.npy"),
    ("reduce", "in.npy", "--shape", "4,6", "--axis", "0", "-o", "gone.npy"),
    ("reduce", "in.raw", "--dtype", "f32", "--shape", "5,5", "--axis", "0", "-o", "gone.npy"),
    ("reduce", "in.npy", "--axis", "0", "--keys", "in.npy", "-o", "gone.npy"),
    ("reduce", "in.npy", "-o", "gone.npy"),
    ("scan", "in.npy", "--axis", "7", "-o", "gone.npy"),
    ("transpose", "in.npy", "--axes", "0,0", "-o", "gone.npy"),
    ("transpose", "in.npy", "--axes", "0", "-o", "gone.npy"),
]
for arguments in WRONG:
    done = run(*arguments)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, (arguments, done.returncode, done.stderr)
assert not pathlib.Path("gone.npy").exists()
print(f"{checked} arrays agree")
