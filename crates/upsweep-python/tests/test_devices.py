"""Every device gives the same bits, and arrays on a GPU stay there."""

import numpy as np
import pytest
from conftest import check_readme, has_64_bits, other_devices

import upsweep


def test_the_cpu_is_the_first():
    assert upsweep.devices()[0].id == "cpu"
    assert "cpu" in repr(upsweep.devices()[0])
    assert upsweep.devices()[0].compute_units >= 1


def test_every_kind_is_there_or_absent():
    kinds = {device.id.split(":")[0] for device in upsweep.devices()} | set(upsweep.absent())
    assert kinds == {"cpu", "wgpu", "cuda"}


def test_tuning_tells_its_trials_and_keeps_a_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("UPSWEEP_CACHE_DIR", str(tmp_path))
    trials = []
    for budget in (4, 16, 64):
        # A slow machine is longer at the arrays.
        place = upsweep.tune("cpu", quick=True, budget=budget, progress=trials.append)
        if trials:
            break
    assert place.startswith(str(tmp_path))
    with open(place) as profile:
        assert "upsweep" in profile.read()
    assert trials and all(trial["device"] == "cpu" and trial["checked"] == "ok" for trial in trials)
    assert {"op", "n", "strategy", "median_us"} <= set(trials[0])

    def enough(trial):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        upsweep.tune("cpu", quick=True, budget=budget, progress=enough)
    with pytest.raises(ValueError, match="is no time"):
        upsweep.tune("cpu", budget=-1)
    with pytest.raises(RuntimeError, match="no device"):
        upsweep.tune("toaster")
    monkeypatch.setenv("UPSWEEP_CACHE_DIR", "")
    with pytest.raises(ValueError, match="no profile is kept"):
        upsweep.tune("cpu", quick=True, budget=1)


def bits(found):
    return np.asarray(found).tobytes()


