# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of random shapes, types and attributes: shapes that nobody tuned for.

A function below makes a case of its family from a random number generator. random_cases() takes some of each; a seed
always makes the same ones.
"""
import math
import random

from . import activations, sparse_rows
from .add import Add
from .conv2d import Conv2d
from .cross_entropy import CrossEntropy
from .deform_conv2d import DeformConv2d, Shape
from .divide import Divide
from .lerp import Lerp
from .multiply import Multiply
from .normalization import BatchNorm, LayerNorm
from .p_norm import PNorm
from .parts import Parts
from .pool2d import Pool2d
from .products import Linear, Matmul
from .sequence import Pool
from .softmax import Softmax
from .subtract import Subtract
from .sums import Sums
from .trace import Trace
from .transpose import Transpose

TYPES = ("f32", "f16", "f32", "f16", "bf16")
SIDES = (4, 7, 10, 14, 20, 28, 33, 40, 56, 75, 80, 112, 128, 160, 200)
CHANNELS = (16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 320, 384, 512)


class Shapes:
    """Extents by a random number generator."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.choice = self.random.choice

    def between(self, least, most):
        """A number of [least, most], as often small as large."""
        return round(least * (most / least) ** self.random.random())

    def elements(self):
        return self.between(2e6, 6e7)

    def gradient(self, op):
        return op + self.choice(("", "_grad"))

    def extents(self, rank, elements):
        """So many axes, of about so many elements."""
        while True:
            extents = [self.between(1, max(2.0, elements ** (1.6 / rank))) for _ in range(rank - 1)]
            extents.append(max(1, elements // math.prod(extents)))
            if 0.3 * elements < math.prod(extents) < 2 * elements:
                self.random.shuffle(extents)
                return tuple(extents)

    def broadcast(self, extents):
        """Of a tensor that broadcasts to these."""
        per_channel = (extents[1], *(1 for _ in extents[2:])) if len(extents) > 2 else extents[-1:]
        return self.choice((extents, extents[-1:], (*extents[:-1], 1), per_channel, (1,)))

    def image(self, channels, elements, sides=SIDES):
        height = self.choice(sides)
        return max(1, elements // (height * height * channels)), channels, height, height + self.choice((0, 0, 3))


def arithmetic(s):
    op, kind = s.choice((("add", Add), ("subtract", Subtract), ("multiply", Multiply), ("divide", Divide)))
    op, extents = s.gradient(op), s.extents(s.choice((2, 3, 4)), s.elements())
    return kind(op, s.choice(TYPES), extents, s.broadcast(extents), wanted=s.choice(("xy", "xy", "y")))


def lerp(s):
    op, extents = s.gradient("lerp"), s.extents(s.choice((2, 3, 4)), s.elements())
    return Lerp(op, s.choice(TYPES), extents, s.broadcast(extents), s.broadcast(extents), wanted=s.choice(("xy", "xyw")))


def activation(s):
    return s.choice(activations.all_of(s.choice(TYPES), s.extents(2, s.elements())))


def p_norm(s):
    extents = s.extents(s.choice((1, 2, 3, 4)), s.elements())
    axis, order, dtype = s.random.randrange(len(extents)), s.choice((1, 2, 2, 3, 1.7, math.inf)), s.choice(TYPES)
    is_too_large = dtype == "f16" and order == 1 and extents[axis] > 30000
    return PNorm(s.gradient("p_norm"), "bf16" if is_too_large else dtype, extents, axis, order)


def sums(s):
    extents = s.extents(s.choice((2, 3, 4)), s.elements())
    axes = sorted(s.random.sample(range(len(extents)), s.random.randint(1, len(extents))))
    return Sums(s.gradient(s.choice(("sum", "mean"))), s.choice(TYPES), extents, tuple(axes))


def softmax(s):
    extents = s.extents(s.choice((2, 3)), s.elements())
    return Softmax(s.gradient("softmax"), s.choice(TYPES), extents, s.random.randrange(len(extents)))


def cross_entropy(s):
    classes = s.between(5, 60000)
    logits = (max(16, s.elements() // classes), classes)
    if classes <= 100 and s.random.random() < 0.3:
        logits = s.between(1, 16), classes, s.between(50, 600), s.between(50, 600)
    return CrossEntropy(s.gradient("cross_entropy_with_softmax"), s.choice(TYPES), logits, s.random.random() < 0.15)


def layer_norm(s):
    columns = s.between(16, 30000)
    return LayerNorm(s.gradient("layer_norm"), s.choice(TYPES), (max(2, s.elements() // columns), columns))


def batch_norm(s):
    return BatchNorm(s.gradient("batch_norm"), s.choice(TYPES), s.image(s.choice(CHANNELS), s.elements()),
                     s.random.random() < 0.4)


def pool2d(s):
    image = s.image(s.choice(CHANNELS), s.elements(), SIDES[3:])
    kernel, stride, padding = s.choice(((2, 2, 0), (3, 2, 1), (3, 1, 1), (3, 3, 0), (5, 1, 2), (2, 1, 0), (4, 4, 0),
                                        (3, 2, 0), (0, 1, 0), (7, 7, 0)))
    return Pool2d(s.gradient("pool2d"), s.choice(("f32", "f16", "bf16")), image, s.choice(("max", "avg")), kernel, stride,
                  padding, s.random.random() < 0.4)


def parts(s):
    count, rank = s.between(2, 200), s.choice((2, 3))
    axis, extents = s.random.randrange(rank), s.extents(rank, s.elements() // count)
    shapes = [tuple(s.between(1, 2 * extent) if k == axis and count < 40 else extent for k, extent in enumerate(extents))
              for _ in range(count)]
    return Parts(s.choice(("concat", "split")), s.choice(TYPES), shapes, axis)


def transpose(s):
    extents = s.extents(s.choice((2, 3, 4)), s.elements())
    return Transpose(s.choice(("f32", "f16")), extents, tuple(s.random.sample(range(len(extents)), len(extents))))


def trace(s):
    extents = s.extents(3, s.elements())
    return Trace("trace", s.choice(("f32", "f16")), extents, *s.random.sample(range(3), 2))


def products(s):
    dtype, math_name = s.choice((("f32", "ieee"), ("f32", "tf32"), ("f16", "ieee")))
    if s.random.random() < 0.5:
        return Linear(s.gradient("linear"), dtype, s.between(16, 20000), s.between(16, 4096), s.between(16, 4096), math_name)
    batch, rows, columns, inner = s.between(1, 512), s.between(8, 1024), s.between(8, 1024), s.between(8, 512)
    return Matmul(s.gradient("matmul"), dtype, (batch, rows, inner), (batch, inner, columns), math_name)


def conv2d(s):
    channels = s.choice((3, *CHANNELS))
    kernel, stride = s.choice(((3, 1), (3, 1), (3, 2), (1, 1), (1, 1), (5, 1), (7, 2)))
    depthwise = channels > 3 and s.random.random() < 0.2
    return Conv2d(s.gradient("conv2d"), s.choice(("f32", "tf32", "f16")), s.image(channels, s.between(1e6, 2e7), SIDES[1:-1]),
                  channels if depthwise else s.choice(CHANNELS), kernel, stride, kernel // 2, channels if depthwise else 1,
                  s.random.random() < 0.5)


def deform_conv2d(s):
    channels, groups = s.choice((3, 16, 32, 48, 64, 96, 128, 256, 512)), 1
    deformable_groups = s.choice((1, 1, 2, 4)) if channels > 3 else 1
    if channels >= 32 and s.random.random() < 0.25:
        groups = deformable_groups = channels // 16
    x, out_channels = s.image(channels, s.between(5e5, 5e6), SIDES[3:12]), groups * max(1, s.choice((16, 64, 128, 256)) // groups)
    kernel, stride = s.choice(((3, 1), (3, 1), (3, 2), (1, 1), (5, 1)))
    last = s.random.random() < 0.4
    name = (f"x {list(x)} to {out_channels} {kernel}x{kernel} stride {stride} groups {groups} and {deformable_groups}"
            f"{' channels last' if last else ''}")
    shape = Shape(name, x, out_channels, (kernel, kernel), (stride, stride), (kernel // 2, kernel // 2), (1, 1), groups,
                  deformable_groups, s.random.random() < 0.7, True, last)
    return DeformConv2d(s.gradient("deform_conv2d"), shape, s.choice(("f32", "tf32", "f16")))


def embedding(s):
    return sparse_rows.Embedding(s.gradient("embedding"), s.choice(("f32", "f16")), s.between(1000, 500000), s.between(8, 1024),
                                 s.between(1000, 300000), s.choice(("uniform", "zipf")))


def merge_rows(s):
    return sparse_rows.MergeRows(s.choice(("f32", "f16")), s.between(500, 300000), s.between(8, 600), s.between(1000, 500000),
                                 s.choice(("uniform", "zipf")))


def sequence_pool(s):
    return Pool(s.gradient("sequence_pool"), s.choice(("f32", "f16")), s.choice(("sum", "average", "max")), s.between(50, 5000),
                s.between(2, 200), s.between(8, 1000))


FAMILIES = (arithmetic, lerp, activation, p_norm, sums, softmax, cross_entropy, layer_norm, batch_norm, pool2d, parts, transpose,
            trace, products, conv2d, deform_conv2d, embedding, merge_rows, sequence_pool)


def random_cases(seed, count):
    """`count` cases of each family."""
    listed = []
    for family in FAMILIES:
        shapes = Shapes(f"{seed} {family.__name__}")
        listed += [family(shapes) for _ in range(count)]
    return listed
