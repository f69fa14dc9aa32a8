"""What several tests use."""

import doctest
import os
import pathlib
import re

import numpy as np
import pytest

import upsweep

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
FLOATS = ["float16", "float32", "float64"]


def other_devices():
    """The devices besides the CPU, on which results have the same bits."""
    return [device.id for device in upsweep.devices()[1:]]


def has_64_bits(device):
    """Whether a device has integers and floats of 64 bits, which most results of integers are."""
    [info] = [info for info in upsweep.devices() if info.id == device]
    return info.int64 and info.float64


# Devices that must be here, separated by commas, as of the tests in Rust.
for kind in filter(None, os.environ.get("UPSWEEP_TEST_REQUIRE", "").split(",")):
    assert any(device.startswith(kind) for device in other_devices()), upsweep.absent()


@pytest.fixture(params=["cpu", *other_devices()])
def device(request):
    return request.param


@pytest.fixture
def generator():
    return np.random.default_rng(20261128)


def check_readme(array, kind, plain):
    """Runs the lines of the package's README on what `array` makes of numpy's arrays, and holds what they print to what numpy's give.

    Results that are of `kind` become their type and a list by `plain`.
    """

    class Stand:
        """What the README uses of numpy."""

        maximum = np.maximum

        @staticmethod
        def array(values, dtype=None):
            return array(np.array(values, dtype))

    def compared(found):
        if isinstance(found, kind):
            return plain(found)
        if isinstance(found, np.ndarray | np.generic):
            return found.dtype.name, found.tolist()
        return tuple(map(compared, found)) if isinstance(found, tuple) else found

    readme = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
    text = "".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    of_numpy, there = {"np": np, "upsweep": upsweep}, {"np": Stand, "upsweep": upsweep}
    lines = 0
    for example in doctest.DocTestParser().get_examples(text):
        if example.source.startswith("import "):
            continue
        if not example.want:
            exec(example.source, of_numpy)
            exec(example.source, there)
            continue
        assert compared(eval(example.source, there)) == compared(eval(example.source, of_numpy)), example.source
        lines += 1
    assert lines >= 10