CALLS = {
    "sum": lambda x, **o: upsweep.sum(x, **o),
    "sum along 0": lambda x, **o: upsweep.sum(x, axis=0, **o),
    "sum along 1": lambda x, **o: upsweep.sum(x, axis=1, **o),
    "max along both": lambda x, **o: upsweep.max(x, axis=(0, 1), **o),
    "mean along 1": lambda x, **o: upsweep.mean(x, axis=1, **o),
    "argmax along 0": lambda x, **o: upsweep.argmax(x, axis=0, **o),
    "cumulative_sum along 1": lambda x, **o: upsweep.cumulative_sum(x, axis=1, **o),
    "cumulative_sum from a start": lambda x, **o: upsweep.cumulative_sum(x, axis=0, include_initial=True, **o),
}
LINES = {
    "cumulative_sum": lambda x, **o: upsweep.cumulative_sum(x, **o),
    "select by comparison": lambda x, **o: upsweep.select(x, "> 0", **o),
    "partition": lambda x, **o: upsweep.partition(x, "> 0", **o)[0],
    "unique_consecutive": lambda x, **o: upsweep.unique_consecutive(x, **o),
    "run_length_encode": lambda x, **o: upsweep.run_length_encode(x, **o)[0],
    "segmented_reduce": lambda x, **o: upsweep.segmented_reduce(
        x, offsets=np.array([0, 5, 5, x.size], "uint32"), **o
    ),
    "segmented_scan": lambda x, **o: upsweep.segmented_scan(
        x, offsets=np.array([0, 5, 5, x.size], "uint32"), **o
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_in_host_memory(name, device, generator):
    x = generator.standard_normal((37, 101)).astype("float32")
    call = CALLS[name]
    assert bits(call(x, device=device)) == bits(call(x))
    assert bits(call(x[::-1, ::2], device=device)) == bits(call(x[::-1, ::2].copy()))


@pytest.mark.parametrize("name", LINES)
def test_the_same_bits_of_a_line(name, device, generator):
    x = generator.integers(-2, 2, 3000).astype("float32")
    call = LINES[name]
    assert bits(call(x, device=device)) == bits(call(x))


@pytest.mark.parametrize("name", [*CALLS, *LINES])
@pytest.mark.parametrize("other", other_devices())
def test_arrays_on_a_gpu_stay_there(name, other, generator):
    shape = (37, 101) if name in CALLS else (3737,)
    x = generator.integers(-2, 2, shape).astype("float32")
    call = CALLS.get(name) or LINES[name]
    there = upsweep.asarray(x, device=other)
    assert there.device == other and there.shape == shape
    found = call(there)
    assert isinstance(found, upsweep.Array) and found.device == other
    assert bits(found) == bits(call(x))


@pytest.mark.parametrize("other", other_devices())
def test_the_lines_of_the_readme_there(other):
    if not has_64_bits(other):
        pytest.skip("sums of uint8 are uint64")

    def plain(found):
        assert found.device == other
        return found.numpy().dtype.name, found.tolist()

    check_readme(lambda array: upsweep.asarray(array, device=other), upsweep.Array, plain)


@pytest.mark.parametrize("other", other_devices())
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint32", "int64", "float16", "float64"])
def test_types_that_are_widened_there(other, dtype, generator):
    """Products, segments and sums in other types, of which kernels are for few types of items."""
    if dtype != "float16" and not has_64_bits(other):
        pytest.skip("results are of 64 bits")
    x = generator.integers(0, 3, 500).astype(dtype)
    keys, offsets = np.arange(500, dtype="int32") // 37, np.array([0, 3, 3, 77, 500], "uint32")
    there, of_keys, of_offsets = (upsweep.asarray(array, device=other) for array in (x, keys, offsets))
    for found, wanted in [
        (upsweep.prod(there), upsweep.prod(x)),
        (upsweep.cumulative_prod(there), upsweep.cumulative_prod(x)),
        (upsweep.reduce_by_key(of_keys, there, "max")[1], upsweep.reduce_by_key(keys, x, "max")[1]),
        (upsweep.segmented_reduce(there, offsets=of_offsets), upsweep.segmented_reduce(x, offsets=offsets)),
        (upsweep.segmented_reduce(there, "mean", offsets=of_offsets), upsweep.segmented_reduce(x, "mean", offsets=offsets)),
        (upsweep.segmented_scan(there, "min", offsets=of_offsets), upsweep.segmented_scan(x, "min", offsets=offsets)),
    ]:
        assert found.device == other and found.numpy().dtype == np.asarray(wanted).dtype
        assert bits(found) == bits(wanted)


@pytest.mark.parametrize("other", other_devices())
def test_masks_on_a_gpu(other, generator):
    x = generator.integers(-2, 2, 500).astype("int32")
    mask = x > 0
    there = upsweep.asarray(x, device=other)
    found = upsweep.select(there, upsweep.asarray(mask, device=other))
    np.testing.assert_array_equal(upsweep.nonzero(x, device=other)[0], np.nonzero(x)[0])
    np.testing.assert_array_equal(upsweep.run_length_encode(x, device=other)[1], upsweep.run_length_encode(x)[1])
    square = x.reshape(20, 25)
    np.testing.assert_array_equal(upsweep.nonzero(square, device=other), np.nonzero(square))
    np.testing.assert_array_equal(found.numpy(), x[mask])
    np.testing.assert_array_equal(upsweep.nonzero(there)[0].numpy(), np.nonzero(x)[0])
    with pytest.raises(ValueError, match="where is in host memory, and x on a GPU"):
        upsweep.sum(there, where=mask)
    assert [index.numpy().tolist() for index in upsweep.nonzero(upsweep.asarray(square, device=other))] == [
        index.tolist() for index in np.nonzero(square)
    ]
    assert upsweep.any(upsweep.asarray(mask, device=other)).item() is True
    if other.startswith("wgpu"):
        with pytest.raises(BufferError, match="DLPack has no device"):
            there.__dlpack__()
    with pytest.raises(BufferError):
        memoryview(there)


@pytest.mark.parametrize("other", other_devices())
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32"])
def test_flags_and_masks_there(other, dtype, generator):
    x = generator.integers(0, 3, (40, 25)).astype(dtype)
    x[3] = 0
    x[4] = 1
    mask = generator.random((1, 25)) > 0.4
    there, kept = upsweep.asarray(x, device=other), upsweep.asarray(mask, device=other)
    for axis in (None, 0, 1):
        truths = [upsweep.any, upsweep.all] + [upsweep.count_nonzero] * has_64_bits(other)
        for call in truths:
            assert bits(call(there, axis=axis)) == bits(call(x, axis=axis))
        for call in (upsweep.sum, upsweep.mean) if has_64_bits(other) or dtype.startswith("float") else ():
            assert bits(call(there, axis=axis, where=kept)) == bits(call(x, axis=axis, where=mask))
        found = upsweep.max(there, axis=axis, where=kept, initial=-1 if dtype != "uint8" else 0)
        assert bits(found) == bits(upsweep.max(x, axis=axis, where=mask, initial=-1 if dtype != "uint8" else 0))
    for found, wanted in zip(upsweep.nonzero(there), np.nonzero(x)):
        np.testing.assert_array_equal(found.numpy(), wanted)


@upsweep.operator(identity=0)
def last_set(left, right):
    return upsweep.where(right == 0, left, right)


@upsweep.operator(identity=-0.0, commutative=True)
def add(left, right):
    return left + right


@pytest.mark.parametrize("other", other_devices())
@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint32", "float32"])
def test_views_and_operators_there(other, dtype, generator):
    # Results of integers, and positions, have 64 bits.
    wide = {"sum", "mean", "cumulative_sum", "argmax", "count_nonzero"}
    of_floats = {"sum", "mean", "cumulative_sum"} if dtype == "float32" else set()
    refused = set() if has_64_bits(other) else wide - of_floats
    for length in (1, 1000, 100_003):
        x, y = (generator.integers(0, 7, length).astype(dtype) for _ in range(2))
        there = [upsweep.asarray(a, device=other) for a in (x, y)]

        def view(x, y, **options):
            return upsweep.view(x, y, **options).map(lambda x, y: upsweep.where(x > y, x * 3 - y, y))

        for own in (view(*there), view(x, y, device=other)):
            wanted = view(x, y)
            calls = ("sum", "min", "max", "mean", "argmax", "count_nonzero", "any", "all", "array", "cumulative_sum")
            for call in (call for call in calls if call not in refused):
                assert bits(getattr(own, call)()) == bits(getattr(wanted, call)()), call
            own, wanted = (v.select(lambda value: value > 4) for v in (own, wanted))
            calls = ("sum", "max", "count_nonzero", "any", "array", "cumulative_sum", "__len__")
            for call in (call for call in calls if call not in refused):
                assert bits(getattr(own, call)()) == bits(getattr(wanted, call)()), call
        assert bits(upsweep.reduce(there[0], last_set)) == bits(upsweep.reduce(x, last_set))
        assert bits(upsweep.scan(there[0], last_set)) == bits(upsweep.scan(x, last_set))
        if dtype == "float32":
            x = generator.standard_normal(length).astype(dtype)
            there = upsweep.asarray(x, device=other)
            assert bits(upsweep.reduce(there, add)) == bits(upsweep.sum(x)) == bits(upsweep.reduce(x, add, device=other))
            for ways in ({}, {"reverse": True, "exclusive": True, "initial": 0}):
                assert bits(upsweep.scan(there, add, **ways)) == bits(upsweep.scan(x, "sum", **ways))
    table = generator.integers(0, 3, (30, 50)).astype(dtype)
    there = upsweep.asarray(table, device=other)
    for axis in (0, 1, None):
        assert bits(upsweep.reduce(there, last_set, axis)) == bits(upsweep.reduce(table, last_set, axis))
    for axis in (0, 1):
        assert bits(upsweep.scan(there, last_set, axis)) == bits(upsweep.scan(table, last_set, axis))


def test_explanations(device):
    report = upsweep.explain(np.ones(1 << 12, "float32"), "sum", device=device)
    assert report.device == device and report.items == 1 << 12 and report.bytes == 4 << 12
    assert report.seconds > 0 and report.bound in ("bandwidth", "latency", "launch", "arithmetic")
    assert report.primitive == "reduce" and report.operator == "sum" and report.strategy
    assert len(str(report).splitlines()) > 5
    assert upsweep.explain(np.ones(1000), scan=True).primitive == "inclusive_scan"
