"""Where arrays lie and who keeps them: out=, overlaps, protocols, lifetimes, leaks, threads."""

import array
import ctypes
import gc
import os
import signal
import sys
import threading
import time
import tracemalloc
import warnings
import weakref

import ml_dtypes
import numpy as np
import pytest

import upsweep


def test_out_is_written_and_given_back():
    x = np.arange(12, dtype="int32").reshape(3, 4)
    for strides in (1, 2):
        room = np.full(4 * strides, -1, "int64")
        out = room[::strides]
        assert upsweep.sum(x, axis=0, out=out) is out
        np.testing.assert_array_equal(out, x.sum(axis=0))
    assert room[1] == -1
    whole = np.array(0, "int64")
    assert upsweep.sum(x, out=whole) is whole and whole == 66
    kept = np.zeros((1, 4), "int64")
    upsweep.sum(x, axis=0, keepdims=True, out=kept)
    np.testing.assert_array_equal(kept[0], x.sum(axis=0))
    backwards = np.zeros((3, 4), "int64")[::-1, ::-1]
    upsweep.cumulative_sum(x, axis=1, out=backwards)
    np.testing.assert_array_equal(backwards, x.cumsum(axis=1))


def test_out_of_means_and_positions():
    x = np.arange(6, dtype="float16").reshape(2, 3)
    out = np.zeros(2, "float16")
    assert upsweep.mean(x, axis=1, out=out) is out
    np.testing.assert_array_equal(out, [1, 4])
    positions = np.zeros(2, "int64")
    upsweep.argmax(x, axis=1, out=positions)
    np.testing.assert_array_equal(positions, [2, 2])
    truths = np.zeros(2, bool)
    upsweep.any(x > 3, axis=1, out=truths)
    np.testing.assert_array_equal(truths, [False, True])


@pytest.mark.parametrize("length", [5, 1 << 16])
def test_out_may_overlap_the_input(length):
    x = np.arange(length, dtype="int64")
    upsweep.cumulative_sum(x, out=x)
    np.testing.assert_array_equal(x, np.arange(length).cumsum())
    x = np.arange(length, dtype="int64")
    upsweep.cumulative_sum(x[:-1], out=x[1:])
    np.testing.assert_array_equal(x[1:], np.arange(length - 1).cumsum())
    x = np.arange(length, dtype="int64")
    upsweep.cumulative_sum(x[::-1], out=x)
    np.testing.assert_array_equal(x, np.arange(length)[::-1].cumsum())
    table = np.arange(9, dtype="int64").reshape(3, 3)
    wanted = table.sum(axis=0)
    upsweep.sum(table, axis=0, out=table[1])
    np.testing.assert_array_equal(table[1], wanted)


def test_out_that_does_not_fit():
    x = np.ones((2, 3))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        upsweep.sum(x, axis=0, out=frozen)
    with pytest.raises(TypeError, match="out has items of float32, the result has float64"):
        upsweep.sum(x, axis=0, out=np.zeros(3, "float32"))
    with pytest.raises(ValueError, match=r"out has shape \[2\], the result has \[3\]"):
        upsweep.sum(x, axis=0, out=np.zeros(2))
    folded = np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,))
    with pytest.raises(ValueError, match="two items|same|overlap|apart"):
        upsweep.sum(x, axis=0, out=folded)


def test_what_is_no_array():
    for x in ([1, 2], 3.5, "text", None, {}):
        with pytest.raises(TypeError, match="x is a .*no array"):
            upsweep.sum(x)
    for x, what in [
        (np.array([1, "a"], object), "object"),
        (np.zeros(2, complex), "complex128"),
        (np.zeros(2, ">i4"), ">i4"),
        (np.zeros(2, "S3"), r"\|S3"),
        (np.zeros(2, "datetime64[s]"), "datetime64"),
        (np.zeros(2, [("a", "i4")]), "'a'"),
        (np.zeros(2, np.longdouble), "float128|longdouble"),
    ]:
        with pytest.raises(TypeError, match=f"x has items of .*({what})"):
            upsweep.sum(x)
    with pytest.raises(TypeError, match="masked"):
        upsweep.sum(np.ma.masked_array([1, 2], [0, 1]))


