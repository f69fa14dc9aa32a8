"""What several tests use."""

import os

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
