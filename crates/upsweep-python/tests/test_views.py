"""Lazy views, traced functions and operators, held to numpy."""

import functools
import operator

import numpy
import pytest
from conftest import has_64_bits, other_devices
from hypothesis import given, settings
from hypothesis import strategies as st

import upsweep

NUMBERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"]
LENGTHS = [0, 1, 2, 127, 1025, 70_001]


def items(dtype, length, seed=1, low=-9, high=9):
    random = numpy.random.default_rng(seed)
    low = 0 if dtype.startswith("u") else low
    return random.integers(low, high, length).astype(dtype)


def alike(found, wanted):
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    numpy.testing.assert_array_equal(found, wanted)


# Functions of two items that numpy's arrays and traced values have in common.
ARITHMETIC = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y * 3,
    "quotient": lambda x, y: x / y,
    "floor": lambda x, y: x // y,
    "rest": lambda x, y: x % y,
    "by a number": lambda x, y: 7 - x // 2 + y % 3,
    "less": lambda x, y: (x < y) | (x >= 3),
    "equal": lambda x, y: (x == y) ^ (y != 2),
    "extremes": lambda x, y: numpy.minimum(x, y) + numpy.maximum(x, 2),
    "where": lambda x, y: numpy.where(x > y, x, y),
    "clip": lambda x, y: numpy.clip(x, 1, 5) + y * 0,
    "signs": lambda x, y: abs(x) + numpy.negative(y) + +x,
    "powers": lambda x, y: x**2 + y**3,
    "square": lambda x, y: numpy.square(x) - y,
    "logic": lambda x, y: numpy.logical_and(x, y) | numpy.logical_not(x),
    "questions": lambda x, y: numpy.isnan(x) | numpy.isfinite(y) & ~numpy.isinf(x),
    "rounded": lambda x, y: numpy.floor(x / 2) + numpy.ceil(y / 2) + numpy.trunc(x / 3),
}
BITS = {
    "bits": lambda x, y: (x & y) | (x ^ 5) & ~y,
    "shifts": lambda x, y: (x << (y & 3)) + (x >> (y & 15)),
}


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", [*ARITHMETIC, *BITS])
@pytest.mark.filterwarnings("ignore")
def test_functions(name, dtype):
    if name in BITS and dtype.startswith("float"):
        pytest.skip("floats have no bits")
    if name == "quotient" or name == "rounded":
        # numpy's quotients of short integers are float16 and float32 here and there.
        dtype = {"uint8": "uint32", "int8": "int32", "uint16": "uint32", "int16": "int32"}.get(dtype, dtype)
    function = ARITHMETIC.get(name) or BITS[name]
    x, y = items(dtype, 3001), items(dtype, 3001, seed=2)
    alike(upsweep.view(x, y).map(function).array(), function(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore")
def test_functions_of_special_floats(dtype):
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, numpy.inf, -numpy.inf, numpy.nan, 1e-40, 3e38]
    x, y = (a.ravel().astype(dtype) for a in numpy.meshgrid(special, special))
    for name, function in ARITHMETIC.items():
        if name in ("floor", "rest", "powers"):
            continue
        alike(upsweep.view(x, y).map(function).array(), function(x, y))
    finite = numpy.isfinite(x) & numpy.isfinite(y)
    x, y = x[finite], y[finite]
    for name in ("floor", "rest"):
        found = numpy.asarray(upsweep.view(x, y).map(ARITHMETIC[name]).array())
        numpy.testing.assert_array_equal(found, ARITHMETIC[name](x, y))
    for function in (numpy.sqrt, numpy.exp, numpy.log, numpy.sin, numpy.cos, numpy.tan, numpy.exp2, numpy.log2):
        found = upsweep.view(x).map(function).array()
        numpy.testing.assert_allclose(found, function(x), rtol=1e-5)
    alike(upsweep.view(x, y).map(numpy.copysign).array(), numpy.copysign(x, y))
    alike(upsweep.view(x).map(numpy.signbit).array(), numpy.signbit(x))


def test_comparisons_are_those_of_whole_numbers():
    for unsigned in ("uint8", "uint32", "uint64"):
        for signed in ("int8", "int64"):
            least, most = numpy.iinfo(signed).min, numpy.iinfo(signed).max
            x = numpy.array([least, -1, 0, 1, most, most], signed)
            y = numpy.array([0, numpy.iinfo(unsigned).max, 0, 1, 2, most % 256], unsigned)
            for function in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
                alike(upsweep.view(x, y).map(function).array(), function(x, y))
                alike(upsweep.view(y, x).map(function).array(), function(y, x))
                for number in (-1, 0, 255, 256, 300, 2**63, 2**64, -(2**63) - 1):
                    wanted = [function(int(value), number) for value in y]
                    alike(upsweep.view(y).map(lambda y: function(y, number)).array(), wanted)
                    alike(upsweep.view(y).map(lambda y: function(number, y)).array(), [function(number, int(v)) for v in y])
    alike(upsweep.view(x).map(numpy.signbit).array(), numpy.signbit(x))


def test_numbers_of_short_floats_are_float32():
    x = items("int8", 20)
    wanted = numpy.where(x > 0, numpy.float32(1.5), numpy.float32(2)) + numpy.float32(1)
    half = numpy.float16
    alike(upsweep.view(x).map(lambda x: upsweep.where(x > 0, half(1.5), half(2)) + half(1)).array(), wanted)
    alike(upsweep.view(x).map(lambda x: x * half(2)).array(), x * numpy.float32(2))


def test_views_of_nothing():
    empty = upsweep.view(numpy.empty(0))
    for call in (empty.min, empty.max, empty.argmin, empty.argmax):
        with pytest.raises(ValueError, match="of no items"):
            call()
    assert empty.sum() == 0 and not empty.any() and empty.all() and len(empty.array()) == 0
    none = upsweep.view(numpy.array([True, False])).select(lambda x: x & ~x)
    assert none.reduce("and") == True and none.max() == False and len(none) == 0  # noqa: E712
    with pytest.raises(TypeError, match="gives no value"):
        upsweep.view(numpy.ones(3)).map(lambda x: ())
    with pytest.raises(TypeError, match="takes no initial"):
        upsweep.view(numpy.ones(3)).select(lambda x: x > 0).reduce("mean", initial=5)


def test_operators_into_their_input():
    x = items("int32", (30, 30))
    for axis in (0, 1):
        own = x.copy()
        assert upsweep.reduce(own, add_integers, axis, out=own[3]).base is own
        alike(own[3], x.sum(axis, dtype="int32"))
        own = x.copy()
        upsweep.scan(own, add_integers, axis, out=own)
        alike(own, x.cumsum(axis, dtype="int32"))


PROMOTED = [*NUMBERS, "bool"]


@pytest.mark.parametrize("left", PROMOTED)
@pytest.mark.parametrize("right", PROMOTED)
def test_types_are_numpys(left, right):
    x, y = items(left, 100, low=0, high=2), items(right, 100, seed=2, low=0, high=2)
    for function in (operator.add, operator.mul, operator.lt, numpy.maximum):
        alike(upsweep.view(x, y).map(function).array(), function(x, y))
    for number in (3, 2.5, numpy.float32(2), numpy.int16(3), True):
        add = functools.partial(operator.add, number)
        alike(upsweep.view(x).map(add).array(), add(x))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_chains(data):
    dtype = data.draw(st.sampled_from(NUMBERS))
    x = items(dtype, data.draw(st.sampled_from(LENGTHS)), seed=data.draw(st.integers(0, 9)))
    factor, least = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 6))
    view = upsweep.view(x).map(lambda x: x * factor + 1)
    wanted = x * factor + 1
    alike(view.array(), wanted)
    integers = wanted.dtype.kind in "iu"
    if integers:
        alike(view.sum(), wanted.sum())
        alike(view.prod(), wanted.prod())
        alike(view.cumulative_sum(), numpy.cumulative_sum(wanted))
    assert view.sum() == upsweep.sum(wanted) and view.sum().dtype == upsweep.sum(wanted).dtype
    alike(view.cumulative_sum(), upsweep.cumulative_sum(wanted))
    alike(view.scan("max", reverse=True, exclusive=True), upsweep.scan(wanted, "max", reverse=True, exclusive=True))
    alike(view.scan("sum", initial=3), upsweep.scan(wanted, "sum", initial=3))
    alike(view.count_nonzero(), numpy.count_nonzero(wanted))
    assert (view.any(), view.all()) == (wanted.any(), wanted.all())
    if len(x):
        alike(view.min(), wanted.min())
        alike(view.max(), wanted.max())
        alike(view.argmax(), wanted.argmax())
        alike(view.argmin(), wanted.argmin())
        alike(view.mean(), upsweep.mean(wanted))
    kept = view.select(lambda value: value > least).select(lambda value: value % 2 == 1)
    mask = (wanted > least) & (wanted % 2 == 1)
    alike(kept.array(), wanted[mask])
    assert len(kept) == mask.sum()
    alike(kept.sum(), upsweep.sum(wanted, where=mask))
    alike(kept.cumulative_sum(), upsweep.cumulative_sum(wanted[mask]))
    alike(kept.count_nonzero(), numpy.count_nonzero(wanted[mask]))
    assert kept.any() == wanted[mask].any() and kept.all() == wanted[mask].all()
    if mask.any():
        alike(kept.max(), wanted[mask].max())
        alike(kept.mean(), upsweep.mean(wanted, where=mask))