def test_misaligned_arrays_are_refused():
    bytes_ = np.zeros(41, "uint8")
    with pytest.raises(ValueError, match="x is misaligned"):
        upsweep.sum(bytes_[1:].view("float64"))
    record = np.zeros(3, np.dtype([("flag", "u1"), ("value", "f4")]))
    with pytest.raises(ValueError, match="misaligned|strides"):
        upsweep.sum(record["value"])
    assert upsweep.sum(record["flag"]) == 0


def test_arguments_that_are_wrong():
    x = np.ones((2, 3))
    for call, error, text in [
        (lambda: upsweep.sum(x, axis=2), ValueError, "axis 2 is out of bounds"),
        (lambda: upsweep.sum(x, axis=(0, -2)), ValueError, "named twice"),
        (lambda: upsweep.sum(x, axis="0"), TypeError, "axis is an integer"),
        (lambda: upsweep.sum(upsweep.asarray(x), dtype="float32"), TypeError, "f32 does not hold every value of f64"),
        (lambda: upsweep.sum(x, dtype="complex64"), TypeError, "dtype complex64 is not known"),
        (lambda: upsweep.sum(x, dtype=np.dtype(">f8")), TypeError, "is not known"),
        (lambda: upsweep.sum(x, device="toaster"), RuntimeError, "no device 'toaster'"),
        (lambda: upsweep.max(np.zeros(0)), ValueError, "max of no items"),
        (lambda: upsweep.argmin(np.zeros((2, 0)), axis=1), ValueError, "argmin of no items"),
        (lambda: upsweep.max(x, where=x > 0), ValueError, "needs initial="),
        (lambda: upsweep.sum(x, where=np.ones(2, bool)), ValueError, "where of shape"),
        (lambda: upsweep.sum(x, where=np.ones(3)), TypeError, "where has items of float64"),
        (lambda: upsweep.cumulative_sum(x), ValueError, "name the axis"),
        (lambda: upsweep.select(x, x), TypeError, "mask has items of float64"),
        (lambda: upsweep.select(x, x[0] > 0), ValueError, "mask has shape"),
        (lambda: upsweep.select(x, "almost 3"), ValueError, "comparison"),
        (lambda: upsweep.reduce(x, "median"), ValueError, "unknown operator 'median'"),
        (lambda: upsweep.reduce(x, "and"), TypeError, "not defined for f64"),
        (lambda: upsweep.segmented_reduce(x[0]), TypeError, "one of offsets"),
        (lambda: upsweep.sum(np.ones(2, "u1"), initial=-1), OverflowError, "negative|range"),
    ]:
        with pytest.raises(error, match=text):
            call()


class Borrowed:
    """An array that only DLPack knows of."""

    def __init__(self, x, versioned=True):
        self.x, self.versioned = x, versioned

    def __dlpack__(self, **options):
        if not self.versioned:
            if "max_version" in options:
                raise TypeError("no versions here")
            return self.x.__dlpack__()
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_in(versioned):
    x = np.arange(12, dtype="float32").reshape(3, 4)[::-1, ::2]
    given = Borrowed(x, versioned)
    found = upsweep.sum(given, axis=1)
    assert isinstance(found, upsweep.Array)
    np.testing.assert_array_equal(np.asarray(found), x.sum(axis=1))
    kept = weakref.ref(given)
    del given
    gc.collect()
    assert kept() is None


def test_dlpack_out_of_the_caller():
    x, room = np.arange(6, dtype="int64").reshape(2, 3), np.zeros(3, "int64")
    out = Borrowed(room)
    assert upsweep.sum(x, axis=0, out=out) is out
    np.testing.assert_array_equal(room, [3, 5, 7])
    frozen = np.zeros(3, "int64")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        upsweep.sum(x, axis=0, out=Borrowed(frozen))


