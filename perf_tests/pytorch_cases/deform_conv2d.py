# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""deform_conv2d and deform_conv2d_grad, beside torchvision's; and torchvision's in float64 as their reference."""
import dataclasses

import torch
from torchvision.ops import deform_conv2d

from .common import NAMES, Case, count

# The types that torchvision has it for.
TORCHVISION = {"cuda": ("f64", "f32", "f16"), "cpu": ("f64", "f32")}
INPUTS = ("x", "offset", "weight", "mask", "bias", "out_grad")


@dataclasses.dataclass(frozen=True)
class Shape:
    """A call but for its element type. `padding` has two numbers, or four: above, left, below, right."""
    name: str
    x: tuple
    out_channels: int
    kernel: tuple = (3, 3)
    stride: tuple = (1, 1)
    padding: tuple = (1, 1)
    dilation: tuple = (1, 1)
    groups: int = 1
    deformable_groups: int = 1
    mask: bool = True
    bias: bool = True
    channels_last: bool = False  # x, weight, out and the gradients of these

    def taps(self):
        return self.deformable_groups * count(self.kernel)

    def out(self):
        top, left, bottom, right = sides(self.padding)
        image = [extent + more for extent, more in zip(self.x[2:], (top + bottom, left + right))]
        return (self.x[0], self.out_channels,
                *((h - d * (k - 1) - 1) // s + 1 for h, k, s, d in zip(image, self.kernel, self.stride, self.dilation)))

    def tensors(self):
        """The extents of the inputs by name."""
        batch, _, *windows = self.out()
        extents = {"x": self.x, "offset": (batch, 2 * self.taps(), *windows),
                   "weight": (self.out_channels, self.x[1] // self.groups, *self.kernel)}
        if self.mask:
            extents["mask"] = (batch, self.taps(), *windows)
        if self.bias:
            extents["bias"] = (self.out_channels,)
        return extents

    def attributes(self):
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups,
                "deformable_groups": self.deformable_groups}


def sides(padding):
    return padding if len(padding) == 4 else (*padding, *padding)


def offsets(shape, dtype, device, spread):
    """Multiples of 1/1024 (of more in the 16-bit types) beside pixels: a position is then exact in float32 and has the
    same neighbours in float64, without which derivatives would differ."""
    step = max(2.0 ** -10, 32 * torch.finfo(dtype).eps)
    values = (torch.randn(shape, device=device, dtype=torch.float64) * spread).clamp(-63, 62)
    pixels = values.floor()
    return (pixels + ((values - pixels) / step).round().clamp(1, 1 / step - 1) * step).to(dtype)


def inputs(shape, dtype, device, spread=1.5):
    """Random inputs and the attributes, by the names that portops gives them."""
    extents, dtype = shape.tensors(), NAMES[dtype]
    values = {name: torch.randn(e, device=device).to(dtype) for name, e in extents.items()}
    values["offset"] = offsets(extents["offset"], dtype, device, spread)
    if shape.mask:
        values["mask"] = (0.1 + 0.9 * torch.rand(extents["mask"], device=device)).to(dtype)
    return {**values, **shape.attributes()}


def convolved(v):
    """torchvision's operator on portops' arguments."""
    top, left, bottom, right = sides(v["padding"])
    x, padding = v["x"], (top, left)
    if (top, left) != (bottom, right):
        x, padding = torch.nn.functional.pad(x, (left, right, top, bottom)), (0, 0)
    return deform_conv2d(x, v["offset"], v["weight"], v.get("bias"), v["stride"], padding, v["dilation"], v.get("mask"))


def gradient_call(v):
    """A call of all gradients of torchvision's operator, and their names."""
    bias = v["bias"] if "bias" in v else v["weight"].new_zeros(len(v["weight"]))
    wanted = {name: t.detach().requires_grad_() for name, t in {**v, "bias": bias}.items()
              if name in ("x", "offset", "weight", "mask", "bias")}
    out = convolved({**v, **wanted})
    call = lambda: torch.autograd.grad(out, list(wanted.values()), v["out_grad"], retain_graph=True)
    return call, [f"{name}_grad" for name in wanted]


def gradients(v):
    call, names = gradient_call(v)
    return dict(zip(names, call()))


def wide(values, change=lambda t: t):
    return {k: change(v.double()) if k in INPUTS else v for k, v in values.items()}


def results(values):
    """What portops must give."""
    v = wide(values)
    return gradients(v) if "out_grad" in v else {"out": convolved(v)}


def magnitudes(values):
    """The results if all terms of their sums were positive. A derivative by an offset is a difference of neighbours: it
    becomes their sum where they alternate in sign."""
    v = {**wide(values, torch.abs), "offset": values["offset"].double()}
    if "out_grad" not in v:
        return {"out": convolved(v)}
    result, x = gradients(v), v["x"]
    signs = [1.0 - 2.0 * (torch.arange(extent, device=x.device) % 2) for extent in x.shape[2:]]
    down = gradients({**v, "x": x * signs[0][:, None]})["offset_grad"]
    across = gradients({**v, "x": x * signs[1]})["offset_grad"]
    result["offset_grad"] = torch.stack((down[:, 0::2], across[:, 1::2]), 2).flatten(1, 2).abs()
    return result


class DeformConv2d(Case):
    """A shape, and the element type or "tf32"."""

    def __init__(self, op, shape, kind, deterministic=False):
        gradients_of = [name for name in ("x", "offset", "weight", "mask", "bias") if name != "mask" or shape.mask]
        outputs = ["out"] if op == "deform_conv2d" else [f"{name}_grad" for name in gradients_of]
        super().__init__(op, "f32" if kind == "tf32" else kind, outputs, "tf32" if kind == "tf32" else "ieee",
                         deterministic)
        self.shape = shape

    def name(self):
        return f"{self.op} {self.shape.name} {self.math_name()}{' deterministic' if self.deterministic else ''}"

    def extents(self):
        extents = {**self.shape.tensors(), "out": self.shape.out(), "bias": (self.shape.out_channels,)}
        return {**extents, **{f"{name}_grad": extent for name, extent in extents.items()}}

    def tensors(self, device):
        values, extents = inputs(self.shape, self.dtype, device), self.extents()
        if self.is_gradient():
            values.pop("bias", None)
            values["out_grad"] = self.random(extents["out"], device)
        values |= {name: self.poison(extents[name], device) for name in self.outputs}
        if self.shape.channels_last:
            values |= {name: values[name].contiguous(memory_format=torch.channels_last)
                       for name in ("x", "weight", "out", "out_grad", "x_grad", "weight_grad") if name in values}
        return values

    def bytes(self):
        moved = [*self.shape.tensors(), *self.outputs]
        if self.is_gradient():
            moved = [name for name in moved if name != "bias"] + ["out_grad"]
        return self.element_size() * sum(count(self.extents()[name]) for name in moved)

    def flops(self):
        """Backwards there are two products."""
        products = 2 if self.is_gradient() else 1
        return products * 2 * count(self.shape.out()) * count(self.shape.tensors()["weight"][1:])

    def expected(self, values):
        sums = magnitudes(values)
        return {name: (result, sums[name]) for name, result in results(values).items()}

    def torch_call(self, values, compiled):
        if compiled or self.dtype not in TORCHVISION[values["x"].device.type]:
            return None
        return gradient_call(values)[0] if self.is_gradient() else lambda: convolved(values)

    def yardsticks(self, values):
        """The plain convolution: the product without the samples."""
        v, shape = values, self.shape
        if self.is_gradient() or len(shape.padding) == 4:
            return {}
        return {"conv": lambda: torch.nn.functional.conv2d(v["x"], v["weight"], v.get("bias"), shape.stride,
                                                           shape.padding, shape.dilation, shape.groups)}


SEED = Shape("seed", (6, 512, 19, 34), 256)
RES4 = Shape("res4", (2, 256, 50, 84), 256)
BIG = Shape("big", (16, 256, 64, 64), 256)
OTHERS = (Shape("128 channels 100x168", (2, 128, 100, 168), 128), Shape("512 channels 25x42", (2, 512, 25, 42), 512),
          dataclasses.replace(RES4, name="res4 batch 1", x=(1, 256, 50, 84)),
          dataclasses.replace(RES4, name="res4 groups 4", groups=4, deformable_groups=4),
          dataclasses.replace(RES4, name="res4 1x1", kernel=(1, 1), padding=(0, 0)),
          dataclasses.replace(RES4, name="res4 5x5", kernel=(5, 5), padding=(2, 2)),
          dataclasses.replace(RES4, name="res4 stride 2", stride=(2, 2)),
          dataclasses.replace(BIG, name="big channels last", channels_last=True),
          Shape("channels last 4x128x75x101", (4, 128, 75, 101), 192, channels_last=True),
          Shape("channels last 2x72x90x160", (2, 72, 90, 160), 100, channels_last=True),
          Shape("96 channels", (1, 96, 200, 304), 96), Shape("48 channels", (4, 48, 120, 90), 80),
          Shape("64 images 14x14", (64, 128, 14, 14), 128), Shape("64 images 7x7", (64, 128, 7, 7), 256),
          Shape("30x45", (4, 128, 30, 45), 128), Shape("groups of 16", (2, 256, 64, 64), 256, groups=16, deformable_groups=16),
          Shape("groups of 40", (1, 320, 40, 60), 320, groups=8, deformable_groups=8),
          # Not looked at while 16 channels a group and a little more had the kernels of many.
          Shape("12 groups of 16", (3, 192, 37, 53), 192, groups=12, deformable_groups=12),
          Shape("10 groups of 24", (1, 240, 60, 44), 240, groups=10, deformable_groups=10))
# Single images, or few small ones. From "48 channels" on they were not looked at while they became one kernel.
SMALL = (Shape("small", (1, 64, 28, 28), 64), Shape("small 128 channels 14x14", (1, 128, 14, 14), 128),
         Shape("small 128 channels 7x7", (1, 128, 7, 7), 256),
         Shape("small 4 deformable groups", (1, 64, 28, 28), 64, deformable_groups=4),
         Shape("small 48 channels 31x17", (1, 48, 31, 17), 72), Shape("small 2x160x9x11", (2, 160, 9, 11), 96),
         Shape("small 4 groups channels last", (3, 128, 12, 14), 64, groups=4, channels_last=True),
         Shape("small 16 channels", (1, 16, 28, 28), 64), Shape("small 6 channels 30x22", (1, 6, 30, 22), 48),
         Shape("small 14 channels 17x19", (2, 14, 17, 19), 20))
# Windows of few products.
WARP = Shape("warp", (1, 3, 480, 640), 3, kernel=(1, 1), padding=(0, 0), groups=3, mask=False, bias=False)
FEW = (Shape("depthwise", (2, 64, 56, 56), 64, groups=64), Shape("first layer", (2, 3, 224, 224), 32, stride=(2, 2)),
       WARP, Shape("depthwise 5x5", (8, 96, 30, 27), 96, kernel=(5, 5), padding=(2, 2), groups=96),
       Shape("groups of 2", (3, 24, 61, 83), 48, groups=12, deformable_groups=3),
       Shape("first layer gray", (4, 1, 100, 130), 16, kernel=(5, 5), padding=(2, 2)),
       dataclasses.replace(WARP, name="warp of one channel", x=(4, 1, 511, 333), out_channels=1, groups=1))

# Not looked at while their gradients got kernels that take them tap by tap.
TAPS = (Shape("depthwise of 3 deformable groups", (3, 150, 35, 44), 150, groups=150, deformable_groups=3),
        Shape("8 groups of 12", (2, 96, 70, 50), 96, groups=8, deformable_groups=8),
        Shape("20 groups of 8", (2, 160, 45, 70), 320, groups=20, deformable_groups=20),
        Shape("groups of 4", (1, 96, 83, 101), 192, groups=24, deformable_groups=24))


def rows(shape, kinds, deterministic=()):
    """Both operators; the gradient of some types in deterministic mode too."""
    listed = [DeformConv2d("deform_conv2d", shape, kind) for kind in kinds]
    for kind in kinds:
        listed.append(DeformConv2d("deform_conv2d_grad", shape, kind))
        if kind in deterministic:
            listed.append(DeformConv2d("deform_conv2d_grad", shape, kind, deterministic=True))
    return listed


def cases(device):
    if device == "cpu":
        listed = rows(SEED, ("f32", "f64", "f16", "bf16"), ("f32",)) + rows(RES4, ("f32",))
        for shape in FEW:
            listed += rows(shape, ("f32", "f16"))
        return listed
    listed = rows(SEED, ("f32", "tf32", "f16", "bf16", "f64"), ("f32", "tf32", "f16"))
    for shape in (RES4, BIG):
        listed += rows(shape, ("f32", "tf32", "f16", "bf16"), ("f32", "tf32", "f16"))
    for shape in OTHERS + SMALL + FEW + TAPS:
        listed += rows(shape, ("f32", "tf32", "f16"))
    return listed
