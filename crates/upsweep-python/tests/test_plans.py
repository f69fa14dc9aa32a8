"""Plans: what a view ends in, on its own arrays and on others."""

import numpy
import pytest
from conftest import has_64_bits

import upsweep


@upsweep.operator(identity=0)
def last_set(left, right):
    return upsweep.where(right == 0, left, right)


def doubled(x):
    return x * 2


# Ends, with the arguments of the method and of the plan.
ENDS = [
    *((name, {}) for name in ("sum", "prod", "min", "max", "mean", "argmin", "argmax", "all", "any", "count_nonzero")),
    *((name, {}) for name in ("cumulative_sum", "cumulative_prod", "array")),
    ("reduce", {"op": "sum", "initial": 3}),
    ("reduce", {"op": last_set}),
    ("scan", {"op": "max", "exclusive": True, "initial": -5}),
    ("scan", {"op": last_set, "reverse": True}),
]
SELECTED = [end for end in ENDS if end[0] not in ("argmin", "argmax", "cumulative_sum", "cumulative_prod", "scan") and end[1].get("op") is not last_set]


def planned(view, end, options):
    options = dict(options)
    return view.plan(end, *filter(None, [options.pop("op", None)]), **options)


def called(view, end, options):
    options = dict(options)
    return getattr(view, end)(*filter(None, [options.pop("op", None)]), **options)


def same(found, wanted):
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("end", "options"), ENDS, ids=lambda end: end if isinstance(end, str) else "")
def test_plans_give_what_the_view_gives(device, end, options):
    random = numpy.random.default_rng(3)
    x = random.integers(-3, 4, 1000).astype("float32")
    places = {"device": device}
    plan = planned(upsweep.view(x, **places).map(doubled), end, options)
    if end == "count_nonzero" and not has_64_bits(device):
        with pytest.raises(TypeError, match="no 64-bit integers"):
            plan()
        return
    same(plan(), called(upsweep.view(x, **places).map(doubled), end, options))
    for other in (x[:1], x[::3], random.standard_normal((7, 300)).astype("float32"), random.standard_normal(70_001).astype("float32")):
        found = plan(other)
        same(found, called(upsweep.view(other, **places).map(doubled), end, options))
        out = numpy.empty(numpy.shape(found), numpy.asarray(found).dtype)
        assert plan(other, out=out) is out
        same(out, found)
    # What the view's array has now is read.
    x[:] = 5
    same(plan(), called(upsweep.view(x, **places).map(doubled), end, options))


def test_plans_give_what_numpy_gives():
    x = numpy.random.default_rng(6).integers(-9, 9, (30, 70)).astype("float32")
    double = 2 * x
    view = upsweep.view(x[:1]).map(doubled)
    for end, wanted in [
        ("sum", double.sum()),
        ("min", double.min()),
        ("mean", double.mean()),
        ("argmax", double.argmax()),
        ("count_nonzero", numpy.count_nonzero(double)),
        ("cumulative_sum", double.cumsum()),
        ("array", double),
    ]:
        found = view.plan(end)(x)
        numpy.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    above = view.select(lambda x: x > 3)
    kept = double[double > 3]
    for end, wanted in [("sum", kept.sum()), ("min", kept.min()), ("mean", kept.mean()), ("array", kept), ("count_nonzero", kept.size)]:
        numpy.testing.assert_allclose(above.plan(end)(x), wanted, rtol=1e-6)


@pytest.mark.parametrize(("end", "options"), SELECTED, ids=lambda end: end if isinstance(end, str) else "")
def test_plans_of_selected_items(end, options):
    x = numpy.arange(5000, dtype="float64")
    plan = planned(upsweep.view(x).select(lambda x: x > 17), end, options)
    for other in (x, x[:18], x[::-1], x[:0]):
        with numpy.errstate(all="ignore"):
            same(plan(other), called(upsweep.view(other).select(lambda x: x > 17), end, options))


def test_several_arrays_and_booleans():
    x, y = numpy.array([1, 2, 3]), numpy.array([True, False, True])
    plan = upsweep.view(x, y).map(lambda x, y: upsweep.where(y, x, 0)).plan("sum")
    assert plan() == 4 and plan(x, ~y) == 2
    with pytest.raises(TypeError, match="others has items of uint8, the functions are of bool"):
        plan(x, y.astype("uint8"))
    with pytest.raises(TypeError, match="1 arrays are given for 2"):
        plan(x)
    with pytest.raises(ValueError, match="shape"):
        plan(x, y[:2])
    with pytest.raises(TypeError, match="x has items of int32"):
        plan(x.astype("int32"), y)
    with pytest.raises(TypeError, match="x is a list"):
        plan([1, 2, 3], y)
    assert repr(plan) == "Plan(sum of View(int64; 3 items))"


def test_results_go_where_the_caller_wants_them():
    x = numpy.arange(24, dtype="float32").reshape(4, 6)
    plan = upsweep.view(x).map(lambda x: x + 1).plan("array")
    room = numpy.zeros((6, 4), "float32").T
    assert plan(out=room) is room
    numpy.testing.assert_array_equal(room, x + 1)
    # An output that is read too is written when all has been read.
    for out in (x, x[::-1]):
        wanted = x + 1
        plan(out=out)
        numpy.testing.assert_array_equal(out, wanted)
    sums = upsweep.view(x).plan("cumulative_sum")
    with pytest.raises(ValueError, match=r"out has shape \[4, 6\], the result has \[24\]"):
        sums(out=numpy.zeros((4, 6), "float32"))
    flat = x.ravel()
    wanted = upsweep.cumulative_sum(flat)
    assert sums(flat, out=flat) is flat
    numpy.testing.assert_array_equal(flat, wanted)
    with pytest.raises(TypeError, match="out has items of float64"):
        sums(out=numpy.zeros(24))
    with pytest.raises(TypeError, match="take no out="):
        upsweep.view(x).select(lambda x: x > 3).plan("array")(out=x)


def test_what_is_no_plan():
    view = upsweep.view(numpy.arange(5))
    for arguments, options, why in [
        (("len",), {}, "no end len"),
        (("reduce",), {}, "reduce needs an operator"),
        (("sum", "max"), {}, "sum takes no operator"),
        (("sum",), {"initial": 3}, "sum takes none of initial="),
        (("reduce", "sum"), {"reverse": True}, "reduce takes none"),
        (("reduce", "mean"), {"initial": 1}, "takes no initial="),
        (("scan", "mean"), {}, "operator mean is not defined"),
        (("scan", "min"), {"initial": 1.5}, "initial|float"),
    ]:
        with pytest.raises((TypeError, ValueError), match=why):
            view.plan(*arguments, **options)
    with pytest.raises(TypeError, match="operator xor is not defined for f64"):
        upsweep.view(numpy.ones(3)).plan("reduce", "xor")
    with pytest.raises(TypeError, match="a plan scans all items"):
        view.select(lambda x: x > 1).plan("cumulative_sum")
    with pytest.raises(TypeError, match="2 values"):
        upsweep.view(numpy.arange(3), numpy.arange(3)).plan("sum")
    with pytest.raises(ValueError, match="of no items"):
        view.plan("max")(numpy.arange(0))
