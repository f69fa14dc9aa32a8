"""Arrays of other libraries, where these are installed: results are theirs, in the same place, with the same bits."""

import numpy as np
import pytest
from conftest import check_readme

import upsweep

# torch 1 says so of numpy 2 when it makes its first tensor, and goes on without it.
pytestmark = pytest.mark.filterwarnings("ignore:Failed to initialize NumPy")


@pytest.fixture
def table():
    return np.random.default_rng(11).integers(-9, 9, (29, 83)).astype("float32")


def torch_devices():
    try:
        import torch
    except ImportError:
        return []
    return ["cpu"] + [f"cuda:{number}" for number in range(torch.cuda.device_count())]


def tensor(array, place):
    """A copy of numpy's array that torch owns. Old versions of torch and new ones of numpy share nothing but DLPack."""
    import torch

    return torch.from_dlpack(np.ascontiguousarray(array).copy()).clone().to(place)


def bits(tensor):
    """The bytes of a tensor, in C order."""
    import torch

    return bytes(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).tolist())


@pytest.mark.parametrize("place", torch_devices())
def test_torch(place, table):
    import torch

    x = tensor(table, place)
    for call in (
        lambda x: upsweep.sum(x),
        lambda x: upsweep.sum(x, axis=0),
        lambda x: upsweep.sum(x, axis=(0, 1), keepdims=True),
        lambda x: upsweep.mean(x, axis=1),
        lambda x: upsweep.argmax(x, axis=1),
        lambda x: upsweep.cumulative_sum(x, axis=1, include_initial=True),
        lambda x: upsweep.cumsum(x),
        lambda x: upsweep.select(x, "> 0"),
        lambda x: upsweep.select(x, x > 0),
        lambda x: upsweep.partition(x, "> 0")[0],
        lambda x: upsweep.unique_consecutive(x),
        lambda x: upsweep.run_length_encode(x)[1],
        lambda x: upsweep.all(x > -10),
    ):
        for view in (lambda x: x, lambda x: x.T, lambda x: x[::2, 3:]):
            found, wanted = call(view(x)), np.asarray(call(view(table)))
            assert isinstance(found, torch.Tensor) and found.device == x.device
            assert tuple(found.shape) == wanted.shape and bits(found) == wanted.tobytes()
    out = torch.zeros(29, device=place)
    assert upsweep.sum(x, axis=1, out=out) is out
    assert bits(out) == upsweep.sum(table, axis=1).tobytes()
    upsweep.cumulative_sum(x, axis=0, out=x)
    assert bits(x) == upsweep.cumulative_sum(table, axis=0).tobytes()


@upsweep.operator(identity=0)
def last_set(left, right):
    return upsweep.where(right == 0, left, right)


@pytest.mark.parametrize("place", torch_devices())
def test_views_of_torch(place, table):
    import torch

    x = tensor(table, place)
    mask = x > 1
    for call in (
        lambda x, m: upsweep.view(x).map(lambda x: x * x + 0.5).sum(),
        lambda x, m: upsweep.view(x).map(lambda x: x * 2.5).array(),
        lambda x, m: upsweep.view(x, m).map(lambda x, m: upsweep.where(m, x, 0)).cumulative_sum(),
        lambda x, m: upsweep.view(x).select(lambda x: x > 2).array(),
        lambda x, m: upsweep.view(x).select(lambda x: x > 2).mean(),
        lambda x, m: upsweep.view(x).map(lambda x: x > 2).any(),
        lambda x, m: upsweep.compact(x, m).array(),
        lambda x, m: upsweep.compact(x, "> 2").sum(),
        lambda x, m: upsweep.compact(x, "> 2").scan("sum", reverse=True).array(),
        lambda x, m: upsweep.view(x).map(abs).argmax(),
        lambda x, m: upsweep.sum(x, axis=0, where=m),
        lambda x, m: upsweep.mean(x, where=m),
        lambda x, m: upsweep.any(x, axis=1),
        lambda x, m: upsweep.nonzero(x)[1],
        lambda x, m: upsweep.reduce(x, last_set, axis=1),
        lambda x, m: upsweep.reduce(x, last_set),
        lambda x, m: upsweep.scan(x, last_set, axis=0),
    ):
        for view in (lambda x: x, lambda x: x.T, lambda x: x[::2, 3:]):
            found, wanted = call(view(x), view(mask)), np.asarray(call(view(table), view(table > 1)))
            assert isinstance(found, torch.Tensor) and found.device == x.device
            assert tuple(found.shape) == wanted.shape and bits(found) == wanted.tobytes()


@pytest.mark.parametrize("place", torch_devices())
def test_what_torch_does_not_lend(place):
    import torch

    x = torch.ones(3, device=place, requires_grad=True)
    with pytest.raises((ValueError, BufferError), match="grad"):
        upsweep.sum(x)
    assert upsweep.sum(x.detach()).item() == 3
    with pytest.raises((ValueError, TypeError, BufferError, RuntimeError)):
        upsweep.sum(torch.ones(3, device=place, dtype=torch.complex64))
    with pytest.raises((ValueError, TypeError, BufferError, RuntimeError)):
        upsweep.sum(torch.ones(3, 3, device=place).to_sparse())
    # The sign is not in memory yet.
    negated = torch.ones(3, dtype=torch.complex64, device=place).mul(1j).conj().imag
    with pytest.raises(ValueError, match="resolve_neg"):
        upsweep.sum(negated)
    assert upsweep.sum(negated.resolve_neg()).item() == -3


