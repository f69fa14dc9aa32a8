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
        }
        for name, (ours, *theirs) in jobs.items():
            assert torch.equal(ours(x, mask).cpu(), ours(x.cpu(), mask.cpu())), name
            calls = max(1, min(100, (1 << 30) // n))
            times = [median(call, calls) for call in [lambda: ours(x, mask), *theirs]]
            print(name, n, *(f"{taken:.1f}" for taken in times), sep=",", flush=True)


main()
