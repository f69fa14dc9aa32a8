"""Checks every line of summation-v1.csv with numpy alone.

Written from the text of the summation specification, not from the library's code: an independent
witness that the text says enough.

    python3 check.py [FILE]
"""

import csv
import pathlib
import sys

import numpy as np

MASK = (1 << 64) - 1
STORED = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
WORD = {2: np.uint16, 4: np.uint32, 8: np.uint64}


# Inputs: item i is made from word i of SplitMix64.

def words(seed, length):
    word = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, length + 1, dtype=np.uint64)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


# Mantissa bits, bits of the whole, exponent of 1; lowest exponent and number of exponents of
# "mixed"; bits taken and step of "near-one".
LAYOUT = {
    "f16": (10, 16, 15, -10, 9, 2, 2.0**-10),
    "bf16": (7, 16, 127, -20, 41, 2, 2.0**-7),
    "f32": (23, 32, 127, -20, 41, 12, 2.0**-21),
    "f64": (52, 64, 1023, -50, 101, 40, 2.0**-50),
}


def bf16_from_f32(values):
    """Upper halves of f32, rounded to nearest, ties to even. No NaN comes here."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)


def f32_from_bf16(bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def near_one(word, dtype):
    taken, step = LAYOUT[dtype][5:]
    steps = (word >> np.uint64(64 - taken)).astype(np.int64) - (1 << (taken - 1))
    return 1.0 + steps.astype(np.float64) * step


def uniform(word, dtype):
    bits = LAYOUT[dtype][0] + 1
    return (word >> np.uint64(64 - bits)).astype(np.float64) * 2.0**-bits


def make(kind, dtype, seed, length):
    """The input in the type it is combined in."""
    word = words(seed, length)
    accumulator = np.float64 if dtype == "f64" else np.float32
    if dtype == "affine_f32":
        scale = near_one(word, "f32").astype(np.float32)
        shift = uniform(word << np.uint64(32), "f32").astype(np.float32)
        return np.stack([scale, shift])
    if kind == "near-one":
        return near_one(word, dtype).astype(accumulator)
    if kind == "uniform":
        return uniform(word, dtype).astype(accumulator)
    mantissa, size, bias, lowest, count = LAYOUT[dtype][:5]
    bits = (word >> np.uint64(63)) << np.uint64(size - 1)
    if kind == "mixed":
        exponent = np.uint64(bias + lowest) + ((word >> np.uint64(55)) & np.uint64(0xFF)) % np.uint64(count)
        bits |= exponent << np.uint64(mantissa) | word & np.uint64((1 << mantissa) - 1)
    elif kind != "zeros":
        sys.exit(f"unknown kind of input '{kind}'")
    bits = bits.astype(WORD[size // 8])
    return f32_from_bf16(bits) if dtype == "bf16" else bits.view(STORED[dtype]).astype(accumulator)


# Operators. A value is the last axis of an array; a map x -> scale * x + shift has its two parts
# on the first axis.

class Sum:
    padding, identity = -0.0, 0.0

    @staticmethod
    def combine(left, right):
        return left + right


class Product:
    padding, identity = 1.0, 1.0

    @staticmethod
    def combine(left, right):
        return left * right


class Compose:
    padding, identity = [[1.0], [-0.0]], [[1.0], [0.0]]

    @staticmethod
    def combine(left, right):
        return np.stack([right[0] * left[0], right[0] * left[1] + right[1]])


class Exchanged:
    def __init__(self, operator):
        self.padding, self.identity = operator.padding, operator.identity
        self.operator = operator

    def combine(self, left, right):
        return self.operator.combine(right, left)


OPERATORS = {"sum": Sum, "product": Product, "compose": Compose}


def like(value, values):
    """One value in the type and with the axes of `values`."""
    value = np.asarray(value, dtype=values.dtype)
    return value.reshape(values.shape[:-1] + (1,))


def fill(values, operator, multiple):
    missing = -values.shape[-1] % multiple
    padding = np.broadcast_to(like(operator.padding, values), values.shape[:-1] + (missing,))
    return np.concatenate([values, padding], axis=-1)


def fold_tree(values, operator):
    """Neighbours in pairs; an odd one moves up."""
    while values.shape[-1] > 1:
        pairs = values.shape[-1] // 2
        folded = operator.combine(values[..., 0 : 2 * pairs : 2], values[..., 1 : 2 * pairs : 2])
        values = np.concatenate([folded, values[..., 2 * pairs :]], axis=-1)
    return values


def reduce_lanes(values, operator):
    """Tiles of 16 rows of 128 lanes; only for operators on plain numbers."""
    rows = fill(values, operator, 2048).reshape(-1, 16, 128)
    lanes = rows[:, 0]
    for row in range(1, 16):
        lanes = operator.combine(lanes, rows[:, row])
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = operator.combine(lanes[:, :half], lanes[:, half:])
    return fold_tree(lanes[:, 0], operator)


def prefixes(values, operator, size):
    """Aligned prefixes of each run of `size` values: after the step of width w, each aligned run
    of 2w values is done, its right half having got the total of its left half in front."""
    done = values
    width = 1
    while width < size:
        runs = done.reshape(done.shape[:-1] + (-1, 2, width))
        left, right = runs[..., 0, :], runs[..., 1, :]
        totals = np.broadcast_to(left[..., -1:], right.shape)
        right = operator.combine(totals, right)
        done = np.stack([left, right], axis=-2).reshape(values.shape)
        width *= 2
    return done


def scan_padded(values, operator, init):
    """Inclusive prefixes with the carries, the carries of all groups, and the total."""
    sizes = [4, 32, 16, 32]
    level_prefixes = []
    totals = values
    for size in sizes:
        level = prefixes(totals, operator, size)
        level_prefixes.append(level)
        totals = level[..., size - 1 :: size]
    # Windows one after another.
    carry = like(operator.padding if init is None else init, values)
    carries = []
    for window in range(totals.shape[-1]):
        carries.append(carry)
        carry = operator.combine(carry, totals[..., window : window + 1])
    carries = np.concatenate(carries, axis=-1) if carries else totals
    # From windows to tiles, rows and groups.
    for size, level in reversed(list(zip(sizes[1:], level_prefixes[1:]))):
        carries = hand_down(carries, level, operator, size)
    return level_prefixes[0], carries, carry


def hand_down(carries, level, operator, size):
    runs = level.reshape(level.shape[:-1] + (-1, size))
    carries = carries[..., None]
    others = operator.combine(np.broadcast_to(carries, runs.shape)[..., 1:], runs[..., :-1])
    return np.concatenate([carries, others], axis=-1).reshape(level.shape)


def reduce(values, operator, init):
    length = values.shape[-1]
    if length == 0:
        return like(operator.identity if init is None else init, values)
    if operator is Compose:
        total = scan_padded(fill(values, operator, 65536), operator, None)[2]
    else:
        total = reduce_lanes(values, operator)
    return total if init is None else operator.combine(like(init, values), total)


def scan(values, operator, exclusive, reverse, init):
    if reverse:
        output = scan(values[..., ::-1], Exchanged(operator), exclusive, False, init)
        return output[..., ::-1]
    length = values.shape[-1]
    if length == 0:
        return values
    groups, carries, _ = scan_padded(fill(values, operator, 65536), operator, init)
    if not exclusive:
        runs = groups.reshape(groups.shape[:-1] + (-1, 4))
        each = np.broadcast_to(carries[..., None], runs.shape)
        return operator.combine(each, runs).reshape(groups.shape)[..., :length]
    output = hand_down(carries, groups, operator, 4)[..., :length]
    if init is None:
        output = np.concatenate([like(operator.identity, values), output[..., 1:]], axis=-1)
    return output


# Answers.

def stored_bits(values, dtype):
    if dtype == "affine_f32":
        scale, shift = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
        return scale << np.uint64(32) | shift
    if dtype == "bf16":
        return bf16_from_f32(values)
    stored = np.ascontiguousarray(values.astype(STORED[dtype]))
    return stored.view(WORD[stored.itemsize])


def hash_of(bits):
    value = 0xCBF29CE484222325
    for item in bits.tolist():
        value = ((value ^ item) * 0x100000001B3) & MASK
    return value


def start(bits, accumulator):
    if bits == "-":
        return None
    bits = int(bits, 16)
    if accumulator == "affine_f32":
        return np.array([bits >> 32, bits & 0xFFFFFFFF], dtype=np.uint32).view(np.float32)
    if accumulator == "f64":
        return np.array([bits], dtype=np.uint64).view(np.float64)
    return np.array([bits], dtype=np.uint32).view(np.float32)


def check(row):
    operator = OPERATORS[row["operator"]]
    values = make(row["input"], row["items"], int(row["seed"]), int(row["length"]))
    init = start(row["init"], row["results"])
    if row["primitive"] == "reduce":
        output = reduce(values, operator, init)
    else:
        exclusive = row["primitive"] == "exclusive_scan"
        output = scan(values, operator, exclusive, row["direction"] == "reverse", init)
    bits = stored_bits(output, row["results"])
    samples = [sample.split("=") for sample in row["samples"].split()]
    wrong = [at for at, value in samples if int(bits[int(at)]) != int(value, 16)]
    if wrong or hash_of(bits) != int(row["hash"], 16):
        return f"{row}: {'items ' + ' '.join(wrong) if wrong else 'the hash'} differ"
    return None


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("summation-v1.csv")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    with np.errstate(over="ignore", invalid="ignore"):
        faults = [fault for fault in map(check, rows) if fault]
    print("\n".join(faults[:10]))
    print(f"{len(rows) - len(faults)} of {len(rows)} lines agree")
    sys.exit(1 if faults or not rows else 0)


if __name__ == "__main__":
    main()
