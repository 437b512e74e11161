# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of every operator that is no gradient, with what NumPy makes of the same arguments in float64."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import numpy as np
import portops


@dataclasses.dataclass
class Case:
    """Arguments by name, and what the outputs are, in their order. `in_place`: input and output that may be one array.
    `sums`: the arguments of the type of sums."""

    arguments: dict[str, Any]
    expected: Callable[..., Any]
    in_place: tuple[tuple[str, str], ...] = ()
    sums: tuple[str, ...] = ()


def _random(*extents: int) -> np.ndarray:
    return np.random.default_rng(sum(extents)).uniform(0.25, 2.0, extents)


LEVELS = portops.Levels.from_lengths([2, 0, 3])
LENGTHS = LEVELS.lengths()
OFFSETS = LEVELS.offsets()
ROWS = np.array([3, 0, 3, 5], np.int64)


def _pieces(values: np.ndarray) -> list[np.ndarray]:
    return [values[OFFSETS[i] : OFFSETS[i + 1]] for i in range(len(LENGTHS))]


def _sampled(x: np.ndarray, down: float, across: float) -> np.ndarray:
    """The channels of an image at a place, bilinear, 0 outside."""
    top, left = int(np.floor(down)), int(np.floor(across))
    total = np.zeros(x.shape[0])
    for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
            total += x[:, row, column] * (1 - abs(down - row)) * (1 - abs(across - column))
    return total


def _deform_conv2d(x, offset, weight, mask, bias, padding) -> np.ndarray:
    out = np.zeros((x.shape[0], weight.shape[0], *offset.shape[2:]))
    taps = weight.shape[3]
    for n, i, j in np.ndindex(x.shape[0], *offset.shape[2:]):
        for k, m in np.ndindex(*weight.shape[2:]):
            tap = k * taps + m
            at = i - padding[0] + k + offset[n, 2 * tap, i, j], j - padding[1] + m + offset[n, 2 * tap + 1, i, j]
            out[n, :, i, j] += weight[:, :, k, m] @ (_sampled(x[n], *at) * mask[n, tap, i, j])
    return out + bias[:, None, None]


