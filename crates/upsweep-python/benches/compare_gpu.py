"""upsweep beside torch and CuPy on tensors of a GPU of CUDA's: `compare_gpu.py [N ...]`.

Each figure is the median of seven turns of several calls and a wait, by the host's clock, in microseconds of a call. Results are compared with those
of the CPU, bit for bit. Prints CSV.
"""

import statistics
import sys
import time

import cupy
import torch
import upsweep

TURNS = 7


@upsweep.operator(identity=0)
def last_set(left, right):
    """torch and CuPy have no such scan; beside it their sums are timed."""
    return upsweep.where(right == 0, left, right)


def median(call, calls):
    call()
    torch.cuda.synchronize()
    times = []
    for _ in range(TURNS):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / calls)
    return statistics.median(times) * 1e6


def main():
    print("job,items,upsweep_us,torch_us,cupy_us")
    for n in [int(text) for text in sys.argv[1:]] or [1 << 20, 1 << 28]:
        x = torch.rand(n, device="cuda")
        mask = x > 0.5
        own, own_mask = cupy.asarray(x), cupy.asarray(mask)
        jobs = {
            "sum": (lambda a, m: upsweep.sum(a), lambda: torch.sum(x), lambda: cupy.sum(own)),
            "cumulative_sum": (lambda a, m: upsweep.cumulative_sum(a), lambda: torch.cumsum(x, 0), lambda: cupy.cumsum(own)),
            "select": (lambda a, m: upsweep.select(a, m), lambda: x[mask], lambda: own[own_mask]),
            "sum of squares": (
                lambda a, m: upsweep.view(a).map(lambda a: a * a).sum(),
                lambda: (x * x).sum(),
                lambda: (own * own).sum(),
            ),
            "squares": (lambda a, m: upsweep.view(a).map(lambda a: a * a).array(), lambda: x * x, lambda: own * own),
            "select above 0.5": (
                lambda a, m: upsweep.view(a).select(lambda a: a > 0.5).array(),
                lambda: x[x > 0.5],
                lambda: own[own > 0.5],
            ),
            "sum, where": (
                lambda a, m: upsweep.sum(a, where=m),
                lambda: torch.where(mask, x, 0).sum(),
                lambda: cupy.where(own_mask, own, 0).sum(),
            ),
            "compact and sum": (
                lambda a, m: upsweep.compact(a, m).sum(),
                lambda: x[mask].sum(),
                lambda: own[own_mask].sum(),
            ),
            "any": (lambda a, m: upsweep.any(a), lambda: torch.any(x), lambda: cupy.any(own)),
            "scan by an operator": (
                lambda a, m: upsweep.scan(a, last_set),
                lambda: torch.cumsum(x, 0),
                lambda: cupy.cumsum(own),
            ),
        }
        for name, (ours, *theirs) in jobs.items():
            assert torch.equal(ours(x, mask).cpu(), ours(x.cpu(), mask.cpu())), name
            calls = max(1, min(100, (1 << 30) // n))
            times = [median(call, calls) for call in [lambda: ours(x, mask), *theirs]]
            print(name, n, *(f"{taken:.1f}" for taken in times), sep=",", flush=True)


main()