def test_dlpack_of_our_arrays():
    ours = upsweep.cumulative_sum(array.array("i", [3, -1, 5]))
    for taken in (np.from_dlpack(ours), np.asarray(ours), np.array(ours, copy=True)):
        np.testing.assert_array_equal(taken, [3, 2, 7])
    shared = np.from_dlpack(ours)
    del ours
    gc.collect()
    np.testing.assert_array_equal(shared, [3, 2, 7])
    # Capsules of both kinds that nobody takes give their memory back.
    ours = upsweep.asarray(np.zeros(1 << 20))
    before = resident()
    for _ in range(100):
        upsweep.asarray(ours).__dlpack__()
        upsweep.asarray(ours).__dlpack__(max_version=(1, 0))
    assert resident() - before < 10 * ours.nbytes
    with pytest.raises(BufferError):
        ours.__dlpack__(copy=True)


def test_our_arrays():
    ours = upsweep.asarray(np.arange(6, dtype="int16").reshape(2, 3).T)
    assert ours.shape == (3, 2) and ours.dtype == "int16" and ours.ndim == 2
    assert ours.size == 6 and ours.nbytes == 12 and ours.device == "cpu" and len(ours) == 3
    assert ours.tolist() == [[0, 3], [1, 4], [2, 5]]
    view = memoryview(ours)
    assert view.format == "h" and view.shape == (3, 2) and view.strides == (4, 2)
    assert ours.__array_interface__["typestr"] == "<i2"
    assert not hasattr(ours, "__cuda_array_interface__")
    total = upsweep.sum(ours)
    assert (int(total), float(total), total.item()) == (15, 15.0, 15) and total.shape == ()
    assert range(20)[total] == 15 and bool(total)
    assert isinstance(upsweep.sum(ours, axis=0), upsweep.Array)
    with pytest.raises(ValueError, match="not one number"):
        int(ours)
    with pytest.raises(TypeError, match="no length"):
        len(total)
    assert repr(upsweep.asarray(np.zeros(2000))).startswith("Array(shape=[2000]")
    chosen = upsweep.select(ours, upsweep.asarray(np.array([[1, 0], [0, 1], [1, 0]], bool)))
    assert chosen.tolist() == [0, 4, 2]
    assert upsweep.mean(upsweep.asarray(np.array([1, 2], "float16"))).tolist() == 1.5


def test_other_buffers():
    assert upsweep.sum(b"\x01\x02\xff").item() == 258
    assert upsweep.sum(memoryview(array.array("d", [1.5, 2.5]))[::-1]).item() == 4.0
    assert upsweep.max((ctypes.c_int * 3)(4, 9, 2)).item() == 9


def test_short_brain_floats():
    x = np.array([[1.5, 2.5], [250, 255]], ml_dtypes.bfloat16)
    wanted = x.astype("float32").sum(axis=0).astype(ml_dtypes.bfloat16)
    found = upsweep.sum(x, axis=0)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found, wanted)
    assert upsweep.sum(x) == np.float32(509).astype(ml_dtypes.bfloat16)
    assert upsweep.max(x.T[::-1], axis=0).tolist() == [2.5, 255]
    assert upsweep.cumulative_sum(x, axis=1).dtype == ml_dtypes.bfloat16
    assert upsweep.select(x, "> 2").tolist() == [2.5, 250, 255]
    assert upsweep.mean(x, axis=0).dtype == ml_dtypes.bfloat16
    out = np.zeros(2, ml_dtypes.bfloat16)
    upsweep.sum(x, axis=1, out=out)
    assert out.tolist() == [4, 504]
    assert upsweep.sum(x, dtype="float32") == np.float32(509)
    ours = upsweep.asarray(x)
    assert ours.dtype == "bfloat16" and ours.numpy().dtype == ml_dtypes.bfloat16
    with pytest.raises(BufferError, match="no bfloat16"):
        memoryview(ours)


