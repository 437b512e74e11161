# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps sgd, momentum and adam on lists of parameters, and count_nonfinite, over a grid of lists, types and layouts,
with the rest drawn at random: beside the steps of torch.optim's SGD, Adam and AdamW in float64.

Every step of a run is compared alone: PyTorch takes it from the elements, states among them, that portops takes it from.
The error must be within 8 roundings, in the type of sums, of the magnitudes that a result is made of, and one of the
16-bit types. Gradients are divided by their scale beforehand. In some runs one gradient has an Inf and a NaN: the step is
skipped for what count_nonfinite gives, and every result must have the bits of what it was made of.

The lists have tensors of one rank each, which is all that the bridge passes.
"""
import functools
import itertools
import math
import random
import typing

import torch
from pytorch_cases.common import NAMES

from .arithmetic import spread
from .common import Check, layouts_of, poison
from .sparse_rows import BETAS, EPSILON, LEARNING_RATE, MOMENTUM, momentum, nesterov, sgd

LISTS = {"a number": ((),), "one": ((7,),), "empty ones": ((0,), (5,), (0,)), "matrices": ((3, 5), (64, 33), (1, 1), (0, 4)),
         "images": ((2, 3, 4, 5), (5, 1, 7, 3)), "large ones": ((70001,), (12,), (4096,), (65536,), (8191,)),
         "many": tuple((1 + k % 101,) for k in range(300))}
LAYOUTS = ("contiguous", "strided", "cut", "transposed", "mixed")
RUNS = 3  # of each of the grid
TURNS = 4
ROUNDINGS = 8


def adam(before, g, magnitude, after, number, rounding):
    """As the other formulas, of `after`, PyTorch's step `number`. Where a gradient and a decay cancel, so that little but
    rounding is left, a step is as uncertain as its denominator."""
    corrections = [1 - beta**number for beta in BETAS]
    of_moment1 = BETAS[0] * before["moment1"].abs() + (1 - BETAS[0]) * magnitude
    # A difference of g counts twice in its square, and once more by itself.
    of_moment2 = BETAS[1] * before["moment2"] + (1 - BETAS[1]) * (g.square() + (2 * g.abs() + rounding * magnitude) * magnitude)
    # A root changes by no more than the gradient does.
    root = (after["moment2"] / corrections[1]).sqrt()
    of_root = root + ((1 - BETAS[1]) / corrections[1]) ** 0.5 * magnitude + EPSILON
    least = (root - rounding * of_root).clamp(min=0) + EPSILON
    step = after["moment1"].abs() / corrections[0] / (root + EPSILON)
    of_step = of_moment1 / corrections[0] / least + step * (of_root / least + 1)
    return {"param": before["param"].abs() + LEARNING_RATE * of_step, "moment1": of_moment1, "moment2": of_moment2}


class Kind(typing.NamedTuple):
    op: str
    states: dict  # PyTorch's names by portops'
    attributes: dict
    torch: typing.Callable
    formula: typing.Callable  # of sparse_rows, whose magnitudes count; None for adam


MOMENTS = {"moment1": "exp_avg", "moment2": "exp_avg_sq"}
OF_ADAM = {"beta1": BETAS[0], "beta2": BETAS[1], "epsilon": EPSILON}
KINDS = {
    "sgd": Kind("sgd", {}, {}, torch.optim.SGD, sgd),
    "momentum": Kind("momentum", {"velocity": "momentum_buffer"}, {"mu": MOMENTUM},
                     functools.partial(torch.optim.SGD, momentum=MOMENTUM), momentum),
    "nesterov": Kind("momentum", {"velocity": "momentum_buffer"}, {"mu": MOMENTUM, "use_nesterov": True},
                     functools.partial(torch.optim.SGD, momentum=MOMENTUM, nesterov=True), nesterov),
    "adam": Kind("adam", MOMENTS, OF_ADAM, functools.partial(torch.optim.Adam, betas=BETAS, eps=EPSILON), None),
    "adamw": Kind("adam", MOMENTS, {**OF_ADAM, "decoupled_weight_decay": True},
                  functools.partial(torch.optim.AdamW, betas=BETAS, eps=EPSILON), None)}


class Settings(typing.NamedTuple):
    """What is drawn of a run."""
    weight_decay: float
    maximize: bool
    grad_scale: float  # 1: left out
    has_master: bool
    has_tensors: bool  # for numbers that may be tensors
    in_place: bool
    skips: bool  # in a turn

    def name(self):
        flags = [field for field in self._fields if getattr(self, field) is True]
        return f"weight_decay {self.weight_decay} grad_scale {self.grad_scale} {' '.join(flags)}"


def drawn_settings(draw):
    flag = lambda: draw.random() < 0.5
    return Settings(draw.choice((0.0, 0.1)), flag(), draw.choice((1.0, 8.0, 1000.0)), flag(), flag(), flag(), flag())


def in_layout(tensor, layout, k):
    """The k-th of a list."""
    layouts = layouts_of(tensor.dim())
    return spread(tensor, layouts[k % len(layouts)] if layout == "mixed" else layout)


def random_list(shapes, dtype, device, layout):
    return [in_layout(torch.randn(shape, device=device).to(dtype), layout, k) for k, shape in enumerate(shapes)]


def flat(tensors):
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def torch_step(kind, before, gradient, settings, number):
    """What PyTorch makes of flat tensors in float64 in step `number`, which counts from 1."""
    param = torch.nn.Parameter(before["param"].clone())
    param.grad = gradient
    optimizer = kind.torch([param], lr=LEARNING_RATE, weight_decay=settings.weight_decay, maximize=settings.maximize,
                           foreach=False)
    states = {theirs: before[ours].clone() for ours, theirs in kind.states.items()}
    optimizer.state[param] = {"step": torch.tensor(number - 1.0), **states}
    optimizer.step()
    return {"param": param.detach(), **{ours: optimizer.state[param][theirs] for ours, theirs in kind.states.items()}}


def rounding_of(dtype):
    """That of a step; in float64 PyTorch's own is as large."""
    return ROUNDINGS * (2 * 2.0**-53 if dtype == torch.float64 else 2.0**-24)


