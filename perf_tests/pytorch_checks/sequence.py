# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators on ragged tensors over a grid of lengths of sequences, extents of rows, types and layouts.

PyTorch has no levels: the expected results are made by indices of rows, index_add and scatter_reduce, in float64 from
the same elements. What only moves elements must have their bits. So must maxima, and the index must be the first row
of the largest; a NaN is the largest. Sums, quotients and softmax must be as near as rounding explains: that of sums in
f32 (f64 for f64), and one of the result.

What is not compared: levels above the last one, since the bridge passes one level.
"""
import itertools
import math

import torch
from pytorch_cases.bridge import Levels
from pytorch_cases.common import NAMES, TOLERANCE, laid_out

from .common import Check, layouts_of, poison

# Of sequences, by a name.
LENGTHS = {"no sequences": (), "an empty one": (0,), "empty ones": (0,) * 5, "one of a row": (1,), "one": (37,),
           "empty ones around": (0, 0, 3, 1, 0, 0, 0, 8, 64, 7, 0), "short ones": tuple(k % 7 for k in range(300)),
           "rows alone": (1,) * 1000, "medium ones": tuple(37 * k % 131 for k in range(1, 60)),
           "uneven ones": (5, 0, 3001, 1, 0, 700), "a long one": (2, 0, 100003, 0, 9)}
EXTENTS = ((), (1,), (7,), (64,), (512,), (3, 5), (2000,))  # of a row
EXTENTS_OF_KINDS = ((), (7,), (64,))  # where elements that need care are tried
TIMES = (2, 0, 1, 3)  # how often the sequences are repeated, in turns
MANY_TIMES = ((3, 0, 2), (20000, 5, 700))  # lengths, and how often
PAD_VALUE = -2.5
UNWRITTEN = -7  # in a tensor of i64
MANY_ELEMENTS = 100000  # above, not all layouts are tried
MOST_ELEMENTS = 8000000


def random(shape, dtype, device):
    return torch.randn(shape, dtype=torch.float64, device=device).to(dtype)


def ties(x):
    return torch.randint(-2, 3, x.shape, device=x.device).to(x.dtype)


def infinities(x):
    """Mostly negative infinities: of short sequences many have nothing else."""
    numbers = torch.tensor([-math.inf] * 13 + [0.0, math.inf, math.nan], dtype=x.dtype, device=x.device)
    return numbers[torch.randint(len(numbers), x.shape, device=x.device)]


def beside(per_row, x):
    """One number a row, so that it broadcasts to x."""
    return per_row.reshape(per_row.shape + (1,) * (x.dim() - 1))


def sums(places, rows, count):
    """The sums of the rows that have one place, of `count` places."""
    zeros = rows.new_zeros((count, *rows.shape[1:]))
    return zeros.index_add(0, places, rows) if rows.numel() > 0 else zeros


def layouts_for(tensors):
    """Those for a call with these tensors."""
    if max(t.numel() for t in tensors) > MANY_ELEMENTS:
        return ["contiguous", "cut"]
    return layouts_of(max(t.dim() for t in tensors))


def in_layout(values, layout):
    """A copy in the layout, or a contiguous one where the rank has no such layout."""
    if values.dtype == torch.int64:  # it has no NaN to lie between its elements
        between = torch.full_like(values, UNWRITTEN)
        return values.clone() if layout == "contiguous" else torch.stack((values, between), -1)[..., 0]
    return laid_out(values, layout if layout in layouts_of(values.dim()) else "contiguous")


def unwritten(expected, like, layout):
    """A result to be written, of the element type of `like` or of i64."""
    if expected.dtype == torch.int64:
        return in_layout(torch.full_like(expected, UNWRITTEN), layout)
    return poison(expected.shape, like, layout)


def differing(actual, expected):
    return (actual != expected) & ~(actual.isnan() & expected.isnan())


def apart(actual, expected, magnitude):
    """Which results are further from those in float64 than rounding explains: that of sums, relative to the magnitudes
    summed, and that of the result."""
    info = torch.finfo(actual.dtype)
    summing = TOLERANCE["f64" if actual.dtype == torch.float64 else "f32"]
    bound = summing * magnitude + info.eps / 2 * expected.abs() + info.smallest_normal * info.eps
    near = expected.isfinite() & ((actual.double() - expected).abs() <= bound)
    return ~near & differing(actual, expected)


class Ragged:
    """Levels, and what PyTorch takes instead."""

    def __init__(self, lengths, device):
        self.levels = Levels(lengths)
        self.count, self.rows, self.longest = len(lengths), sum(lengths), max(lengths, default=0)
        self.lengths = torch.tensor(lengths, dtype=torch.int64, device=device)
        self.begins = self.lengths.cumsum(0) - self.lengths
        self.row = torch.arange(self.rows, device=device)
        self.sequences = torch.arange(self.count, device=device)
        self.owner = torch.repeat_interleave(self.sequences, self.lengths)  # the sequence of each row
        self.place = self.row - self.begins[self.owner]  # within its sequence

    def repeated(self, times):
        """The rows of the sequences, each sequence so many times."""
        copies = torch.repeat_interleave(self.sequences, torch.tensor(times, dtype=torch.int64, device=self.row.device))
        lengths = self.lengths[copies]
        first = self.begins[copies] - (lengths.cumsum(0) - lengths)
        return torch.repeat_interleave(first, lengths) + torch.arange(int(lengths.sum()), device=self.row.device)

    def sums(self, rows):
        return sums(self.owner, rows, self.count)

    def largest(self, x):
        """For each sequence and column the first row of the largest element, −1 where there are no rows. x is
        float64."""
        if x.numel() == 0:
            return torch.full((self.count, *x.shape[1:]), -1, device=x.device)
        owner = beside(self.owner, x).expand_as(x)
        # What is larger than everything must not be a NaN to be compared.
        keys = torch.where(x.isnan(), math.inf, x.clamp(max=torch.finfo(x.dtype).max))
        most = keys.new_full((self.count, *x.shape[1:]), -math.inf).scatter_reduce(0, owner, keys, "amax")
        found = torch.where(keys == most[self.owner], beside(self.row, x), self.rows)
        first = torch.full_like(most, self.rows, dtype=torch.int64).scatter_reduce(0, owner, found, "amin")
        return torch.where(first < self.rows, first, -1)


def taken(x, index):
    """In each column the elements of these rows, PAD_VALUE for −1."""
    padded = torch.cat([x, x.new_full((1, *x.shape[1:]), PAD_VALUE)])
    return padded.gather(0, torch.where(index < 0, len(x), index))


class SequenceCheck(Check):
    def compare(self, op, label, values, expected):
        """A call in several layouts. `expected`: for each output its elements, or, where they are rounded, those in
        float64 together with the magnitudes that were summed."""
        tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
        for layout in layouts_for(tensors):
            name = f"{op} {label} {layout}"
            if not self.wants(name):
                continue
            given = {key: in_layout(value, layout) if isinstance(value, torch.Tensor) else value
                     for key, value in values.items()}
            found = {key: unwritten(want[0] if isinstance(want, tuple) else want, values["x"], layout)
                     for key, want in expected.items()}
            if not self.run(name, op, {**given, **found}):
                continue
            for key, want in expected.items():
                if isinstance(want, tuple):
                    self.judge(f"{name}: {key}", found[key], want[0], apart(found[key], *want))
                else:
                    self.judge(f"{name}: {key}", found[key], want, differing(found[key], want))

    def pool_sums(self, label, ragged, x):
        values = {"x": x, "x.levels": ragged.levels}
        wide, lengths = x.double(), beside(ragged.lengths, x).double()
        total, magnitude = ragged.sums(wide), ragged.sums(wide.abs())
        out_grad = random(total.shape, x.dtype, x.device)
        for pooltype, by in (("sum", torch.ones_like(lengths)), ("average", lengths), ("sqrt", lengths.sqrt())):
            given = {**values, "pooltype": pooltype}
            out = torch.where(lengths > 0, total / by, PAD_VALUE)
            self.compare("sequence_pool", f"{label} {pooltype}", {**given, "pad_value": PAD_VALUE},
                         {"out": (out, magnitude / by)})
            share = (out_grad.double() / by)[ragged.owner]
            x_grad = out_grad[ragged.owner] if pooltype == "sum" else (share, share.abs())
            self.compare("sequence_pool_grad", f"{label} {pooltype}", {**given, "out_grad": out_grad},
                         {"x_grad": x_grad})

    def pool_choices(self, label, ragged, x):
        """The pooltypes that choose a row."""
        shape = (ragged.count, *x.shape[1:])
        out_grad = random(shape, x.dtype, x.device)
        edges = {"first": ragged.begins, "last": ragged.begins + ragged.lengths - 1}
        rows = {pooltype: beside(torch.where(ragged.lengths > 0, edge, -1), x).expand(shape)
                for pooltype, edge in edges.items()}
        for pooltype, index in {"max": ragged.largest(x.double()), **rows}.items():
            given = {"x": x, "x.levels": ragged.levels, "pooltype": pooltype}
            out = taken(x, index)
            self.compare("sequence_pool", f"{label} {pooltype}", {**given, "pad_value": PAD_VALUE}, {"out": out})
            if pooltype == "max":
                self.compare("sequence_pool", f"{label} max with index", {**given, "pad_value": PAD_VALUE},
                             {"out": out, "index": index})
                given["index"] = index
            chosen = beside(ragged.row, x) == index[ragged.owner]
            self.compare("sequence_pool_grad", f"{label} {pooltype}", {**given, "out_grad": out_grad},
                         {"x_grad": torch.where(chosen, out_grad[ragged.owner], 0.0)})

    def expand(self, label, values, source):
        """`source`: the row of x for each of out."""
        x = values["x"]
        self.compare("sequence_expand", label, values, {"out": x[source]})
        out_grad = random((len(source), *x.shape[1:]), x.dtype, x.device)
        wide = out_grad.double()
        self.compare("sequence_expand_grad", label, {**values, "out_grad": out_grad},
                     {"x_grad": (sums(source, wide, len(x)), sums(source, wide.abs(), len(x)))})

    def expand_rows(self, label, ragged, like):
        x = random((ragged.count, *like.shape[1:]), like.dtype, like.device)
        self.expand(f"{label} rows", {"x": x, "y.levels": ragged.levels}, ragged.owner)

    def expand_sequences(self, label, ragged, x, times):
        values = {"x": x, "x.levels": ragged.levels, "y.levels": Levels(times), "ref_level": 0}
        self.expand(f"{label} sequences", values, ragged.repeated(times))

    def softmax(self, label, ragged, x):
        wide = x.double()
        powers = (wide - taken(wide, ragged.largest(wide))[ragged.owner]).exp()
        out = powers / ragged.sums(powers)[ragged.owner]
        values = {"x": x, "x.levels": ragged.levels}
        self.compare("sequence_softmax", label, values, {"out": (out, out)})
        if not out.isfinite().all():
            return
        rounded, out_grad = out.to(x.dtype), random(x.shape, x.dtype, x.device)
        factor, wide = rounded.double(), out_grad.double()
        total, magnitude = ragged.sums(factor * wide), ragged.sums((factor * wide).abs())
        x_grad = factor * (wide - total[ragged.owner]), factor * (wide.abs() + magnitude[ragged.owner])
        self.compare("sequence_softmax_grad", label, {**values, "out": rounded, "out_grad": out_grad},
                     {"x_grad": x_grad})

    def reverse(self, label, ragged, x):
        source = (2 * ragged.begins + ragged.lengths - 1)[ragged.owner] - ragged.row
        values, out_grad = {"x": x, "x.levels": ragged.levels}, random(x.shape, x.dtype, x.device)
        self.compare("sequence_reverse", label, values, {"out": x[source]})
        self.compare("sequence_reverse_grad", label, {**values, "out_grad": out_grad}, {"x_grad": out_grad[source]})

    def pad(self, label, ragged, x):
        """sequence_pad to the longest sequence and beyond, and sequence_unpad."""
        where = ragged.owner, ragged.place
        for length in (ragged.longest, ragged.longest + 3):
            shape = (ragged.count, length, *x.shape[1:])
            if math.prod(shape) > MOST_ELEMENTS:
                continue
            values, outputs = {"x": x, "x.levels": ragged.levels, "pad_value": PAD_VALUE}, {}
            if length > ragged.longest:
                values["padded_length"] = length
            else:
                outputs["length"] = ragged.lengths
            padded = random(shape, x.dtype, x.device)
            out, x_grad = torch.full_like(padded, PAD_VALUE), torch.zeros_like(padded)
            out[where], x_grad[where] = x, x
            name = f"{label} to {length}"
            self.compare("sequence_pad", name, values, {"out": out, **outputs})
            self.compare("sequence_pad_grad", name, {**values, "out_grad": padded}, {"x_grad": padded[where]})
            values = {"x": padded, "length.levels": ragged.levels}
            self.compare("sequence_unpad", name, values, {"out": padded[where]})
            self.compare("sequence_unpad_grad", name, {**values, "out_grad": x}, {"x_grad": x_grad})

    def concat(self, label, ragged, x):
        """x, behind it sequences half as long, and behind these sequences of the lengths of x from the last on."""
        if x.numel() > MOST_ELEMENTS // 2:
            return
        lengths = ragged.lengths.tolist()
        others = [Ragged(of, x.device) for of in ([length // 2 for length in lengths], lengths[::-1])]
        parts = [ragged, *others]
        owners = torch.cat([part.owner for part in parts])
        order = owners.argsort(stable=True)  # the row, of all one behind the other, for each of out
        tensors = [x, *[random((part.rows, *x.shape[1:]), x.dtype, x.device) for part in others]]
        out, out_grad = torch.cat(tensors)[order], random((len(order), *x.shape[1:]), x.dtype, x.device)
        gradients = torch.empty_like(out_grad)
        gradients[order] = out_grad
        for layout in layouts_for([out]):
            given = {"x": [in_layout(t, layout) for t in tensors], "x.levels": [part.levels for part in parts]}
            found = unwritten(out, x, layout)
            name = f"sequence_concat {label} {layout}"
            if self.wants(name) and self.run(name, "sequence_concat", {**given, "out": found}):
                self.judge_bits(f"{name}: out", found, out)
            found = [unwritten(t, x, layout) for t in tensors]
            name = f"sequence_concat_grad {label} {layout}"
            values = {**given, "out_grad": in_layout(out_grad, layout), "x_grad": found}
            if self.wants(name) and self.run(name, "sequence_concat_grad", values):
                self.judge_bits(f"{name}: x_grad", torch.cat(found), gradients)

    def operators(self, label, ragged, x):
        for part in (self.pool_sums, self.pool_choices, self.softmax, self.reverse, self.pad, self.concat,
                     self.expand_rows):
            part(label, ragged, x)
        times = [TIMES[k % len(TIMES)] for k in range(ragged.count)]
        self.expand_sequences(label, ragged, x, times)

    def all(self, device):
        grid = {kind: Ragged(lengths, device) for kind, lengths in LENGTHS.items()}
        for dtype, (kind, ragged), extents in itertools.product(NAMES, grid.items(), EXTENTS):
            if ragged.rows * math.prod(extents) > MOST_ELEMENTS:
                continue
            label = f"{dtype} {kind} of {list(extents)}"
            x = random((ragged.rows, *extents), NAMES[dtype], device)
            self.operators(label, ragged, x)
            for elements in (ties, infinities) if extents in EXTENTS_OF_KINDS else ():
                self.pool_choices(f"{label} {elements.__name__}", ragged, elements(x))
                self.softmax(f"{label} {elements.__name__}", ragged, elements(x))
        lengths, times = MANY_TIMES
        for dtype, extents in itertools.product(NAMES, EXTENTS_OF_KINDS):
            x = random((sum(lengths), *extents), NAMES[dtype], device)
            self.expand_sequences(f"{dtype} many times {list(extents)}", Ragged(lengths, device), x, times)
