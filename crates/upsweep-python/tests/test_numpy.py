"""numpy is the judge: integers are equal, floats near, types, shapes and errors the same."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from conftest import FLOATS, INTEGERS
from hypothesis import given, settings
from hypothesis import strategies as st

import upsweep

# A first call makes threads and kernels, which is not what examples are timed for.
settings.register_profile("upsweep", deadline=None, max_examples=60, database=None, derandomize=True)
settings.load_profile("upsweep")

DTYPES = ["bool", *INTEGERS, *FLOATS]
# How far the sum of a few dozen numbers up to 100 may be off, which numpy adds up in the items' own type.
NEAR = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-10}


def elements(dtype):
    if dtype.kind == "f":
        return st.integers(-8, 8).map(lambda number: number / 2)
    return None


@st.composite
def arrays(draw, dtypes=DTYPES, dimensions=4, least_side=0):
    """Arrays of every type, shape and order in memory."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=dimensions, min_side=least_side, max_side=6))
    array = draw(hnp.arrays(dtype, shape, elements=elements(dtype)))
    if draw(st.booleans()):
        array = np.asfortranarray(array)
    if array.ndim:
        array = array.transpose(draw(st.permutations(range(array.ndim))))
        steps = draw(st.tuples(*[st.sampled_from([1, 2, -1, -2])] * array.ndim))
        array = array[tuple(slice(None, None, step) for step in steps)]
    if draw(st.booleans()):
        array = array.view()
        array.flags.writeable = False
    return array


def axes_of(draw, array, several=True):
    if array.ndim == 0:
        return None
    one = st.integers(-array.ndim, array.ndim - 1)
    choices = [st.none(), one]
    if several:
        some = st.lists(st.integers(0, array.ndim - 1), unique=True, max_size=array.ndim)
        choices.append(some.map(tuple))
    return draw(st.one_of(choices))


def same(found, wanted, exact=None):
    """Whether results have one type, shape and value."""
    assert type(found) is type(wanted), (type(found), type(wanted))
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if wanted.dtype.kind == "f" and not exact:
        near = NEAR[wanted.dtype.name]
        np.testing.assert_allclose(found, wanted, rtol=near, atol=near)
    else:
        np.testing.assert_array_equal(found, wanted)


REDUCTIONS = ["sum", "prod", "min", "max", "mean", "all", "any"]


@given(st.data(), arrays(), st.sampled_from(REDUCTIONS), st.booleans())
def test_reductions(data, x, name, keepdims):
    if name == "prod":
        x = np.clip(x, 0, 2) if x.dtype.kind != "b" else x
    axis = axes_of(data.draw, x)
    ours, theirs = getattr(upsweep, name), getattr(np, name)
    is_undefined = name in ("min", "max") and x.size == 0
    if is_undefined or (name == "mean" and x.size == 0):
        return
    same(
        ours(x, axis=axis, keepdims=keepdims),
        theirs(x, axis=axis, keepdims=keepdims),
        exact=name in ("min", "max"),
    )


@given(st.data(), arrays(least_side=1), st.sampled_from(["argmin", "argmax"]), st.booleans())
def test_positions(data, x, name, keepdims):
    axis = axes_of(data.draw, x, several=False)
    same(
        getattr(upsweep, name)(x, axis=axis, keepdims=keepdims),
        getattr(np, name)(x, axis=axis, keepdims=keepdims),
    )


@given(st.data(), arrays())
def test_counts(data, x):
    axis = axes_of(data.draw, x)
    found, wanted = upsweep.count_nonzero(x, axis=axis), np.count_nonzero(x, axis=axis)
    if axis is None:
        # Some versions of numpy give a number of Python's.
        wanted = np.int64(wanted)
    same(found, wanted)


@given(st.data(), arrays())
def test_nonzero(data, x):
    if x.ndim == 0:
        with pytest.raises(ValueError, match="no dimensions"):
            upsweep.nonzero(x)
        return
    found, wanted = upsweep.nonzero(x), np.nonzero(x)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted):
        same(ours, theirs)


@given(st.data(), arrays(), st.sampled_from(["cumulative_sum", "cumulative_prod"]), st.booleans())
def test_scans(data, x, name, include_initial):
    if x.ndim == 0:
        return
    if name == "cumulative_prod" and x.dtype.kind != "b":
        x = np.clip(x, 0, 2)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(
        getattr(upsweep, name)(x, axis=axis, include_initial=include_initial),
        getattr(np, name)(x, axis=axis, include_initial=include_initial),
    )


@given(arrays(), st.sampled_from(["cumsum", "cumprod"]))
def test_flat_scans(x, name):
    if name == "cumprod" and x.dtype.kind != "b":
        x = np.clip(x, 0, 2)
    same(getattr(upsweep, name)(x), getattr(np, name)(x))