def magnitudes(run, before, after, gradient):
    """Of what the results of a step are made of."""
    settings, attributes = run.settings, run.kind.attributes
    decay = (0 if attributes.get("decoupled_weight_decay") else settings.weight_decay) * before["param"]
    g, magnitude = (-gradient if settings.maximize else gradient) + decay, gradient.abs() + decay.abs()
    if run.kind.op == "adam":
        return adam(before, g, magnitude, after, run.number, rounding_of(run.lists["param"][0].dtype))
    return {name: of_result for name, (_, of_result) in run.kind.formula(before, g, magnitude).items()}


class Run:
    """Lists of portops' that one step leaves to the next, and powers."""

    def __init__(self, kind, shapes, dtype, settings, layout, device):
        self.kind, self.settings, self.layout = kind, settings, layout
        sums = torch.float64 if dtype == torch.float64 else torch.float32
        zeros = lambda: [in_layout(torch.zeros(shape, dtype=sums, device=device), layout, k) for k, shape in enumerate(shapes)]
        self.lists = {"param": random_list(shapes, dtype, device, layout), **{state: zeros() for state in kind.states}}
        if settings.has_master:
            self.lists["master_param"] = random_list(shapes, sums, device, layout)
        self.number = 1
        self.scalar = lambda value, dtype=sums: torch.full((), value, dtype=dtype, device=device)

    def tables(self):
        """What the step is taken from, flat, in float64."""
        names = {**{name: name for name in ("param", *self.kind.states)},
                 **({"param": "master_param"} if self.settings.has_master else {})}
        return {name: flat(self.lists[source]).double() for name, source in names.items()}

    def results(self):
        if self.settings.in_place:
            return self.lists
        return {name: [in_layout(torch.full_like(t, math.nan), self.layout, k) for k, t in enumerate(each)]
                for name, each in self.lists.items()}

    def powers(self):
        return {f"beta{k + 1}_pow": beta**self.number for k, beta in enumerate(BETAS)} if self.kind.op == "adam" else {}

    def numbers(self):
        """The arguments that may be numbers or tensors, then the outputs among them."""
        if not self.settings.has_tensors:
            return {"learning_rate": LEARNING_RATE, **self.powers()}, {}
        powers = {name: self.scalar(value, torch.float64) for name, value in self.powers().items()}
        out = {f"{name}_out": value if self.settings.in_place else poison((), value, "contiguous")
               for name, value in powers.items()}
        return {"learning_rate": self.scalar(LEARNING_RATE), **powers}, out

    def options(self):
        s = self.settings
        return {**self.kind.attributes, "weight_decay": s.weight_decay, "maximize": s.maximize,
                **({"grad_scale": self.scalar(s.grad_scale)} if s.grad_scale != 1 else {})}


