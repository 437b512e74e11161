# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pool2d and pool2d_grad."""
import torch
from torch.nn import functional

from .common import NAMES, Case, compile_once, count


def pool(x, pooltype, kernel, stride, padding, return_indices=False):
    if pooltype == "avg":
        return functional.avg_pool2d(x, kernel, stride, padding, count_include_pad=False)
    return functional.max_pool2d(x, kernel, stride, padding, return_indices=return_indices)


class Pool2d(Case):
    """`kernel` 0 is the whole image."""

    def __init__(self, op, dtype, x, pooltype, kernel, stride=None, padding=0, channels_last=False, index=False):
        outputs = ["x_grad"] if op.endswith("_grad") else ["out"]
        super().__init__(op, dtype, outputs)
        self.x, self.pooltype, self.channels_last, self.index = tuple(x), pooltype, channels_last, index
        self.whole = kernel == 0
        self.kernel = list(x[2:]) if self.whole else [kernel, kernel]
        self.stride, self.padding = [stride, stride] if stride else self.kernel, [padding, padding]
        self.window = (self.pooltype, self.kernel, self.stride, self.padding)
        self.out = tuple(pool(torch.empty(self.x, device="meta"), *self.window).shape)

    def name(self):
        window = "whole" if self.whole else f"{self.kernel[0]}x{self.kernel[1]} stride {self.stride[0]}"
        text = f"{self.op} {self.dtype} {list(self.x)} {self.pooltype} {window} padding {self.padding[0]}"
        return text + (" channels last" if self.channels_last else "") + (" index" if self.index else "")

    def laid(self, tensor):
        return tensor.contiguous(memory_format=torch.channels_last) if self.channels_last else tensor

    def attributes(self):
        return {"kernel_size": self.kernel, "stride": self.stride, "padding": self.padding, "pooltype": self.pooltype,
                "global_pooling": self.whole}

    def tensors(self, device):
        if not self.is_gradient():
            values = {"x": self.laid(self.random(self.x, device)), **self.attributes(),
                      "out": self.laid(self.poison(self.out, device))}
            if self.index:
                values["index"] = self.laid(torch.zeros(self.out, dtype=torch.int64, device=device))
            return values
        x = self.laid(self.random(self.x, device))
        values = {"x": x, "out_grad": self.laid(self.random(self.out, device)), **self.attributes(),
                  "x_grad": self.laid(self.poison(self.x, device))}
        if self.pooltype == "max":
            values["index"] = self.laid(pool(x, *self.window, return_indices=True)[1])
        return values

    def bytes(self):
        index = 8 * count(self.out) if self.index or (self.is_gradient() and self.pooltype == "max") else 0
        return self.element_size() * (count(self.x) + count(self.out)) + index

    def expected(self, values):
        # Of contiguous images: the CUDA gradient of avg_pool2d in PyTorch 2.11 forgets the padding of channels-last ones.
        x = values["x"].double().contiguous().requires_grad_(self.is_gradient())
        out = pool(x, *self.window)
        if not self.is_gradient():
            return {"out": (out, 1.0)}
        out_grad = values["out_grad"].double().contiguous()
        return {"x_grad": (torch.autograd.grad(out, x, out_grad)[0], values["out_grad"].abs().max())}

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            call = lambda x: pool(x, *self.window, return_indices=self.index)
            call = torch.compile(call, dynamic=False) if compiled else call
            return lambda: call(v["x"])
        if self.pooltype == "avg":
            gradient = lambda g, x: torch.ops.aten.avg_pool2d_backward(g, x, self.kernel, self.stride, self.padding,
                                                                       False, False, None)
            arguments = (v["out_grad"], v["x"])
        else:
            gradient = lambda g, x, index: torch.ops.aten.max_pool2d_with_indices_backward(
                g, x, self.kernel, self.stride, self.padding, [1, 1], False, index)
            arguments = (v["out_grad"], v["x"], v["index"])
        gradient = compile_once(gradient, self.name()) if compiled else gradient
        return lambda: gradient(*arguments)


def cases(device):
    mark, listed = (32, 64, 128, 128), []
    for dtype in ("f32",) if device == "cpu" else [name for name in NAMES if name != "f64"]:
        for last in (False, True):
            for pooltype in ("max", "avg"):
                for window in ((mark, pooltype, 2), (mark, pooltype, 3, 2, 1), ((64, 2048, 7, 7), pooltype, 0)):
                    listed += [Pool2d(op, dtype, *window, channels_last=last) for op in ("pool2d", "pool2d_grad")]
            listed += [Pool2d("pool2d", dtype, mark, "max", 3, 2, 1, last, index=True)]
    listed += [Pool2d(op, "f32", (8, 512, 20, 20), "max", 5, 1, 2) for op in ("pool2d", "pool2d_grad")]
    return listed
