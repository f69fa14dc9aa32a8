"""The functions of the array API, held to a strict implementation of it: types of results, shapes and values."""

import inspect

import array_api_strict as strict
import numpy
import pytest
from array_api_namespace import NAMES

import upsweep

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
OPTIONS = {
    "all": [{}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}],
    "argmax": [{}, {"axis": -1}, {"axis": 0, "keepdims": True}],
    "cumulative_sum": [{"axis": 0}, {"axis": 2, "include_initial": True}, {"axis": -2, "dtype": "float64"}],
    "nonzero": [{}],
    "sum": [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"dtype": "float64"}, {"axis": ()}],
}
for name, others in {"all": "any count_nonzero max min mean", "argmax": "argmin", "cumulative_sum": "cumulative_prod", "sum": "prod"}.items():
    OPTIONS.update(dict.fromkeys(others.split(), OPTIONS[name]))


def test_every_function_is_compared():
    assert sorted(OPTIONS) == sorted(NAMES)


def types(name):
    """The types of which the standard has a function."""
    if name == "mean":
        return DTYPES[-2:]
    return DTYPES if name in ("all", "any", "count_nonzero", "nonzero") else DTYPES[1:]


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in NAMES for dtype in types(name)])
def test_function(name, dtype):
    x = strict.asarray(numpy.random.default_rng(8).integers(0, 3, (3, 4, 5)).astype(dtype))
    for options in OPTIONS[name]:
        wanted = getattr(strict, name)(x, **{key: getattr(strict, value) if key == "dtype" else value for key, value in options.items()})
        found = getattr(upsweep, name)(x, **options)
        for found, wanted in zip(found, wanted, strict=True) if name == "nonzero" else [(found, wanted)]:
            wanted = numpy.asarray(wanted)
            assert isinstance(found, upsweep.Array)
            found = numpy.asarray(found)
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), options
            numpy.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_arguments_are_those_of_the_standard():
    """All but the first have names, and those that the standard has by name alone are so here."""
    for name in NAMES:
        wanted = inspect.signature(getattr(strict, name)).parameters
        found = inspect.signature(getattr(upsweep, name)).parameters
        positional = [parameter.kind for parameter in found.values()][:1]
        assert positional == [inspect.Parameter.POSITIONAL_ONLY], name
        for key in list(wanted)[1:]:
            assert key in found and found[key].default in (wanted[key].default, inspect.Parameter.empty), (name, key)