def test_array_interface():
    class Facts:
        def __init__(self, x):
            self.x = x

        @property
        def __array_interface__(self):
            return self.x.__array_interface__

    x = np.arange(12, dtype="uint16").reshape(3, 4)
    for view in (x, x.T, x[::-1, ::2], x[:0]):
        assert upsweep.sum(Facts(view), axis=0).tolist() == view.sum(axis=0).tolist()
    room = np.zeros(4, "uint64")
    upsweep.sum(x, axis=0, out=Facts(room))
    np.testing.assert_array_equal(room, x.sum(axis=0))
    with pytest.raises(TypeError, match="x has items of >i4"):
        upsweep.sum(Facts(np.zeros(2, ">i4")))


def test_interface_of_cuda_is_looked_at():
    class Elsewhere:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (64, False), "version": 3}

    if any(device.id.startswith("cuda") for device in upsweep.devices()):
        pytest.skip("the address is of no GPU, which only a machine without one says at once")
    with pytest.raises(RuntimeError, match="no device 'cuda:0'"):
        upsweep.sum(Elsewhere())


@upsweep.operator(identity=0)
def last_set(left, right):
    return upsweep.where(right == 0, left, right)


DOUBLED = upsweep.view(np.ones(2, "float32")).map(lambda x: x * 2).plan("array")
CALLS = [
    lambda x: upsweep.sum(x),
    lambda x: upsweep.sum(x, axis=0),
    lambda x: upsweep.argmax(x, axis=1),
    lambda x: upsweep.mean(x, where=x > 1),
    lambda x: upsweep.cumulative_sum(x, axis=0, include_initial=True),
    lambda x: upsweep.cumulative_sum(x, axis=0, out=x),
    lambda x: upsweep.select(x, x > 2),
    lambda x: upsweep.nonzero(x),
    lambda x: upsweep.run_length_encode(x),
    lambda x: upsweep.view(x).map(lambda x: x * 2 + 1).select(lambda x: x > 3).sum(),
    lambda x: upsweep.view(x).map(abs).array(),
    lambda x: upsweep.view(x).map(abs).plan("cumulative_sum")(x + 1),
    lambda x: DOUBLED(x, out=x[:]),
    lambda x: upsweep.compact(x, "> 2").sum(),
    lambda x: upsweep.scan(x, last_set, axis=1),
    lambda x: failed(upsweep.view(x).map, lambda x: x if x > 0 else -x),
    lambda x: upsweep.sum(Borrowed(x), axis=0),
    lambda x: upsweep.sum(Borrowed(x, versioned=False), axis=0),
    lambda x: np.from_dlpack(upsweep.asarray(x)),
    lambda x: memoryview(upsweep.asarray(x)),
    lambda x: failed(upsweep.sum, x, axis=7),
    lambda x: failed(upsweep.sum, x, axis=0, out=x),
]