@given(st.data(), arrays(), st.sampled_from(["sum", "prod", "min", "max", "mean", "all", "any"]))
def test_masks(data, x, name):
    mask = data.draw(hnp.arrays(bool, x.shape))
    axis = axes_of(data.draw, x)
    options = {"axis": axis, "where": mask}
    if name in ("min", "max"):
        options["initial"] = 1
    if name == "prod" and x.dtype.kind != "b":
        x = np.clip(x, 0, 2)
    if name == "mean" and not np.all(np.sum(mask, axis=axis)):
        return
    wanted = getattr(np, name)(x, **options)
    same(getattr(upsweep, name)(x, **options), wanted)


@given(st.data(), arrays(dtypes=["int32", "float64"], dimensions=3))
def test_broadcast_masks(data, x):
    shape = data.draw(hnp.broadcastable_shapes(x.shape, max_dims=x.ndim, max_side=6))
    mask = data.draw(hnp.arrays(bool, shape))
    try:
        if np.broadcast_shapes(mask.shape, x.shape) != x.shape:
            return
    except ValueError:
        return
    same(upsweep.sum(x, where=mask), np.sum(x, where=mask))


@given(st.data(), arrays(dtypes=INTEGERS), st.booleans())
def test_initial(data, x, keepdims):
    axis = axes_of(data.draw, x)
    for name in ("sum", "max", "min"):
        same(
            getattr(upsweep, name)(x, axis=axis, initial=5, keepdims=keepdims),
            getattr(np, name)(x, axis=axis, initial=5, keepdims=keepdims),
        )


@given(st.data(), arrays())
def test_select(data, x):
    mask = data.draw(hnp.arrays(bool, x.shape))
    same(upsweep.select(x, mask), x[mask], exact=True)
    kept, border = upsweep.partition(x, mask)
    assert border == mask.sum()
    same(kept, np.concatenate([x[mask], x[~mask]]), exact=True)


@given(arrays(dtypes=["int8", "uint64", "float32"]))
def test_comparisons(x):
    for text, keep in [("> 1", x > 1), ("<= 0", x <= 0), ("!= 0.5", x != 0.5), ("== 2", x == 2)]:
        same(upsweep.select(x, text), x[keep], exact=True)


@given(arrays(dimensions=1))
def test_runs(x):
    flat = x.ravel()
    bits = flat.view(f"u{flat.itemsize}")
    begins = np.ones(flat.size, bool)
    begins[1:] = bits[1:] != bits[:-1]
    same(upsweep.unique_consecutive(x), flat[begins], exact=True)
    values, counts = upsweep.run_length_encode(x)
    same(values, flat[begins], exact=True)
    ends = np.append(np.flatnonzero(begins), flat.size)
    same(counts, np.diff(ends))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [1, 7, 1000, 1 << 17])
def test_long_arrays(dtype, length, generator):
    x = generator.integers(0, 2, length).astype(dtype)
    assert upsweep.count_nonzero(x) == np.count_nonzero(x)
    for name in ("sum", "min", "max", "argmin", "argmax", "mean"):
        if dtype == "float16" and name in ("sum", "mean") and length > 1000:
            continue  # numpy's own sum is beyond its type
        found, wanted = getattr(upsweep, name)(x), getattr(np, name)(x)
        assert found == wanted or abs(found - wanted) <= 1e-3 * wanted
        assert type(found) is type(wanted)
    if dtype != "float16":
        same(upsweep.cumsum(x), np.cumsum(x))
    same(upsweep.select(x, x > 0), x[x > 0], exact=True)


def test_results_types():
    for dtype in DTYPES:
        x = np.ones(3, dtype)
        for name in ("sum", "prod", "min", "argmax", "mean", "cumsum"):
            assert getattr(upsweep, name)(x).dtype == getattr(np, name)(x).dtype, (name, dtype)


def test_asked_types():
    x = np.array([1, 2, 250], "uint8")
    for dtype in ("uint8", "int16", np.uint32, np.dtype("float32"), float, int):
        same(upsweep.sum(x, dtype=dtype), np.sum(x, dtype=dtype))
        same(upsweep.cumulative_sum(x, dtype=dtype), np.cumulative_sum(x, dtype=dtype))


@given(st.data(), arrays(["bool", *INTEGERS]), st.sampled_from(INTEGERS))
def test_types_that_do_not_hold_the_items(data, x, dtype):
    axis = axes_of(data.draw, x)
    same(upsweep.sum(x, axis=axis, dtype=dtype), np.sum(x, axis=axis, dtype=dtype))
    line = x.ravel()
    same(upsweep.cumulative_prod(line, dtype=dtype), np.cumprod(line, dtype=dtype))
    start = data.draw(st.integers(0, 100))
    same(upsweep.prod(x, dtype=dtype, initial=start), np.prod(x, dtype=dtype, initial=start))


