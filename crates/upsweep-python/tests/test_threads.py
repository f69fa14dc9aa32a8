"""Calls of several threads on the same arrays at the same time, with a GIL and without."""

import subprocess
import sys
import sysconfig
import textwrap
import threading

import numpy as np
import pytest

import upsweep

THREADS = 4


def at_once(work):
    """What calls of `work` with the numbers from 0 on give, each in a thread of its own, all begun together."""
    found, together = [None] * THREADS, threading.Barrier(THREADS)

    def run(number):
        try:
            together.wait()
            found[number] = work(number)
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value in found:
        if isinstance(value, BaseException):
            raise value
    return found


def in_a_new_process(text):
    """Runs lines in a Python that has called nothing yet, and in which a warning is an error."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has a GIL")
def test_the_import_leaves_the_gil_off():
    """Python warns of a module that needs a GIL, and turns one on for it."""
    assert in_a_new_process("import sys, upsweep; print(sys._is_gil_enabled())") == "False\n"
    # Here numpy and the modules of the tests are there too.
    assert not sys._is_gil_enabled()


def calls(x, length):
    """What is called on an array of three dimensions of this many items, by several ways through the package."""
    return [
        upsweep.sum(x),
        upsweep.mean(x),
        upsweep.argmax(x),
        upsweep.sum(x, axis=0),
        upsweep.max(x, axis=(0, 2)),
        upsweep.sum(x, axis=-1, where=x > 0),
        upsweep.sum(x[:, ::-2], axis=1),
        upsweep.count_nonzero(x, axis=1),
        upsweep.cumulative_sum(x, axis=1),
        upsweep.cumulative_sum(x.reshape(length), include_initial=True),
        upsweep.select(x, "> 0"),
        upsweep.nonzero(x > 1)[0],
        upsweep.sum(memoryview(x)),
    ]


@pytest.mark.parametrize("shape", [(2, 3, 5), (8, 16, 32), (16, 64, 128)])
def test_calls_on_the_same_array(shape):
    """Threads find what one finds alone. Short arrays are reduced without giving up the GIL."""
    x = np.random.default_rng(3).standard_normal(shape).astype("float32")
    wanted = calls(x, x.size)

    def work(number):
        wrong = 0
        for _ in range(3):
            for ours, alone in zip(calls(x, x.size), wanted):
                wrong += np.asarray(ours).tobytes() != np.asarray(alone).tobytes()
        return wrong

    assert at_once(work) == [0] * THREADS


def test_views_plans_and_operators_are_shared():
    """The first calls of all threads meet where functions are traced and programs are made."""
    x = np.random.default_rng(4).integers(-5, 6, 5000).astype("float64")
    for _ in range(5):
        base = upsweep.view(x).map(lambda x: x * 2)
        plan = base.select(lambda x: x > 1).plan("sum")
        sums = base.plan("cumulative_sum")
        last_set = upsweep.operator(lambda left, right: upsweep.where(right == 0, left, right), identity=0)

        def work(number):
            own, mapped = x + number, base.map(lambda x: x + number)
            found = [plan(own), plan(), mapped.max(), len(base.select(lambda x: x > number))]
            arrays = [sums(own), base.array(), upsweep.scan(x, last_set), upsweep.compact(own, "> 2").array()]
            return [float(value) for value in found], [array.tolist() for array in arrays]

        for number, (found, arrays) in enumerate(at_once(work)):
            own = x + number
            kept = np.maximum.accumulate(np.where(x != 0, np.arange(5000), 0))
            assert found == [2 * own[own > 0.5].sum(), 2 * x[x > 0.5].sum(), 10 + number, (2 * x > number).sum()]
            assert arrays == [np.cumsum(2 * own).tolist(), (2 * x).tolist(), x[kept].tolist(), own[own > 2].tolist()]


def test_results_in_parts_of_one_array():
    x = np.arange(THREADS << 14, dtype="int32").reshape(THREADS, -1)
    sums, prefixes = np.zeros(THREADS, "int64"), np.zeros(x.shape, "int64")

    def work(number):
        for _ in range(20):
            upsweep.sum(x[number], out=sums[number:][:1].reshape(()))
            upsweep.cumulative_sum(x[number], out=prefixes[number])

    at_once(work)
    np.testing.assert_array_equal(sums, x.sum(axis=1))
    np.testing.assert_array_equal(prefixes, x.cumsum(axis=1))


def test_an_array_of_ours_is_lent_to_all():
    """By both protocols, while calls read it and others give it back."""
    x = upsweep.asarray(np.arange(1000, dtype="int64"))

    def work(number):
        right = 0
        for _ in range(50):
            lent = [np.from_dlpack(x), np.asarray(memoryview(x)), x.numpy()]
            right += all(upsweep.sum(array) == 499500 for array in lent)
            right += upsweep.sum(x).item() == 499500 and sum(x.tolist()) == 499500
        return right

    assert at_once(work) == [100] * THREADS


class OneCapsule:
    """Gives all that ask for a tensor the same capsule, of which the first has the tensor."""

    def __init__(self, x):
        self.capsule = x.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return self.capsule


def test_a_tensor_is_taken_once():
    """All walk over many capsules, and meet at some of them."""
    x = np.arange(5)
    lenders = [OneCapsule(x) for _ in range(20_000)]

    def work(number):
        sums = []
        for lender in lenders:
            try:
                sums.append(upsweep.sum(lender).item())
            except BufferError as error:
                assert "without a tensor" in str(error)
        return sums

    assert sum(at_once(work), []) == [10] * len(lenders)


def test_first_calls_at_once():
    """What is looked up or made by first calls is made by several threads."""
    said = in_a_new_process(
        """
        import threading
        import numpy as np
        import upsweep

        x, found, together = np.arange(1 << 16, dtype="int32"), [], threading.Barrier(4)

        def work():
            together.wait()
            device = upsweep.sum(x, device="cpu")
            found.append((int(upsweep.sum(x)), int(device), int(upsweep.cumulative_sum(x)[-1])))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(set(found), len(found))
        """
    )
    total = (1 << 15) * ((1 << 16) - 1)
    assert said == f"{{({total}, {total}, {total})}} 4\n"