def _merged(rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = sorted(set(rows.tolist()))
    return (
        np.array(places),
        np.stack([values[rows == place].sum(0) for place in places]),
        np.array(len(places)),
    )


def _momentum(param, rows, values, velocity, learning_rate, mu):
    param, velocity = param.copy(), velocity.copy()
    places, merged, _ = _merged(rows, values)
    velocity[places] = mu * velocity[places] + merged
    param[places] -= learning_rate * velocity[places]
    return param, velocity


def _adam(param, rows, values, moment1, moment2, learning_rate, beta1_pow, beta2_pow):
    param, moment1, moment2 = param.copy(), moment1.copy(), moment2.copy()
    places, merged, _ = _merged(rows, values)
    moment1[places] = 0.9 * moment1[places] + 0.1 * merged
    moment2[places] = 0.999 * moment2[places] + 0.001 * merged**2
    rate = learning_rate * np.sqrt(1 - beta2_pow) / (1 - beta1_pow)
    param[places] -= rate * moment1[places] / (np.sqrt(moment2[places]) + 1e-8 * np.sqrt(1 - beta2_pow))
    return param, moment1, moment2


def _list(*extents: tuple[int, ...]) -> list[np.ndarray]:
    return [_random(*each) for each in extents]


def _dense_momentum(param, grad, velocity, learning_rate, mu):
    velocity = [mu * v + g for v, g in zip(velocity, grad)]
    return [p - learning_rate * v for p, v in zip(param, velocity)], velocity, None


def _dense_adam(param, grad, moment1, moment2, learning_rate, beta1_pow, beta2_pow, weight_decay, decoupled_weight_decay):
    moment1 = [0.9 * m + 0.1 * g for m, g in zip(moment1, grad)]
    moment2 = [0.999 * v + 0.001 * g * g for v, g in zip(moment2, grad)]
    steps = [m / (1 - beta1_pow) / (np.sqrt(v / (1 - beta2_pow)) + 1e-8) for m, v in zip(moment1, moment2)]
    param = [p * (1 - learning_rate * weight_decay) - learning_rate * s for p, s in zip(param, steps)]
    return param, moment1, moment2, None, None, None


def _random_words(count: int, seed: int, offset: int) -> np.ndarray:
    """Philox4x32 with ten rounds, of the counters (i / 4, offset)."""
    mask, blocks = np.uint64(0xFFFFFFFF), np.arange((count + 3) // 4, dtype=np.uint64)
    counter = [blocks, 0 * blocks, 0 * blocks + np.uint64(offset), 0 * blocks]
    key = np.array([seed, 0], np.uint64)
    for _ in range(10):
        a, b = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [(b >> np.uint64(32)) ^ counter[1] ^ key[0], b & mask, (a >> np.uint64(32)) ^ counter[3] ^ key[1], a & mask]
        key = (key + np.array([0x9E3779B9, 0xBB67AE85], np.uint64)) & mask
    return np.stack(counter, 1).reshape(-1)[:count]


def _padded(values: np.ndarray) -> tuple[np.ndarray, None]:
    out = np.full((len(LENGTHS), max(LENGTHS), *values.shape[1:]), 7.0)
    for row, piece in zip(out, _pieces(values)):
        row[: len(piece)] = piece
    return out, None


def _conv2d(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, stride: list[int], groups: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))[:, :, :: stride[0], :: stride[1]]
    parts = zip(np.split(windows, groups, 1), np.split(weight, groups))
    return np.concatenate([np.einsum("nchwkl,mckl->nmhw", *part) for part in parts], 1) + bias[:, None, None]


def _gelu(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _normalized(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mean = x.mean(axes, keepdims=True)
    inv_std = 1 / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    return (x - mean) * inv_std, mean.squeeze(axes), inv_std.squeeze(axes)


def _layer_norm(x, scale, bias, begin_norm_axis):
    normal, mean, inv_std = _normalized(x, (2,))
    return normal * scale + bias, mean, inv_std


def _batch_norm(x, mean, variance, scale, bias, data_layout):
    normal, saved_mean, saved_inv_std = _normalized(x, (0, 1))
    return normal * scale + bias, saved_mean, saved_inv_std, None, None


def _softmax(values: np.ndarray) -> np.ndarray:
    parts = [np.exp(piece) / np.exp(piece).sum(0) for piece in _pieces(values)]
    return np.concatenate(parts)


X = ("x", "out")

CASES: dict[str, Case] = {
    "lerp": Case(
        {"x": _random(3, 4), "y": _random(4), "weight": _random(3, 1)}, lambda x, y, weight: x + weight * (y - x), (X,)
    ),
    "p_norm": Case({"x": _random(3, 4, 5), "porder": 3.0, "axis": (0, -1)}, lambda x, **_: (x**3).sum((0, 2)) ** (1 / 3)),
    "deform_conv2d": Case(
        {
            "x": _random(2, 3, 5, 4),
            "offset": _random(2, 18, 5, 4) - 1.1,
            "weight": _random(2, 3, 3, 3),
            "mask": _random(2, 9, 5, 4),
            "bias": _random(2),
            "padding": 1,
        },
        lambda x, offset, weight, mask, bias, padding: _deform_conv2d(x, offset, weight, mask, bias, (1, 1)),
    ),
    "conv2d": Case(
        {"x": _random(2, 4, 6, 5), "weight": _random(6, 2, 3, 2), "bias": _random(6), "stride": [2, 1], "groups": 2},
        lambda x, weight, bias, stride, groups: _conv2d(x, weight, bias, stride, groups),
    ),
    "pool2d": Case(
        {"x": _random(2, 3, 4, 6), "kernel_size": [2, 3], "pooltype": "avg"},
        lambda x, kernel_size, pooltype: (x.reshape(2, 3, 2, 2, 2, 3).mean((3, 5)), None),
    ),
    "add": Case({"x": _random(3, 4), "y": _random(3, 1)}, lambda x, y: x + y, (X,)),
    "subtract": Case({"x": _random(3, 4), "y": _random(3, 1)}, lambda x, y: x - y, (X,)),
    "multiply": Case({"x": _random(3, 4), "y": 2.5}, lambda x, y: x * y, (X,)),
    "dropout": Case(
        {"x": _random(5, 7), "step": np.array(2), "p": 0.25, "seed": 3, "offset": 5},
        lambda x, step, p, seed, offset: x / (1 - p) * (_random_words(x.size, seed, offset + step) >= p * 2**32).reshape(x.shape),
        (X,),
    ),
    "transpose": Case({"x": _random(3, 4, 2), "perm": [2, 0, -2]}, lambda x, perm: x.transpose(perm)),
    "slice": Case(
        {"x": _random(5, 4, 6), "axes": [0, -1], "starts": [1, 5], "ends": [-1, 0], "strides": [1, -2]},
        lambda x, **_: x[1:-1, :, 5:0:-2],
    ),
    "divide": Case({"x": _random(3, 4), "y": _random(4)}, lambda x, y: x / y, (X,)),
    "relu": Case({"x": _random(3, 4) - 1}, lambda x: np.maximum(x, 0), (X,)),
    "clip": Case({"x": _random(3, 4), "min": 0.5, "max": 1.5}, lambda x, min, max: np.clip(x, min, max), (X,)),
    "gelu": Case({"x": _random(3, 4) - 1, "approximate": "tanh"}, lambda x, approximate: _gelu(x), (X,)),
    "hard_sigmoid": Case(
        {"x": 4 * _random(3, 4) - 4, "slope": 0.25}, lambda x, slope: np.clip(slope * x + 0.5, 0, 1), (X,)
    ),
    "hard_swish": Case({"x": 4 * _random(3, 4) - 4}, lambda x: x * np.clip(x + 3, 0, 6) / 6, (X,)),
    "silu": Case({"x": _random(3, 4) - 1}, lambda x: x / (1 + np.exp(-x)), (X,)),
    "sigmoid": Case({"x": _random(3, 4) - 1}, lambda x: 1 / (1 + np.exp(-x)), (X,)),
    "tanh": Case({"x": _random(3, 4) - 1}, lambda x: np.tanh(x), (X,)),
    "matmul": Case(
        {"x": _random(2, 1, 5, 3), "y": _random(4, 6, 5), "transpose_x": True, "transpose_y": True},
        lambda x, y, **_: x.swapaxes(-1, -2) @ y.swapaxes(-1, -2),
    ),
    "linear": Case(
        {"x": _random(2, 3, 5), "weight": _random(5, 4), "bias": _random(4)}, lambda x, weight, bias: x @ weight + bias
    ),
    "reshape": Case({"x": _random(3, 4), "shape": [2, -1]}, lambda x, shape: x.reshape(shape), ()),
    "trace": Case({"x": _random(3, 4, 2), "offset": 1}, lambda x, offset: np.trace(x, offset)),
    "sum": Case({"x": _random(3, 4, 2), "axis": (0, -1)}, lambda x, axis: x.sum((0, 2))),
    "mean": Case({"x": _random(3, 4, 2), "keepdim": True}, lambda x, keepdim: x.mean(keepdims=True)),
    "softmax": Case(
        {"x": _random(3, 4), "axis": 0}, lambda x, axis: np.exp(x) / np.exp(x).sum(0, keepdims=True), (X,)
    ),
    "cross_entropy_with_softmax": Case(
        {"logits": _random(4, 3), "label": np.array([2, -1, 0, 2]), "ignore_index": -1, "reduction": "sum"},
        lambda logits, **_: (sum(np.log(np.exp(logits[i]).sum()) - logits[i, c] for i, c in ((0, 2), (2, 0), (3, 2))), None, None),
    ),
    "layer_norm": Case(
        {"x": _random(3, 2, 5), "scale": _random(5), "bias": 6 + _random(5), "begin_norm_axis": -1}, _layer_norm, (X,)
    ),
    "batch_norm": Case(
        {
            "x": _random(3, 2, 5),
            "mean": _random(5),
            "variance": _random(5),
            "scale": _random(5),
            "bias": 6 + _random(5),
            "data_layout": "NHWC",
        },
        _batch_norm,
        (X,),
        ("mean", "variance"),
    ),
    "merge_rows": Case({"rows": ROWS, "values": _random(4, 2), "height": 6}, lambda rows, values, height: _merged(rows, values)),
    "sparse_sgd": Case(
        {"param": _random(6, 2), "rows": ROWS, "values": _random(4, 2), "learning_rate": 0.5},
        lambda param, rows, values, learning_rate: _momentum(param, rows, values, 0 * param, learning_rate, 0)[0],
        (("param", "param_out"),),
    ),
    "sparse_momentum": Case(
        {"param": _random(6, 2), "rows": ROWS, "values": _random(4, 2), "velocity": _random(6, 2), "learning_rate": 0.5, "mu": 0.75},
        _momentum,
        (("param", "param_out"), ("velocity", "velocity_out")),
    ),
    "sparse_adam": Case(
        {
            "param": _random(6, 2),
            "rows": ROWS,
            "values": _random(4, 2),
            "moment1": _random(6, 2),
            "moment2": _random(6, 2),
            "learning_rate": 0.5,
            "beta1_pow": 0.9,
            "beta2_pow": 0.999,
        },
        _adam,
        (("param", "param_out"), ("moment1", "moment1_out"), ("moment2", "moment2_out")),
    ),
    "sgd": Case(
        {"param": _list((3, 4), (5,)), "grad": _list((3, 4), (5,)), "learning_rate": 0.5},
        lambda param, grad, learning_rate: ([p - learning_rate * g for p, g in zip(param, grad)], None),
        (("param", "param_out"),),
    ),
    "momentum": Case(
        {"param": _list((3, 4), (5,)), "grad": _list((3, 4), (5,)), "velocity": _list((3, 4), (5,)), "learning_rate": 0.5, "mu": 0.75},
        _dense_momentum,
        (("param", "param_out"), ("velocity", "velocity_out")),
        ("velocity",),
    ),
    "adam": Case(
        {
            "param": _list((3, 4), (5,)),
            "grad": _list((3, 4), (5,)),
            "moment1": _list((3, 4), (5,)),
            "moment2": _list((3, 4), (5,)),
            "learning_rate": 0.5,
            "beta1_pow": 0.9,
            "beta2_pow": 0.999,
            "weight_decay": 0.1,
            "decoupled_weight_decay": True,
        },
        _dense_adam,
        (("param", "param_out"), ("moment1", "moment1_out"), ("moment2", "moment2_out")),
        ("moment1", "moment2"),
    ),
    "count_nonfinite": Case({"x": [np.array([1.0, np.inf, np.nan]), _random(3, 4)]}, lambda x: np.array(2)),
    "update_loss_scale": Case(
        {
            "scale": np.array(1024.0),
            "good_steps": np.array(1999),
            "nonfinite": [np.array(0), np.array(0)],
            "largest": 1536.0,
        },
        lambda scale, good_steps, nonfinite, largest: (np.array(1536.0), np.array(0), None, None),
        (("scale", "scale_out"), ("good_steps", "good_steps_out")),
    ),
    "full_like": Case({"x": _random(3, 4), "fill_value": 0.25}, lambda x, fill_value: np.full_like(x, fill_value)),
    "embedding": Case({"weight": _random(6, 2), "ids": ROWS.reshape(2, 2)}, lambda weight, ids: weight[ids]),
    "embedding_sparse_gradient": Case(
        {"weight": _random(6, 2), "ids": ROWS.reshape(2, 2), "out_grad": _random(2, 2, 2), "padding_idx": int(ROWS[0])},
        lambda weight, ids, out_grad, padding_idx: _merged(ids[ids != padding_idx], out_grad[ids != padding_idx]),
    ),
    "concat": Case({"x": [_random(3, 4), _random(3, 2)], "axis": 1}, lambda x, axis: np.concatenate(x, axis)),
    "split": Case({"x": _random(3, 6), "sections": [1, -1, 2], "axis": 1}, lambda x, sections, axis: [x[:, :1], x[:, 1:4], x[:, 4:]]),
    "sequence_pool": Case(
        {"x": portops.Ragged(_random(5, 2), LEVELS), "pooltype": "sum"},
        lambda x, pooltype: (np.stack([piece.sum(0) for piece in _pieces(x)]), None),
    ),
    "sequence_expand": Case({"x": _random(3, 2), "y": LEVELS}, lambda x, y: np.repeat(x, LENGTHS, 0)),
    "sequence_pad": Case({"x": portops.Ragged(_random(5, 2), LEVELS), "pad_value": 7.0}, lambda x, pad_value: _padded(x)),
    "sequence_unpad": Case(
        {"x": _random(3, 4, 2), "length": LEVELS},
        lambda x, length: np.concatenate([row[:n] for row, n in zip(x, LENGTHS)]),
    ),
    "sequence_reverse": Case(
        {"x": portops.Ragged(_random(5, 2), LEVELS)}, lambda x: np.concatenate([piece[::-1] for piece in _pieces(x)])
    ),
    "sequence_softmax": Case({"x": portops.Ragged(_random(5, 2), LEVELS)}, lambda x: _softmax(x)),
    "sequence_concat": Case(
        {"x": [portops.Ragged(_random(5, 2), LEVELS), portops.Ragged(_random(5, 2) + 1, LEVELS)]},
        lambda x: np.concatenate([piece for pair in zip(*map(_pieces, x)) for piece in pair]),
    ),
}


def changed(value: Any, convert: Callable[[np.ndarray], Any]) -> Any:
    """The argument, or outputs, with every array changed."""
    if isinstance(value, (list, tuple)) and not isinstance(value, str) and any(not isinstance(item, (int, float)) for item in value):
        return [changed(item, convert) for item in value]
    if isinstance(value, portops.Ragged):
        return portops.Ragged(convert(value.values), value.levels)
    return convert(value) if hasattr(value, "__dlpack__") else value


def values_of(value: Any) -> Any:
    """Without levels."""
    if isinstance(value, (list, tuple)) and any(not isinstance(item, (int, float)) for item in value):
        return [values_of(item) for item in value]
    return value.values if isinstance(value, portops.Ragged) else value


def expected(case: Case) -> list[np.ndarray | None]:
    """Of each output; None of one that is not computed unless it is asked for."""
    result = case.expected(**{name: values_of(value) for name, value in case.arguments.items()})
    return list(result) if isinstance(result, tuple) else [result]