class OptimizersCheck(Check):
    def count(self, name, gradients):
        """Of elements that are Inf or NaN, as portops has it; None where the call failed."""
        count = torch.full((), -1, device=gradients[0].device)
        if not self.run(name, "count_nonfinite", {"x": gradients, "count": count}):
            return None
        self.judge_bits(name, count, (~flat(gradients).isfinite()).sum())
        return count

    def judge_step(self, name, found, expected, magnitude):
        info = torch.finfo(found.dtype)
        bound = rounding_of(found.dtype) * (expected.abs() + magnitude)
        if found.element_size() == 2:
            bound = bound + info.eps / 2 * (expected.abs() + info.smallest_normal)
        self.judge(name, found, expected, ~((found.double() - expected).abs() <= bound))

    def judge_results(self, name, run, tables, gradient, results):
        expected = torch_step(run.kind, tables, gradient, run.settings, run.number)
        made = magnitudes(run, tables, expected, gradient)
        for out, found in results.items():
            of = out.removeprefix("master_")
            self.judge_step(f"{name}: {out}_out", flat(found), expected[of], made[of])

    def judge_skipped(self, name, tables, results):
        for out, found in results.items():
            before = tables[out.removeprefix("master_")]
            self.judge_bits(f"{name}: {out}_out", flat(found), before.to(found[0].dtype))

    def step(self, name, run, gradients):
        """Whether it could be made."""
        count = self.count(f"{name}: count_nonfinite", gradients) if run.settings.skips else None
        tables, results, (numbers, numbers_out) = run.tables(), run.results(), run.numbers()
        powers, skips = run.powers(), count is not None and count.item() != 0
        values = {**run.lists, "grad": gradients, **numbers, **run.options(), **numbers_out,
                  **({"skip": count} if count is not None else {}), **{f"{out}_out": each for out, each in results.items()}}
        if not self.run(name, run.kind.op, values):
            return False
        if skips:
            self.judge_skipped(name, tables, results)
        else:
            self.judge_results(name, run, tables, flat(gradients).double() / run.settings.grad_scale, results)
        for out, beta in zip(powers, BETAS):
            if numbers_out:
                self.judge_bits(f"{name}: {out}_out", numbers_out[f"{out}_out"],
                                run.scalar(powers[out] * (1 if skips else beta), torch.float64))
        run.lists = results
        run.number += not skips
        return True

    def steps(self, name, run, shapes, dtype, device, layout):
        for turn in range(TURNS):
            gradients = random_list(shapes, dtype, device, layout)
            if run.settings.skips and turn == 1:
                largest = max(gradients, key=torch.numel)
                largest[(-1,) * largest.dim()] = math.inf
                largest[(0,) * largest.dim()] = math.nan
            if not self.step(f"{name} turn {turn}", run, gradients):
                return

    def all(self, device):
        draw = random.Random(1)
        for (variant, kind), dtype, (label, shapes), layout, _ in itertools.product(KINDS.items(), NAMES, LISTS.items(),
                                                                                   LAYOUTS, range(RUNS)):
            settings = drawn_settings(draw)
            name = f"{variant} {dtype} {label} {layout} {settings.name()}"
            if self.wants(name) and layout in (*layouts_of(len(shapes[0])), "mixed"):
                run = Run(kind, shapes, NAMES[dtype], settings, layout, device)
                self.steps(name, run, shapes, NAMES[dtype], device, layout)