def failed(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except (TypeError, ValueError):
        return
    raise AssertionError("the call should have failed")


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Mallinfo2(ctypes.Structure):
    """What the C library counts of its allocator, which is Rust's and numpy's too."""

    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def allocated():
    """Bytes that the C library's allocator has given out, in all arenas and by mappings of their own."""
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = Mallinfo2
    counts = library.mallinfo2()
    return counts.uordblks + counts.hblkhd


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="this C library does not say what it has given out")
def test_nothing_is_kept():
    """10,000 calls in turn leave neither Python's memory, nor ours, nor references to their arrays."""
    x = np.arange(4096, dtype="float32").reshape(64, 64)
    for call in CALLS:
        call(x.copy())
    gc.collect()
    references = sys.getrefcount(x)

    def call_all(times):
        for _ in range(times):
            for call in CALLS:
                # Most calls on one array, so that a reference that is kept is seen.
                call(x if call is not CALLS[5] else x.copy())
        gc.collect()

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call_all(10)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    before = allocated()
    call_all(10_000 // len(CALLS) + 1)
    allocated_grown = allocated() - before
    assert sys.getrefcount(x) == references
    assert grown < 5_000, grown
    # The smallest piece of memory that one of the calls keeps each time would be 14,000 bytes.
    assert allocated_grown < 10_000, allocated_grown


def test_views_that_are_made_of_one_are_apart():
    base = upsweep.view(np.arange(100.0))
    values = []
    kept = [base.map(lambda x: values.append(x) or x * number).select(lambda x: x > number) for number in range(9)]
    assert [view.max() for view in kept[1:]] == [99 * number for number in range(1, 9)]
    assert [len(view) for view in kept] == [0] + [98] * 8
    assert base.sum() == 4950 and repr(base) == "View(float64; 100 items)"
    with pytest.raises(TypeError, match="apart"):
        base.map(lambda x: x + values[0])


def test_results_do_not_keep_inputs():
    for call in CALLS[:13]:
        x = np.arange(16, dtype="float32").reshape(4, 4)
        kept = weakref.ref(x)
        result = call(x)
        if result is x:
            continue
        del x
        gc.collect()
        assert kept() is None


def test_threads():
    """Calls of several threads give what they give alone, and others run meanwhile."""
    x = np.random.default_rng(7).standard_normal((512, 1024)).astype("float32")
    wanted = [upsweep.sum(x), upsweep.sum(x, axis=0), upsweep.cumulative_sum(x, axis=1), upsweep.select(x, "> 0")]
    wrong = []

    def work():
        for _ in range(20):
            found = [upsweep.sum(x), upsweep.sum(x, axis=0), upsweep.cumulative_sum(x, axis=1), upsweep.select(x, "> 0")]
            wrong.extend(1 for ours, alone in zip(found, wanted) if not np.array_equal(ours, alone))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_forked_processes():
    """A child has threads of its own, and no GPU of its parent's."""
    x = np.ones(1 << 22, "float32")
    wanted = upsweep.sum(x)
    with warnings.catch_warnings():
        # That there are threads, whose state a child must not rely on.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        good = upsweep.sum(x) == wanted and upsweep.sum(x, device="cpu") == wanted
        try:
            upsweep.sum(x, device="wgpu:0")
        except RuntimeError as error:
            good = good and "forked" in str(error)
        else:
            good = False
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_gil_is_released():
    """Another thread, which gives way each time, counts while a long call runs."""
    x = np.ones(1 << 25, "float64")
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    old = sys.getswitchinterval()
    # Nobody is made to give the GIL up within this time.
    sys.setswitchinterval(10.0)
    try:
        thread.start()
        before = counted[0]
        upsweep.cumulative_sum(x, out=x)
        # Here the main thread has the GIL, and no other has run since the call came back.
        during = counted[0] - before
    finally:
        stop.set()
        sys.setswitchinterval(old)
        thread.join()
    assert during > 0


class WithoutSign:
    """Lends an array whose negative strides were divided as if they had no sign, as CuPy's are."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        capsule = self.x.__dlpack__()
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = pointer_of(capsule, b"dltensor")
        # Behind the data's address, the device, the number of dimensions, the type and the shape.
        strides = ctypes.cast(tensor + 32, ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64))).contents
        for axis, stride in enumerate(self.x.strides):
            strides[axis] = (stride % 2**64) // self.x.itemsize
        return capsule


@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "float64"])
def test_strides_that_lost_their_sign(dtype):
    x = np.arange(60).astype(dtype).reshape(5, 12)[::-1, ::-3]
    found = upsweep.cumulative_sum(WithoutSign(x), axis=1)
    np.testing.assert_array_equal(np.asarray(found), x.cumsum(axis=1))
