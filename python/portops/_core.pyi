# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Generic, TypedDict, TypeVar

A = TypeVar("A")

__version__: str

class Error(ValueError):
    """A wrong call, refused before anything was computed: the message says what was found, and what was expected."""

class Context:
    """Where and how calls run; what is None is said by the context around it or, in the end, by the arrays of a call and
    the environment. As an argument `context=`, or in a `with` block for the calls of this thread in it.

    Args:
        backend: "cuda", "openmp" or "serial"; else that of the first array's device.
        stream: the address of a CUDA stream; else the one that the array's library works on.
        deterministic: the same bits on every run and for any number of threads.
        math: "ieee", or "tf32": what f32 operands of matrix products may be rounded to.
        products: "automatic", "own" or "kokkos_kernels": who computes matrix products.
    """

    def __init__(
        self,
        *,
        backend: str | None = None,
        stream: int | None = None,
        deterministic: bool | None = None,
        math: str | None = None,
        products: str | None = None,
    ) -> None: ...
    @property
    def backend(self) -> str | None: ...
    @property
    def stream(self) -> int | None: ...
    @property
    def deterministic(self) -> bool | None: ...
    @property
    def math(self) -> str | None: ...
    @property
    def products(self) -> str | None: ...
    def fence(self) -> None:
        """Waits until all that was enqueued is done."""
    def __enter__(self) -> Context: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Levels:
    """How the rows of an array are divided into sequences, these into groups, and so on: levels of offsets, coarsest
    first (Paddle's level of detail)."""

    def __init__(self, offsets: Sequence[Sequence[int]]) -> None: ...
    @staticmethod
    def from_lengths(lengths: Sequence[int]) -> Levels:
        """One level, from the lengths of the sequences."""
    @property
    def depth(self) -> int:
        """The number of levels."""
    @property
    def rows(self) -> int:
        """The rows that the levels divide."""
    def offsets(self, level: int = -1) -> list[int]: ...
    def lengths(self, level: int = -1) -> list[int]: ...
    def upper(self) -> Levels | None:
        """All levels but the last."""

class Ragged(Generic[A]):
    """An array whose rows are divided into sequences."""

    def __init__(self, values: A, levels: Levels) -> None: ...
    @property
    def values(self) -> A: ...
    @property
    def levels(self) -> Levels: ...

class Operator:
    """An operator with its inputs, attributes, outputs and context in the order of the schema."""

    def __init__(self, name: str, in_autograd: bool = False) -> None: ...
    def __call__(self, *arguments: Any) -> Any: ...
    @property
    def name(self) -> str: ...

class DeviceEntry(TypedDict):
    backend: str
    name: str
    concurrency: int
    memory_bytes: int

def backends() -> list[str]:
    """The backends of this build, devices first."""

def devices() -> list[DeviceEntry]:
    """The devices of these backends."""

def element_types() -> list[str]:
    """The element types that this build computes with."""

def operators() -> list[str]: ...
def release(is_held: bool) -> None:
    """Waits for the calls of other threads, which begin no more of them, and lets go of what was kept: for the end of the
    interpreter. `is_held` says that something holds objects of this module for good, which is no leak then."""
