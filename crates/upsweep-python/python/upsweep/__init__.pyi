import sys
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, final

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer

__version__: str

__all__ = [
    "Array",
    "Compacted",
    "DeviceInfo",
    "Operator",
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

class _DLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _OnCuda(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

# An id, or a stream of CUDA's.
_Device: TypeAlias = str | _CudaStream
_Array: TypeAlias = Buffer | _DLPack | _OnCuda
# Of the library of the input: a number or an array of numpy's, a tensor of torch's, an upsweep.Array.
_Result: TypeAlias = Any
_Dtype: TypeAlias = Any
_Number: TypeAlias = int | float
_Value: TypeAlias = "Traced | bool | int | float"
_Axis: TypeAlias = int | tuple[int, ...] | None
_Op: TypeAlias = Literal["sum", "prod", "product", "min", "max", "and", "or", "xor", "argmin", "argmax", "mean"]
_End: TypeAlias = Literal[
    "sum",
    "prod",
    "min",
    "max",
    "mean",
    "argmin",
    "argmax",
    "all",
    "any",
    "count_nonzero",
    "reduce",
    "cumulative_sum",
    "cumulative_prod",
    "scan",
    "array",
]

@final
class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def item(self) -> bool | int | float: ...
    def tolist(self) -> Any: ...
    def numpy(self) -> Any: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
        def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __len__(self) -> int: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...

@final
class DeviceInfo:
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def interface(self) -> str: ...
    @property
    def driver(self) -> str: ...
    @property
    def compute_units(self) -> int: ...
    @property
    def memory_bytes(self) -> int | None: ...
    @property
    def int64(self) -> bool: ...
    @property
    def float64(self) -> bool: ...

@final
class Report:
    @property
    def device(self) -> str: ...
    @property
    def primitive(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def items(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def strategy(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def limit_seconds(self) -> float: ...
    @property
    def percent_of_limit(self) -> float | None: ...
    @property
    def bound(self) -> Literal["bandwidth", "latency", "launch", "arithmetic"]: ...

def asarray(x: _Array, /, *, device: str = "cpu") -> Array: ...
def devices() -> list[DeviceInfo]: ...
def absent() -> dict[str, str]: ...
def tune(
    device: str = "cpu",
    *,
    quick: bool = False,
    budget: float | None = None,
    progress: Callable[[dict[str, str]], object] | None = None,
) -> str: ...
def explain(x: _Array, op: _Op = "sum", /, *, scan: bool = False, device: _Device | None = None) -> Report: ...
@final
class Traced:
    @property
    def dtype(self) -> str: ...
    def astype(self, dtype: _Dtype) -> Traced: ...
    def __neg__(self) -> Traced: ...
    def __pos__(self) -> Traced: ...
    def __abs__(self) -> Traced: ...
    def __invert__(self) -> Traced: ...
    def __add__(self, other: _Value, /) -> Traced: ...
    def __radd__(self, other: _Value, /) -> Traced: ...
    def __sub__(self, other: _Value, /) -> Traced: ...
    def __rsub__(self, other: _Value, /) -> Traced: ...
    def __mul__(self, other: _Value, /) -> Traced: ...
    def __rmul__(self, other: _Value, /) -> Traced: ...
    def __truediv__(self, other: _Value, /) -> Traced: ...
    def __rtruediv__(self, other: _Value, /) -> Traced: ...
    def __floordiv__(self, other: _Value, /) -> Traced: ...
    def __rfloordiv__(self, other: _Value, /) -> Traced: ...
    def __mod__(self, other: _Value, /) -> Traced: ...
    def __rmod__(self, other: _Value, /) -> Traced: ...
    def __pow__(self, other: _Value, /) -> Traced: ...
    def __rpow__(self, other: _Value, /) -> Traced: ...
    def __and__(self, other: _Value, /) -> Traced: ...
    def __rand__(self, other: _Value, /) -> Traced: ...
    def __or__(self, other: _Value, /) -> Traced: ...
    def __ror__(self, other: _Value, /) -> Traced: ...
    def __xor__(self, other: _Value, /) -> Traced: ...
    def __rxor__(self, other: _Value, /) -> Traced: ...
    def __lshift__(self, other: _Value, /) -> Traced: ...
    def __rlshift__(self, other: _Value, /) -> Traced: ...
    def __rshift__(self, other: _Value, /) -> Traced: ...
    def __rrshift__(self, other: _Value, /) -> Traced: ...
    def __eq__(self, other: _Value, /) -> Traced: ...  # type: ignore[override]
    def __ne__(self, other: _Value, /) -> Traced: ...  # type: ignore[override]
    def __lt__(self, other: _Value, /) -> Traced: ...  # type: ignore[override]
    def __le__(self, other: _Value, /) -> Traced: ...  # type: ignore[override]
    def __gt__(self, other: _Value, /) -> Traced: ...  # type: ignore[override]
    def __ge__(self, other: _Value, /) -> Traced: ...  # type: ignore[override]
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Traced: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Traced: ...

@final
class Operator:
    def __call__(self, left: Any, right: Any) -> Any: ...

@final
class View:
    def map(self, function: Callable[..., Traced | tuple[Traced, ...]]) -> View: ...
    def select(self, function: Callable[..., Traced]) -> View: ...
    def sum(self) -> _Result: ...
    def prod(self) -> _Result: ...
    def min(self) -> _Result: ...
    def max(self) -> _Result: ...
    def mean(self) -> _Result: ...
    def argmin(self) -> _Result: ...
    def argmax(self) -> _Result: ...
    def all(self) -> _Result: ...
    def any(self) -> _Result: ...
    def count_nonzero(self) -> _Result: ...
    def reduce(self, op: _Op | Operator, /, *, initial: _Number | None = None) -> _Result: ...
    def cumulative_sum(self) -> _Result: ...
    def cumulative_prod(self) -> _Result: ...
    def scan(
        self,
        op: _Op | Operator,
        /,
        *,
        exclusive: bool = False,
        reverse: bool = False,
        initial: _Number | None = None,
    ) -> _Result: ...
    def array(self) -> _Result: ...
    def plan(
        self,
        end: _End,
        op: _Op | Operator | None = None,
        /,
        *,
        initial: _Number | None = None,
        exclusive: bool = False,
        reverse: bool = False,
    ) -> Plan: ...
    def __len__(self) -> int: ...

@final
class Plan:
    def __call__(self, *arrays: _Array, out: _Array | None = None) -> _Result: ...

@final
class Compacted:
    @property
    def capacity(self) -> int: ...
    def array(self) -> _Result: ...
    def sum(self) -> _Result: ...
    def prod(self) -> _Result: ...
    def min(self) -> _Result: ...
    def max(self) -> _Result: ...
    def mean(self) -> _Result: ...
    def scan(self, op: _Op, /, *, exclusive: bool = False, reverse: bool = False) -> Compacted: ...
    def __len__(self) -> int: ...

def compact(x: _Array, mask: _Array | str, /, *, device: _Device | None = None) -> Compacted: ...
def view(x: _Array, /, *others: _Array, device: _Device | None = None) -> View: ...
def operator(function: Callable[[Traced, Traced], Traced] | None = None, /, *, identity: _Number, commutative: bool = False) -> Any: ...
def where(condition: _Value, x: _Value, y: _Value, /) -> Traced: ...
def sum(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    keepdims: bool = False,
    initial: _Number | None = None,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def prod(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    keepdims: bool = False,
    initial: _Number | None = None,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def min(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    keepdims: bool = False,
    initial: _Number | None = None,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def max(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    keepdims: bool = False,
    initial: _Number | None = None,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def reduce(
    x: _Array,
    op: _Op | Operator,
    /,
    axis: _Axis = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    keepdims: bool = False,
    initial: _Number | None = None,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def mean(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    keepdims: bool = False,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def argmin(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    out: _Array | None = None,
    keepdims: bool = False,
    device: _Device | None = None,
) -> _Result: ...
def argmax(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    out: _Array | None = None,
    keepdims: bool = False,
    device: _Device | None = None,
) -> _Result: ...
def all(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    out: _Array | None = None,
    keepdims: bool = False,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def any(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    out: _Array | None = None,
    keepdims: bool = False,
    where: _Array | None = None,
    device: _Device | None = None,
) -> _Result: ...
def count_nonzero(
    x: _Array,
    /,
    axis: _Axis = None,
    *,
    keepdims: bool = False,
    device: _Device | None = None,
) -> _Result: ...
def cumulative_sum(
    x: _Array,
    /,
    axis: int | None = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    include_initial: bool = False,
    device: _Device | None = None,
) -> _Result: ...
def cumulative_prod(
    x: _Array,
    /,
    axis: int | None = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    include_initial: bool = False,
    device: _Device | None = None,
) -> _Result: ...
def cumsum(
    x: _Array,
    /,
    axis: int | None = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    include_initial: bool = False,
    device: _Device | None = None,
) -> _Result: ...
def cumprod(
    x: _Array,
    /,
    axis: int | None = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    include_initial: bool = False,
    device: _Device | None = None,
) -> _Result: ...
def scan(
    x: _Array,
    op: _Op | Operator | None = None,
    /,
    axis: int | None = None,
    *,
    dtype: _Dtype = None,
    out: _Array | None = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: _Number | None = None,
    device: _Device | None = None,
) -> _Result: ...
def select(
    x: _Array,
    mask: _Array | str,
    /,
    *,
    device: _Device | None = None,
) -> _Result: ...
def partition(
    x: _Array,
    mask: _Array | str,
    /,
    *,
    device: _Device | None = None,
) -> tuple[_Result, int]: ...
def nonzero(
    x: _Array,
    /,
    *,
    device: _Device | None = None,
) -> tuple[_Result, ...]: ...
def unique_consecutive(
    x: _Array,
    /,
    *,
    device: _Device | None = None,
) -> _Result: ...
def run_length_encode(
    x: _Array,
    /,
    *,
    device: _Device | None = None,
) -> tuple[_Result, _Result]: ...
def segmented_reduce(
    x: _Array,
    op: _Op = "sum",
    /,
    *,
    offsets: _Array | None = None,
    flags: _Array | None = None,
    keys: _Array | None = None,
    dtype: _Dtype = None,
    initial: _Number | None = None,
    device: _Device | None = None,
) -> _Result: ...
def segmented_scan(
    x: _Array,
    op: _Op = "sum",
    /,
    *,
    offsets: _Array | None = None,
    flags: _Array | None = None,
    keys: _Array | None = None,
    dtype: _Dtype = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: _Number | None = None,
    device: _Device | None = None,
) -> _Result: ...
def reduce_by_key(
    keys: _Array,
    x: _Array,
    op: _Op = "sum",
    /,
    *,
    dtype: _Dtype = None,
    initial: _Number | None = None,
    device: _Device | None = None,
) -> tuple[_Result, _Result]: ...