@pytest.mark.parametrize("place", torch_devices())
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64", "bool"])
def test_types_of_torch(place, dtype):
    import torch

    x = torch.tensor([[0, 1, 1], [1, 0, 0]], dtype=getattr(torch, dtype), device=place)
    wanted = x.to(torch.float64).sum(dim=1)
    if dtype == "uint8" and not hasattr(torch, "uint64"):
        with pytest.raises(ValueError, match="this version of torch has no uint64"):
            upsweep.sum(x, axis=1)
        assert torch.equal(upsweep.sum(x, axis=1, dtype="int64").to(torch.float64), wanted)
        return
    found = upsweep.sum(x, axis=1)
    assert torch.equal(found.to(torch.float64), wanted)
    assert found.dtype == (x.sum().dtype if dtype not in ("uint8",) else torch.uint64)
    assert torch.equal(upsweep.max(x, axis=0), x.to(torch.float64).amax(dim=0).to(x.dtype))
    if dtype in ("float16", "bfloat16"):
        assert upsweep.mean(x, axis=1).dtype == x.dtype
    assert torch.equal(upsweep.cumulative_sum(x, axis=1).to(torch.float64), x.to(torch.float64).cumsum(dim=1))


@pytest.mark.parametrize("place", torch_devices())
def test_the_lines_of_the_readme_on_torch(place):
    """Each gives on tensors what it gives on arrays of numpy, as tensors in the same place."""
    import torch

    if not hasattr(torch, "uint64"):
        pytest.skip("sums of uint8 are uint64, which this version of torch has not")

    def plain(found):
        assert found.device == torch.device(place)
        return str(found.dtype).removeprefix("torch."), found.tolist()

    check_readme(lambda array: tensor(array, place), torch.Tensor, plain)


@pytest.mark.parametrize("place", torch_devices())
def test_plans_of_torch(place, table):
    import torch

    x, room = tensor(table, place), torch.zeros(29 * 83, device=place)
    for end in ("sum", "mean", "argmax", "cumulative_sum", "array"):
        plan = upsweep.view(x[:2]).map(lambda x: x * 2 + 1).plan(end)
        found, wanted = plan(x), np.asarray(getattr(upsweep.view(table).map(lambda x: x * 2 + 1), end)())
        assert isinstance(found, torch.Tensor) and found.device == x.device and bits(found) == wanted.tobytes()
        if end != "argmax":
            out = room[: wanted.size].reshape(wanted.shape)
            assert plan(x, out=out) is out and bits(out) == wanted.tobytes()
    with pytest.raises(ValueError, match="grad"):
        plan(x.clone().requires_grad_())


@pytest.mark.parametrize("place", [place for place in torch_devices() if place != "cpu"])
def test_streams_of_torch(place):
    """A call comes behind what the caller's stream does, and what the caller does comes behind the call."""
    import torch

    stream = torch.cuda.Stream(place)
    with torch.cuda.stream(stream):
        for _ in range(20):
            x = torch.zeros(1 << 24, device=place)
            torch.cuda._sleep(2_000_000)
            x += 1
            assert upsweep.sum(x).item() == 1 << 24
            y = upsweep.cumulative_sum(x)
            x.zero_()
            assert y[-1].item() == 1 << 24


@pytest.mark.parametrize("place", [place for place in torch_devices() if place != "cpu"])
def test_interface_of_cuda(place):
    import torch

    class Plain:
        def __init__(self, x):
            self.x = x

        @property
        def __cuda_array_interface__(self):
            return self.x.__cuda_array_interface__

    x = torch.arange(12, dtype=torch.float32, device=place).reshape(3, 4)
    found = upsweep.sum(Plain(x.T), axis=0)
    assert isinstance(found, upsweep.Array) and found.device == place
    assert found.tolist() == x.sum(dim=1).tolist()
    assert torch.as_tensor(found, device=place).tolist() == found.tolist()
    assert torch.from_dlpack(found).tolist() == found.tolist()
    with pytest.raises(ValueError, match="the call is for cpu"):
        upsweep.sum(x, device="cpu")


def test_cupy(table):
    cupy = pytest.importorskip("cupy")
    x = cupy.asarray(table)
    for call in (lambda x: upsweep.sum(x, axis=0), lambda x: upsweep.cumulative_sum(x, axis=1), lambda x: upsweep.select(x, "> 0")):
        found = call(x)
        assert isinstance(found, cupy.ndarray) and found.get().tobytes() == call(table).tobytes()


def test_jax(table):
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(table)
    for call in (lambda x: upsweep.sum(x, axis=0), lambda x: upsweep.cumulative_sum(x, axis=1), lambda x: upsweep.select(x, "> 0"), lambda x: upsweep.mean(x)):
        found = call(x)
        assert isinstance(found, jax.Array) and np.asarray(found).tobytes() == np.asarray(call(table)).tobytes()
    with pytest.raises(ValueError, match="out is read-only"):
        upsweep.sum(x, axis=0, out=jax.numpy.zeros(83))
    short = jax.numpy.asarray([1.5, 2.5], dtype="bfloat16")
    assert upsweep.sum(short).dtype == "bfloat16" and float(upsweep.mean(short)) == 2.0
