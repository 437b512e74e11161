# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of portops.torch share: calls of every operator, and where they run. Raises SkipTest without PyTorch."""

from __future__ import annotations

import unittest
from typing import Any, Callable, NamedTuple

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch cannot be imported: {error}") from error

import portops
import portops.torch as pt
from torch import Tensor

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and "cuda" in portops.backends() else [])
LEVELS = portops.Levels.from_lengths([2, 0, 3])
DEEP = portops.Levels([[0, 2, 3], [0, 2, 2, 5]])
TIMES = portops.Levels.from_lengths([2, 1, 0])


def ragged(x: Tensor, levels: portops.Levels = LEVELS) -> Any:
    return portops.Ragged(x, levels)


class Case(NamedTuple):
    """A function of tensors, their extents, and what PyTorch computes in its place."""

    call: Callable[..., Any]
    extents: tuple[tuple[int, ...], ...]
    expected: Callable[..., Any]


def _pieces(x: Tensor) -> list[Tensor]:
    return list(torch.split(x, [2, 0, 3]))


def _padded(x: Tensor) -> Tensor:
    return torch.stack([torch.cat([piece, x.new_full((3 - len(piece), x.shape[1]), 0.5)]) for piece in _pieces(x)])


def _pooled(reduce: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.stack([reduce(each) if len(each) else x.new_zeros(x.shape[1]) for each in _pieces(x)])


def cases() -> dict[str, Case]:
    three = ((4, 3), (3,), (4, 1))
    rows = ((5, 2),)
    return {
        "lerp": Case(pt.lerp, three, torch.lerp),
        "lerp_number": Case(lambda x, y: pt.lerp(x, y, 0.3), ((4, 3), (4, 3)), lambda x, y: torch.lerp(x, y, 0.3)),
        "add": Case(pt.add, three[:2], torch.add),
        "add_number": Case(lambda x: pt.add(x, 1.5), three[:1], lambda x: x + 1.5),
        "subtract": Case(pt.subtract, three[:2], torch.subtract),
        "subtract_number": Case(lambda x: pt.subtract(x, 1.5), three[:1], lambda x: x - 1.5),
        "multiply": Case(pt.multiply, three[1:], torch.multiply),
        "multiply_number": Case(lambda x: pt.multiply(x, 2), three[:1], lambda x: x * 2),
        "divide": Case(pt.divide, three[1:], torch.divide),
        "divide_number": Case(lambda x: pt.divide(x, 2), three[:1], lambda x: x / 2),
        "relu": Case(lambda x: pt.relu(x - 1), three[:1], lambda x: torch.relu(x - 1)),
        "clip": Case(lambda x: pt.clip(x, 0.5, 1.0), three[:1], lambda x: torch.clip(x, 0.5, 1.0)),
        "clip_below": Case(lambda x: pt.clip(x, 0.5), three[:1], lambda x: torch.clip(x, 0.5)),
        "gelu": Case(pt.gelu, three[:1], torch.nn.functional.gelu),
        "gelu_tanh": Case(
            lambda x: pt.gelu(x, approximate="tanh"),
            three[:1],
            lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        ),
        # PyTorch's own have the sixth of f32 in f64 too.
        "hard_sigmoid": Case(pt.hard_sigmoid, three[:1], lambda x: torch.clip(x + 3, 0, 6) / 6),
        "hard_swish": Case(pt.hard_swish, three[:1], lambda x: x * torch.clip(x + 3, 0, 6) / 6),
        "silu": Case(pt.silu, three[:1], torch.nn.functional.silu),
        "sigmoid": Case(pt.sigmoid, three[:1], torch.sigmoid),
        "tanh": Case(pt.tanh, three[:1], torch.tanh),
        **{
            f"p_norm_{order}": Case(
                lambda x, order=order: pt.p_norm(x, order, axis=[0, 2], keepdim=True, epsilon=0.0),
                ((3, 2, 4),),
                lambda x, order=order: torch.linalg.vector_norm(x, order, (0, 2), True),
            )
            for order in (0.0, 1.0, 2.0, 3.5, float("inf"))
        },
        "p_norm_vector": Case(
            lambda x: pt.p_norm(x, "fro", asvector=True, epsilon=0), ((3, 4),), torch.linalg.vector_norm
        ),
        "dropout": Case(
            lambda x: pt.dropout(x, p=0.25, seed=3),
            ((4, 3),),
            lambda x: x * pt.dropout(torch.ones_like(x), p=0.25, seed=3).detach(),
        ),
        "transpose": Case(lambda x: pt.transpose(x, [2, 0, 1]), ((3, 2, 4),), lambda x: x.permute(2, 0, 1)),
        "slice": Case(lambda x: pt.slice(x, [1], [1], [4], [2]), ((3, 5),), lambda x: x[:, 1:4:2]),
        "matmul": Case(pt.matmul, ((2, 1, 3, 4), (3, 4, 2)), torch.matmul),
        "matmul_transposed": Case(
            lambda x, y: pt.matmul(x, y, True, True), ((4, 3), (2, 5, 4)), lambda x, y: x.mT @ y.mT
        ),
        "matmul_vector": Case(pt.matmul, ((4,), (2, 4, 3)), torch.matmul),
        "linear": Case(pt.linear, ((2, 3, 4), (4, 5), (5,)), lambda x, w, b: torch.nn.functional.linear(x, w.mT, b)),
        "linear_without_bias": Case(pt.linear, ((3, 4), (4, 5)), lambda x, w: torch.nn.functional.linear(x, w.mT)),
        "reshape": Case(lambda x: pt.reshape(x, [0, -1, 2]), ((3, 4),), lambda x: x.reshape(3, 2, 2)),
        "trace": Case(lambda x: pt.trace(x, 1, -1, 0), ((3, 2, 4),), lambda x: x.diagonal(1, -1, 0).sum(-1)),
        "sum": Case(lambda x: pt.sum(x, [0, -1], True), ((3, 2, 4),), lambda x: x.sum((0, -1), True)),
        "sum_all": Case(pt.sum, ((3, 4),), torch.sum),
        "mean": Case(lambda x: pt.mean(x, [1]), ((3, 2, 4),), lambda x: x.mean(1)),
        "softmax": Case(lambda x: pt.softmax(x, 1), ((3, 2, 4),), lambda x: x.softmax(1)),
        "cross_entropy_with_softmax": Case(
            lambda x: pt.cross_entropy_with_softmax(x, torch.tensor([[2, 1], [-100, 0]], device=x.device), axis=1).loss,
            ((2, 3, 2),),
            lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([[2, 1], [-100, 0]], device=x.device)),
        ),
        "cross_entropy_with_softmax_soft": Case(
            lambda x: pt.cross_entropy_with_softmax(x, _soft_labels(x), True, reduction="none").loss,
            ((4, 3),),
            lambda x: torch.nn.functional.cross_entropy(x, _soft_labels(x), reduction="none"),
        ),
        "layer_norm": Case(
            lambda x, scale, bias: pt.layer_norm(x, scale, bias, begin_norm_axis=1).out,
            ((5, 3, 4), (3, 4), (3, 4)),
            lambda x, scale, bias: torch.nn.functional.layer_norm(x, (3, 4), scale, bias),
        ),
        "layer_norm_plain": Case(
            lambda x: pt.layer_norm(x, epsilon=1e-3).out, ((5, 4),), lambda x: torch.nn.functional.layer_norm(x, (4,), eps=1e-3)
        ),
        "batch_norm": Case(
            lambda x, scale, bias: pt.batch_norm(x, *_statistics(x), scale, bias).out,
            ((5, 3, 4), (3,), (3,)),
            lambda x, scale, bias: torch.nn.functional.batch_norm(x, None, None, scale, bias, True),
        ),
        "batch_norm_is_test": Case(
            lambda x, scale: pt.batch_norm(x, *_statistics(x), scale, is_test=True).out,
            ((5, 3, 4), (3,)),
            lambda x, scale: torch.nn.functional.batch_norm(x, *_statistics(x), scale),
        ),
        "conv2d": Case(
            lambda x, w, b: pt.conv2d(x, w, b, [2, 1], [1, 0], [1, 2], 2),
            ((2, 4, 5, 6), (6, 2, 3, 2), (6,)),
            lambda x, w, b: torch.nn.functional.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2),
        ),
        "conv2d_without_bias": Case(
            lambda x, w: pt.conv2d(x, w, padding=[1, 1]),
            ((2, 3, 4, 5), (2, 3, 3, 3)),
            lambda x, w: torch.nn.functional.conv2d(x, w, padding=1),
        ),
        "pool2d_max": Case(
            lambda x: pt.pool2d(x, [3, 2], 2, 1).out, ((2, 3, 6, 5),), lambda x: torch.max_pool2d(x, [3, 2], 2, 1)
        ),
        "pool2d_avg": Case(
            lambda x: pt.pool2d(x, 3, 2, 1, True, False, "avg").out,
            ((2, 3, 6, 5),),
            lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, 1, True, True),
        ),
        "pool2d_global": Case(
            lambda x: pt.pool2d(x, pooltype="avg", global_pooling=True).out,
            ((2, 3, 6, 5),),
            lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 1),
        ),
        "embedding": Case(
            lambda x: pt.embedding(x, torch.tensor([[2, 0], [2, 1]], device=x.device)),
            ((3, 4),),
            lambda x: torch.nn.functional.embedding(torch.tensor([[2, 0], [2, 1]], device=x.device), x),
        ),
        "concat": Case(lambda x, y: pt.concat([x, y], 1), ((2, 3), (2, 1)), lambda x, y: torch.cat([x, y], 1)),
        "split": Case(lambda x: pt.split(x, [1, -1], 1), ((2, 4),), lambda x: torch.split(x, [1, 3], 1)),
        "sequence_pool_sum": Case(lambda x: pt.sequence_pool(ragged(x), "sum").out, rows, _pooled(lambda x: x.sum(0))),
        "sequence_pool_max": Case(lambda x: pt.sequence_pool(ragged(x), "max").out, rows, _pooled(lambda x: x.max(0)[0])),
        "sequence_pool_deep": Case(
            lambda x: pt.sequence_pool(ragged(x, DEEP)).out.values, rows, _pooled(lambda x: x.mean(0))
        ),
        "sequence_expand": Case(
            lambda x: pt.sequence_expand(ragged(x), TIMES).values,
            rows,
            lambda x: torch.cat([x[:2], x[:2]]),
        ),
        "sequence_expand_rows": Case(
            lambda x: pt.sequence_expand(x, TIMES).values, ((3, 2),), lambda x: torch.stack([x[0], x[0], x[1]])
        ),
        "sequence_pad": Case(lambda x: pt.sequence_pad(ragged(x), pad_value=0.5).out, rows, _padded),
        "sequence_unpad": Case(
            lambda x: pt.sequence_unpad(x, LEVELS).values, ((3, 4, 2),), lambda x: torch.cat([x[0, :2], x[2, :3]])
        ),
        "sequence_reverse": Case(
            lambda x: pt.sequence_reverse(ragged(x)).values, rows, lambda x: torch.cat([e.flip(0) for e in _pieces(x)])
        ),
        "sequence_softmax": Case(
            lambda x: pt.sequence_softmax(ragged(x)).values,
            rows,
            lambda x: torch.cat([e.softmax(0) for e in _pieces(x)]),
        ),
        "sequence_concat": Case(
            lambda x, y: pt.sequence_concat([ragged(x), ragged(y, portops.Levels.from_lengths([0, 1, 1]))]).values,
            ((5, 2), (2, 2)),
            lambda x, y: torch.cat([x[:2], y[:1], x[2:], y[1:]]),
        ),
    }


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """A running mean and variance of three channels, of the type in which x is summed."""
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    mean, variance = torch.tensor([[0.25, -0.5, 0.125], [0.5, 1.5, 2.0]], dtype=dtype, device=x.device)
    return mean, variance


def _soft_labels(x: Tensor) -> Tensor:
    """Numbers that every type has, with other sums than 1."""
    return torch.arange(x.numel(), dtype=x.dtype, device=x.device).view(x.shape) / 16


def operands(case: Case, device: str, dtype: torch.dtype = torch.float64, grad: bool = True) -> list[Tensor]:
    generator = torch.Generator().manual_seed(7)
    made = [torch.rand(extents, generator=generator, dtype=torch.float64) + 0.25 for extents in case.extents]
    return [each.to(device, dtype).requires_grad_(grad) for each in made]


def as_list(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, (list, tuple)) else [result]