def test_nans_and_zeros():
    x = np.array([1.0, np.nan, -3.0, np.nan, 0.0, -0.0])
    assert upsweep.argmin(x) == np.argmin(x) == 1
    assert upsweep.argmax(x) == np.argmax(x) == 1
    assert np.isnan(upsweep.min(x)) and np.isnan(upsweep.max(x)) and np.isnan(upsweep.sum(x))
    assert upsweep.count_nonzero(x) == np.count_nonzero(x)
    same(upsweep.nonzero(x)[0], np.nonzero(x)[0])
    assert bool(upsweep.any(np.array([-0.0]))) is False


def test_sums_without_items():
    assert upsweep.sum(np.zeros(0)) == 0 and upsweep.prod(np.zeros((0, 3))) == 1
    same(upsweep.sum(np.zeros((2, 0), "i4"), axis=1), np.zeros(2, "i8"))
    same(upsweep.max(np.zeros((0, 2), "i4"), axis=1), np.zeros(0, "i4"))
    assert bool(upsweep.all(np.zeros(0))) is True


def test_numpy_scalars_and_subclasses(tmp_path):
    same(upsweep.sum(np.float32(2.5)), np.float32(2.5))
    same(upsweep.cumsum(np.int16(2)), np.array([2]))
    mapped = np.memmap(tmp_path / "items", "i4", "w+", shape=(5,))
    mapped[:] = range(5)
    assert upsweep.sum(mapped) == 10


def test_segments(generator):
    lengths = generator.integers(0, 5, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = generator.integers(-50, 50, offsets[-1]).astype("int16")
    rows = [x[start:end] for start, end in zip(offsets, offsets[1:])]
    same(upsweep.segmented_reduce(x, offsets=offsets), np.array([row.sum() for row in rows]))
    keys = np.repeat(np.arange(40), lengths)
    kept = [row for row in rows if row.size]
    found, largest = upsweep.reduce_by_key(keys, x, "max")
    same(found, np.unique(keys))
    same(largest, np.array([row.max() for row in kept]))
    sums = upsweep.segmented_scan(x, offsets=offsets)
    same(sums, np.concatenate([row.cumsum() for row in rows]))
    flags = np.zeros(x.size, bool)
    flags[offsets[:-1][lengths > 0]] = True
    same(upsweep.segmented_scan(x, "max", flags=flags), np.concatenate([np.maximum.accumulate(r) for r in kept]))
    found = upsweep.segmented_reduce(x, "argmin", flags=flags)
    starts = offsets[:-1][lengths > 0]
    same(found, np.array([start + row.argmin() for start, row in zip(starts, kept)]))


@given(st.data(), arrays(dtypes=INTEGERS))
def test_masks_of_bits(data, x):
    mask = data.draw(hnp.arrays(bool, x.shape))
    axis = axes_of(data.draw, x)
    for name, theirs in [("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)]:
        if axis is None and x.ndim == 0:
            continue
        wanted = theirs.reduce(x, axis=axis, where=mask)
        same(upsweep.reduce(x, name, axis=axis, where=mask), wanted)


def test_scans_by_name():
    x = np.array([3, -1, 5], "int32")
    same(upsweep.scan(x, "max"), np.maximum.accumulate(x))
    same(upsweep.scan(x, "xor"), np.bitwise_xor.accumulate(x))
    same(upsweep.scan(x, exclusive=True, initial=10), np.array([10, 13, 12]))
    same(upsweep.scan(x, reverse=True), np.array([7, 4, 5]))
    same(upsweep.scan(x.reshape(1, 3), axis=0), x.reshape(1, 3).cumsum(axis=0))
    same(upsweep.reduce(x, "or"), np.bitwise_or.reduce(x))


def test_many_dimensions(generator):
    x = np.arange(1 << 12, dtype="float32").reshape((2,) * 12).transpose(generator.permutation(12))
    for axis in ((0, 3, 5), (1,), (11, 2, 7, 4), ()):
        same(upsweep.sum(x, axis=axis), np.sum(x, axis=axis))
        same(upsweep.max(x, axis=axis), np.max(x, axis=axis))
    same(upsweep.cumulative_sum(x, axis=5), np.cumulative_sum(x, axis=5))
    one = np.zeros((1,) * 64)
    same(upsweep.sum(one, axis=5), np.sum(one, axis=5))


def test_repeated_items():
    x = np.broadcast_to(np.int32(3), (100, 200))
    same(upsweep.sum(x, axis=0), np.sum(x, axis=0))
    same(upsweep.cumulative_sum(x, axis=1), np.cumulative_sum(x, axis=1))
    same(upsweep.select(x, x > 2), x[x > 2])


def test_means_of_nothing():
    assert np.isnan(upsweep.mean(np.zeros(0)))
    same(upsweep.mean(np.zeros((0, 2), "float16"), axis=0), np.full(2, np.nan, "float16"))


def test_the_default_mask_of_numpy():
    x = np.arange(6).reshape(2, 3)
    same(upsweep.sum(x, axis=0, where=True), np.sum(x, axis=0, where=True))
    same(upsweep.all(x, where=True), np.all(x, where=True))
