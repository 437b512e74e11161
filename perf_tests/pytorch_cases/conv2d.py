# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""conv2d and conv2d_grad, in both layouts of images."""
import torch
from torch.nn import functional

from .common import Case, compile_once, count


def gradient(g, x, weight, stride, padding, dilation, groups):
    return torch.ops.aten.convolution_backward(g, x, weight, [weight.shape[0]], stride, padding, dilation, False, [0, 0],
                                               groups, [True, True, True])


class Conv2d(Case):
    """`kind` is the element type or "tf32"."""

    def __init__(self, op, kind, x, out_channels, kernel=3, stride=1, padding=1, groups=1, channels_last=False):
        outputs = ["out"] if op == "conv2d" else ["x_grad", "weight_grad", "bias_grad"]
        super().__init__(op, "f32" if kind == "tf32" else kind, outputs, "tf32" if kind == "tf32" else "ieee")
        self.x, self.weight = tuple(x), (out_channels, x[1] // groups, kernel, kernel)
        self.stride, self.padding, self.groups = [stride, stride], [padding, padding], groups
        self.channels_last = channels_last
        windows = [(extent + 2 * padding - kernel) // stride + 1 for extent in x[2:]]
        self.out = (x[0], out_channels, *windows)

    def name(self):
        window = f"{self.weight[2]}x{self.weight[3]} stride {self.stride[0]}"
        groups = f" groups {self.groups}" if self.groups > 1 else ""
        last = " channels last" if self.channels_last else ""
        return f"{self.op} {self.math_name()} {list(self.x)} to {self.out[1]} {window}{groups}{last}"

    def laid(self, tensor):
        return tensor.contiguous(memory_format=torch.channels_last) if self.channels_last else tensor

    def window(self):
        return (self.stride, self.padding, [1, 1], self.groups)

    def tensors(self, device):
        values = dict(zip(("stride", "padding", "dilation", "groups"), self.window()))
        values |= {name: self.laid(self.random(shape, device)) for name, shape in (("x", self.x), ("weight", self.weight))}
        if not self.is_gradient():
            bias = self.random(self.out[1:2], device)
            return {**values, "bias": bias, "out": self.laid(self.poison(self.out, device))}
        return {**values, "out_grad": self.laid(self.random(self.out, device)),
                "x_grad": self.laid(self.poison(self.x, device)),
                "weight_grad": self.laid(self.poison(self.weight, device)),
                "bias_grad": self.poison(self.out[1:2], device)}

    def bytes(self):
        moved = count(self.x) + count(self.weight)
        return self.element_size() * (moved * (2 if self.is_gradient() else 1) + count(self.out) + self.out[1])

    def flops(self):
        return (2 if self.is_gradient() else 1) * 2 * count(self.out) * count(self.weight[1:])

    def results(self, values, change):
        wide = {name: change(v.double()) for name, v in values.items() if isinstance(v, torch.Tensor)}
        if not self.is_gradient():
            return {"out": functional.conv2d(wide["x"], wide["weight"], wide["bias"], *self.window())}
        return dict(zip(self.outputs, gradient(wide["out_grad"], wide["x"], wide["weight"], *self.window())))

    def expected(self, values):
        sums = self.results(values, torch.abs)
        return {name: (result, sums[name]) for name, result in self.results(values, lambda t: t).items()}

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            call = lambda x, weight, bias: functional.conv2d(x, weight, bias, *self.window())
            call = torch.compile(call, dynamic=False) if compiled else call
            return lambda: call(v["x"], v["weight"], v["bias"])
        call = lambda g, x, weight: gradient(g, x, weight, *self.window())
        call = compile_once(call, self.name()) if compiled else call
        return lambda: call(v["out_grad"], v["x"], v["weight"])


# The extents of x, the channels of out, the window's extent, stride, padding and groups.
SHAPES = (((16, 256, 64, 64), 256), ((256, 32, 28, 28), 64), ((32, 64, 56, 56), 64), ((2, 256, 50, 84), 256, 1, 1, 0),
          ((2, 256, 50, 84), 256, 3, 2), ((8, 512, 14, 14), 512), ((4, 96, 75, 101), 160),
          ((2, 256, 50, 84), 256, 3, 1, 1, 4), ((2, 64, 56, 56), 64, 3, 1, 1, 64), ((16, 3, 224, 224), 64, 7, 2, 3),
          ((32, 144, 56, 56), 144, 3, 1, 1, 144), ((32, 144, 56, 56), 144, 3, 2, 1, 144),
          ((8, 240, 28, 28), 240, 5, 1, 2, 240), ((16, 96, 56, 56), 96, 7, 1, 3, 96),
          ((64, 96, 112, 112), 96, 3, 2, 1, 96), ((16, 672, 14, 14), 672, 5, 1, 2, 672),
          ((8, 384, 14, 14), 384, 7, 1, 3, 384), ((24, 320, 20, 20), 320, 5, 1, 2, 320), ((6, 200, 48, 40), 200, 7, 1, 3, 200),
          ((48, 64, 75, 75), 64, 3, 1, 1, 64), ((20, 128, 60, 44), 128, 5, 2, 2, 128),
          ((4, 1152, 9, 9), 1152, 3, 1, 1, 1152),
          # One tap for each channel alone; the second was not looked at.
          ((16, 256, 40, 40), 256, 1, 1, 0, 256), ((7, 48, 61, 59), 48, 1, 1, 0, 48),
          # First layers.
          ((1024, 1, 28, 28), 32), ((32, 3, 112, 112), 32, 3, 2), ((64, 1, 96, 80), 24, 5, 1, 2),
          ((16, 3, 160, 160), 32), ((64, 3, 32, 32), 64), ((32, 1, 64, 64), 16, 7, 1, 3), ((6, 2, 120, 90), 48),
          # To few channels, as beside deformable convolutions, which have 27 of offsets and masks.
          ((256, 128, 14, 14), 27), ((2, 256, 50, 84), 27), ((8, 64, 112, 112), 18), ((32, 64, 56, 56), 32),
          # Not looked at while weight_grad out of tiles was made.
          ((12, 160, 30, 26), 96), ((40, 48, 36, 52), 24, 5, 1, 2), ((100, 192, 7, 7), 192), ((6, 320, 40, 24), 27),
          ((20, 72, 44, 60), 72, 3, 2),
          # Not looked at while blocks of 96 and 192 output channels were made.
          ((8, 192, 28, 28), 192), ((3, 64, 90, 70), 96), ((16, 128, 24, 24), 160), ((5, 224, 38, 30), 448),
          # Not looked at while blocks in tf32 took windows by copies.
          ((7, 176, 33, 41), 208), ((2, 384, 20, 20), 384), ((30, 80, 26, 34), 112), ((1, 512, 40, 40), 256, 3, 2),
          # Not looked at while blocks that keep their weight were made.
          ((12, 40, 70, 90), 56), ((5, 24, 150, 200), 16), ((50, 56, 20, 28), 80, 5, 1, 2), ((9, 32, 75, 63), 48, 3, 2),
          # Of 8 and 16 channels.
          ((8, 16, 128, 160), 32), ((30, 8, 60, 64), 24),
          # Not looked at while weight_grad took three taps at once.
          ((24, 56, 44, 52), 72), ((5, 288, 30, 26), 160), ((16, 48, 73, 55), 33), ((40, 24, 60, 41), 48),
          ((9, 320, 22, 30), 96), ((300, 64, 12, 10), 130),
          # First layers, not looked at while those of few channels took tiles.
          ((256, 1, 28, 28), 32), ((24, 3, 128, 128), 32, 3, 2), ((12, 1, 200, 150), 48, 5, 1, 2), ((5, 4, 90, 120), 24),
          ((2, 2, 333, 517), 20), ((60, 1, 64, 64), 64, 7, 2, 3))
SMALL = (((2, 256, 50, 84), 256), ((2, 256, 50, 84), 256, 1, 1, 0), ((4, 64, 56, 56), 64),
         ((2, 64, 56, 56), 64, 3, 1, 1, 64), ((2, 3, 224, 224), 32, 3, 2))


def cases(device):
    shapes, kinds = (SMALL, ("f32",)) if device == "cpu" else (SHAPES, ("f32", "tf32", "f16", "bf16"))
    return [Conv2d(op, kind, *shape, channels_last=last) for shape in shapes for kind in kinds
            for last in (False, True) for op in ("conv2d", "conv2d_grad")]