def test_shapes_and_several_values():
    x = items("int32", (30, 40))
    y = items("float64", (40, 30)).T
    pairs = upsweep.view(x, y).map(lambda x, y: (x + 1, y * 2))
    alike(pairs.map(lambda x, y: x * y).array(), (x + 1) * (y * 2))
    assert repr(pairs) == "View(int32, float64; 1200 items)"
    with pytest.raises(TypeError, match="2 values"):
        pairs.sum()
    with pytest.raises(ValueError, match="shape"):
        upsweep.view(x, y.T)
    alike(upsweep.view(x > 0).map(lambda x: ~x).array(), ~(x > 0))
    alike(upsweep.view(x > 0).sum(), (x > 0).sum())


def test_what_cannot_be_traced_is_refused_with_its_line():
    x = items("float32", 10)

    def branches(x):
        if x > 0:
            return x
        return -x

    def loops(x):
        return sum(x for _ in range(x))

    line = branches.__code__.co_firstlineno + 1
    with pytest.raises(TypeError, match=rf"line {line}, in branches: .*where"):
        upsweep.view(x).map(branches)
    with pytest.raises(TypeError, match="in loops"):
        upsweep.view(x).map(loops)
    with pytest.raises(TypeError, match="numpy.hypot"):
        upsweep.view(x).map(lambda x: numpy.hypot(x, x))
    with pytest.raises(TypeError, match="in <lambda>: .*BitAnd"):
        upsweep.view(x).map(lambda x: x & 1.5)
    with pytest.raises(TypeError, match="give it to view"):
        upsweep.view(x).map(lambda y: y + x)
    with pytest.raises(TypeError, match="<lambda> gives a float"):
        upsweep.view(x).map(lambda x: 1.0)
    with pytest.raises(TypeError, match="is a bool, not float32"):
        upsweep.view(x).select(lambda x: x + 1)
    with pytest.raises(TypeError, match="float16"):
        upsweep.view(x.astype("float16"))
    with pytest.raises(TypeError, match="numpy.where is for arrays"):
        upsweep.where(True, 1, 2)
    others = []
    upsweep.view(x).map(lambda x: others.append(x) or x)
    with pytest.raises(TypeError, match="apart"):
        upsweep.view(x).map(lambda x: x + others[0])


