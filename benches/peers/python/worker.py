"""A worker that runs numpy. It answers the requests `prepare`, `check`, `run` and `free` that
../rust/src/main.rs describes, on the same inputs."""

import sys
import time

import numpy as np

DTYPES = {
    "u8": np.uint8,
    "i16": np.int16,
    "u32": np.uint32,
    "u64": np.uint64,
    "i64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
UNIT_BITS = {np.float16: 11, np.float32: 24, np.float64: 53}
CHUNK = 1 << 20


def hashes(start, stop):
    """The hash of every index in [start, stop), as in ../rust/src/input.rs."""
    z = np.arange(start + 1, stop + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def make_input(kind, dtype, items):
    data = np.empty(items, dtype)
    for start in range(0, items, CHUNK):
        part = data[start : start + CHUNK]
        z = hashes(start, start + len(part))
        if np.issubdtype(dtype, np.integer):
            part[:] = (z >> np.uint64(64 - 8 * data.itemsize)).astype(dtype)
        elif kind == "whole":
            part[:] = ((z >> np.uint64(56)).astype(np.uint8) | np.uint8(1)).view(np.int8)
        else:
            bits = UNIT_BITS[dtype]
            part[:] = (z >> np.uint64(64 - bits)).astype(dtype) / dtype(2.0**bits)
    return data


def digest(result):
    """A sum over positions and bits, as in ../rust/src/input.rs."""
    total = np.uint64(0)
    for start in range(0, len(result), CHUNK):
        part = result[start : start + CHUNK]
        if np.issubdtype(part.dtype, np.floating):
            part = part.view(f"u{part.itemsize}")
        bits = part.astype(np.uint64)
        index = np.arange(start, start + len(bits), dtype=np.uint64)
        total += (bits * (np.uint64(2) * index + np.uint64(1))).sum(dtype=np.uint64)
    return f"digest {int(total):016x}"


def prepare(op, kind, dtype, acc, items):
    """For each engine its name, a function of no argument, and one that makes an array of the
    result."""
    data = make_input(kind, DTYPES[dtype], items)
    if op == "sum":
        acc = DTYPES[acc]
        return {"numpy": (lambda: data.sum(dtype=acc), lambda value: np.array([value]))}
    if op in ("argmin", "argmax"):
        find = getattr(data, op)
        return {"numpy": (find, lambda index: np.array([index], np.uint64))}
    if op == "inclusive_scan":
        out = np.empty_like(data)
        out.fill(85)
        return {"numpy": (lambda: np.cumsum(data, out=out, dtype=out.dtype), lambda result: result)}
    return {}


def run(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def main():
    engines = {}
    for line in sys.stdin:
        match line.split():
            case ["prepare", op, kind, dtype, acc, items]:
                engines = {}
                engines = prepare(op, kind, dtype, acc, int(items))
                print("engines", *(f"{name}:1" for name in engines), flush=True)
            case ["check", name]:
                call, array = engines[name]
                print(digest(array(call())), flush=True)
            case ["run", name, calls]:
                print(f"seconds {run(engines[name][0], int(calls)):e}", flush=True)
            case ["free"]:
                engines = {}
                print("ok", flush=True)
            case _:
                sys.exit(f"not a request: {line}")


if __name__ == "__main__":
    np.seterr(over="ignore")
    main()
