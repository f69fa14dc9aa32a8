"""What numpy takes for sums and scans of rows and columns: `axes.py [LOG2_ITEMS]`.

The shapes, turns and columns of CSV are those of crates/upsweep/examples/axes_figures.rs."""

import statistics
import sys
import time

import numpy as np

LENGTHS = [8, 32, 100, 1000, 1 << 14, 1 << 20]
TURNS = 5


def measure(call):
    """Seconds of a call, the median of several turns."""
    call()
    times = []
    for _ in range(TURNS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main():
    size = 1 << int(sys.argv[1] if len(sys.argv) > 1 else 24)
    print("job,items,ms,gbps,of_copy")
    for length in LENGTHS:
        for axis, way in [(1, "rows"), (0, "columns")]:
            count = size // length
            shape = (count, length) if axis else (length, count)
            items = (np.arange(count * length) % 1000 / 1000).astype(np.float32).reshape(shape)
            sums, prefixes = np.empty(count, np.float32), np.empty(shape, np.float32)
            limit = measure(lambda: np.copyto(prefixes, items))
            jobs = {
                "sum": (4, lambda: np.sum(items, axis=axis, out=sums)),
                "scan": (8, lambda: np.cumsum(items, axis=axis, out=prefixes)),
            }
            for job, (item_bytes, call) in jobs.items():
                taken = measure(call)
                rate = item_bytes * items.size / taken
                share = rate / (8 * items.size / limit)
                print(f"{job} of {way} of {length},{items.size},{taken * 1e3:.3f},{rate / 1e9:.0f},{share:.3f}")


main()