@upsweep.operator(identity=0)
def last_set(left, right):
    return upsweep.where(right == 0, left, right)


@upsweep.operator(identity=-0.0, commutative=True)
def add(left, right):
    return left + right


def test_operators():
    assert repr(last_set) == "Operator(last_set)" and add(2, 3) == 5
    same = upsweep.operator(add, identity=0)
    assert numpy.signbit(upsweep.reduce(numpy.array([-0.0]), same))
    for dtype in NUMBERS:
        for length in (1, 2, 5, 127, 129, 2049, 70_001):
            x = items(dtype, length, low=-1, high=2)
            places = numpy.maximum.accumulate(numpy.where(x != 0, numpy.arange(length), 0))
            alike(upsweep.scan(x, last_set), x[places])
            alike(upsweep.reduce(x, last_set), x[places][-1])
    alike(upsweep.reduce(x[:0], last_set, initial=3), numpy.float64(3))
    alike(upsweep.view(x).map(lambda x: x * 2).reduce(last_set), x[places][-1] * 2)
    alike(upsweep.view(x).map(lambda x: x * 2).scan(last_set), x[places] * 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operators_have_the_bits_of_names(dtype):
    random = numpy.random.default_rng(5)
    for length in (1, 5, 2047, 2049, 65_537, 300_000):
        x = random.standard_normal(length).astype(dtype)
        assert upsweep.reduce(x, add) == upsweep.sum(x)
        assert upsweep.reduce(x, add, initial=2) == upsweep.sum(x, initial=2)
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
            ways = {"exclusive": exclusive, "reverse": reverse}
            found, wanted = upsweep.scan(x, add, **ways), upsweep.scan(x, "sum", **ways)
            numpy.testing.assert_array_equal(found, wanted)


def test_operators_along_axes():
    x = items("int64", (7, 5, 11))
    for axis in (None, 0, 1, 2, (0, 2), (1, 2), -1):
        alike(upsweep.reduce(x, add_integers, axis), x.sum(axis))
        alike(upsweep.reduce(x.T, add_integers, axis, keepdims=True), x.T.sum(axis, keepdims=True))
    for axis in (0, 1, 2):
        alike(upsweep.scan(x, add_integers, axis), x.cumsum(axis))
        out = numpy.empty(x.T.shape, "int64")
        assert upsweep.scan(x.T, add_integers, axis, out=out) is out
        alike(out, x.T.cumsum(axis))
        alike(upsweep.scan(x[::-1, ::2], add_integers, axis, reverse=True), upsweep.scan(x[::-1, ::2], "sum", axis, reverse=True))


add_integers = upsweep.operator(lambda left, right: left + right, identity=0, commutative=True)


def test_operators_are_held_to_what_they_promise():
    x = items("int32", 10)
    with pytest.raises(ValueError, match="identity"):
        upsweep.reduce(x, upsweep.operator(lambda left, right: left + right, identity=1))
    with pytest.raises(TypeError, match="gives float64 of two items of int32"):
        upsweep.reduce(x, upsweep.operator(lambda left, right: left / right, identity=1))
    with pytest.raises(TypeError, match="callable"):
        upsweep.operator(3, identity=0)
    with pytest.raises(TypeError, match="neither a name nor an Operator"):
        upsweep.reduce(x, 3)
    with pytest.raises(TypeError, match="dtype"):
        upsweep.reduce(x, add_integers, dtype="int64")
    with pytest.raises(OverflowError):
        upsweep.reduce(items("uint8", 3), upsweep.operator(lambda left, right: left, identity=256))


@pytest.mark.parametrize("place", ["cpu", *other_devices()])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_compacted_has_its_length_on_the_device(place, dtype):
    for length in (0, 1, 5000, 100_001):
        x = items(dtype, length)
        there = x if place == "cpu" else upsweep.asarray(x, device=place)
        for mask, kept in (("> 3", x[x > 3]), ("> 100", x[:0]), ("< 100", x)):
            found = upsweep.compact(there, mask)
            assert found.capacity == length and len(found) == len(kept)
            alike(found.array(), kept)
            calls = ("sum", "max", "mean") if len(kept) else ("sum",)
            if dtype.startswith("float") or has_64_bits(place):
                for call in calls:
                    alike(getattr(found, call)(), getattr(upsweep, call)(kept))
            if len(kept):
                alike(found.max(), upsweep.max(kept))
            alike(found.scan("max").array(), upsweep.scan(kept, "max"))
            if not dtype.startswith("float") and not has_64_bits(place):
                continue
            sums = found.scan("sum")
            alike(sums.array(), upsweep.scan(kept, "sum"))
            alike(sums.scan("max", reverse=True).array(), upsweep.scan(upsweep.scan(kept, "sum"), "max", reverse=True))
    assert repr(found).startswith(f"Compacted({dtype}; room for")
