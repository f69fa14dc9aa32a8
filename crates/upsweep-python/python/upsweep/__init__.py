"""Reduce, scan and select arrays in place, with the same bits on every device.

The functions have numpy's names and the array API's. They take arrays of numpy, torch, CuPy and JAX, and whatever has DLPack or the buffer
protocol, read them where they are, and give arrays of the same library. Floats are combined in the order that upsweep specifies.

Examples
--------
>>> import numpy, upsweep
>>> x = numpy.array([3, 200, 100], dtype="uint8")
>>> upsweep.cumulative_sum(x)
array([  3, 203, 303], dtype=uint64)
"""

import os as _os

from ._upsweep import (
    __version__,
    _after_fork,
    Array,
    Compacted,
    DeviceInfo,
    Operator,
    Plan,
    Report,
    Traced,
    View,
    absent,
    all,
    any,
    argmax,
    argmin,
    asarray,
    compact,
    count_nonzero,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    devices,
    explain,
    max,
    mean,
    min,
    nonzero,
    operator,
    partition,
    prod,
    reduce,
    reduce_by_key,
    run_length_encode,
    scan,
    segmented_reduce,
    segmented_scan,
    select,
    sum,
    tune,
    unique_consecutive,
    view,
    where,
)

# The threads of a process do not come along when it is forked.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_after_fork)

__all__ = [
    "Array",
    "Compacted",
    "DeviceInfo",
    "Operator",
    "Plan",
    "Report",
    "Traced",
    "View",
    "absent",
    "all",
    "any",
    "argmax",
    "argmin",
    "asarray",
    "compact",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "devices",
    "explain",
    "max",
    "mean",
    "min",
    "nonzero",
    "operator",
    "partition",
    "prod",
    "reduce",
    "reduce_by_key",
    "run_length_encode",
    "scan",
    "segmented_reduce",
    "segmented_scan",
    "select",
    "sum",
    "tune",
    "unique_consecutive",
    "view",
    "where",
]
