"""upsweep beside torch and CuPy on tensors of a GPU of CUDA's: `compare_gpu.py [N ...]`.

Calls take turns. A turn of a library is several calls and a wait, by the host's clock; a figure is the median of eleven turns, in microseconds of a
call. A plan writes to a tensor that is there. Results are compared with those of the CPU, bit for bit. Prints CSV.
"""

import statistics
import sys
import time

import cupy
import torch
import upsweep

TURNS = 11


@upsweep.operator(identity=0)
def last_set(left, right):
    """torch and CuPy have no such scan; beside it their sums are timed."""
    return upsweep.where(right == 0, left, right)


def medians(calls, times):
    """Microseconds of each call."""
    taken = [[] for _ in calls]
    for turn in range(-1, TURNS):
        for call, own in zip(calls, taken):
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(times):
                call()
            torch.cuda.synchronize()
            if turn >= 0:
                own.append((time.perf_counter() - began) / times)
    return [statistics.median(own) * 1e6 for own in taken]


def squares(x):
    return upsweep.view(x).map(lambda x: x * x)


def above(x):
    return upsweep.view(x).select(lambda x: x > 0.5)


# By the name of a job: the call; the same on torch's tensors and on CuPy's arrays; and what is planned, if it is a view.
JOBS = {
    "sum": (lambda x, m: upsweep.sum(x), lambda x, m: torch.sum(x), lambda x, m: cupy.sum(x), None),
    "cumulative_sum": (lambda x, m: upsweep.cumulative_sum(x), lambda x, m: torch.cumsum(x, 0), lambda x, m: cupy.cumsum(x), None),
    "select": (lambda x, m: upsweep.select(x, m), lambda x, m: x[m], lambda x, m: x[m], None),
    "sum of squares": (
        lambda x, m: squares(x).sum(),
        lambda x, m: (x * x).sum(),
        lambda x, m: (x * x).sum(),
        lambda x: squares(x).plan("sum"),
    ),
    "squares": (lambda x, m: squares(x).array(), lambda x, m: x * x, lambda x, m: x * x, lambda x: squares(x).plan("array")),
    "sums of squares": (
        lambda x, m: squares(x).cumulative_sum(),
        lambda x, m: torch.cumsum(x * x, 0),
        lambda x, m: cupy.cumsum(x * x),
        lambda x: squares(x).plan("cumulative_sum"),
    ),
    "select above 0.5": (lambda x, m: above(x).array(), lambda x, m: x[x > 0.5], lambda x, m: x[x > 0.5], None),
    "sum where": (
        lambda x, m: upsweep.sum(x, where=m),
        lambda x, m: torch.where(m, x, 0).sum(),
        lambda x, m: cupy.where(m, x, 0).sum(),
        None,
    ),
    "compact and sum": (lambda x, m: upsweep.compact(x, m).sum(), lambda x, m: x[m].sum(), lambda x, m: x[m].sum(), None),
    "any": (lambda x, m: upsweep.any(x), lambda x, m: torch.any(x), lambda x, m: cupy.any(x), None),
    "scan by an operator": (
        lambda x, m: upsweep.scan(x, last_set),
        lambda x, m: torch.cumsum(x, 0),
        lambda x, m: cupy.cumsum(x),
        lambda x: upsweep.view(x).plan("scan", last_set),
    ),
}


def main():
    print("job,items,upsweep_us,torch_us,cupy_us,plan_us")
    for n in [int(text) for text in sys.argv[1:]] or [1 << 20, 1 << 28]:
        x = torch.rand(n, device="cuda")
        mask = x > 0.5
        arrays = (x, mask), (x, mask), (cupy.asarray(x), cupy.asarray(mask))
        for name, (*libraries, planned) in JOBS.items():
            ours = libraries[0]
            wanted = ours(x.cpu(), mask.cpu())
            assert torch.equal(ours(x, mask).cpu(), wanted), name
            calls = [lambda call=call, own=own: call(*own) for call, own in zip(libraries, arrays)]
            if planned:
                plan, room = planned(x), torch.empty_like(wanted, device="cuda")
                assert torch.equal(plan(x, out=room).cpu(), wanted), name
                calls.append(lambda: plan(x, out=room))
            times = medians(calls, max(1, min(100, (1 << 30) // n)))
            print(name, n, *(f"{taken:.1f}" for taken in times), *([] if planned else [""]), sep=",", flush=True)


main()
