# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sequence_pool and sequence_expand, and their gradients."""
import random

import torch

from .bridge import Levels
from .common import Case


def random_lengths(sequences, mean):
    """From 0 to twice the mean, the mean being exact."""
    generator, lengths = random.Random(1), []
    for _ in range(sequences // 2):
        from_mean = generator.randint(0, mean)
        lengths += [mean + from_mean, mean - from_mean]
    return lengths


class Sequences(Case):
    """So many sequences of a mean length, one of them perhaps very long, of rows of so many columns."""

    def __init__(self, op, dtype, outputs, sequences, mean, columns, longest=0):
        super().__init__(op, dtype, outputs)
        self.lengths, self.columns, self.longest, self.mean = random_lengths(sequences, mean), columns, longest, mean
        if longest:
            self.lengths.insert(sequences // 2, longest)
        self.rows, self.sequences = (sum(self.lengths), columns), (len(self.lengths), columns)

    def shape_name(self):
        longest = f" longest {self.longest}" if self.longest else ""
        return f"{self.dtype} {self.sequences[0]} x {self.mean} x {self.columns}{longest}"

    def bytes(self):
        return self.element_size() * self.columns * (self.rows[0] + self.sequences[0])

    def on_device(self, device):
        """What PyTorch takes instead of levels, made before anything is timed."""
        lengths = torch.tensor(self.lengths, device=device)
        owner = torch.repeat_interleave(torch.arange(len(self.lengths), device=device), lengths)
        return {"lengths": lengths, "owner": owner, "rows": torch.arange(self.rows[0], device=device),
                "offsets": torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])}


class Pool(Sequences):
    MODES = {"sum": "sum", "average": "mean", "max": "max"}  # of torch.segment_reduce

    def __init__(self, op, dtype, pooltype, *shape, index=False):
        """`index`: the maximum's rows are wanted too, which PyTorch does not tell. Its gradient needs them."""
        super().__init__(op, dtype, ["x_grad"] if op.endswith("_grad") else ["out"], *shape)
        self.pooltype, self.index = pooltype, pooltype == "max" and (index or self.is_gradient())

    def name(self):
        with_index = " with index" if self.index and not self.is_gradient() else ""
        return f"{self.op} {self.shape_name()} {self.pooltype}{with_index}"

    def bytes(self):
        return super().bytes() + (8 * self.sequences[0] * self.columns if self.index else 0)

    def tensors(self, device):
        values = {"x": self.random(self.rows, device), "x.levels": Levels(self.lengths), "pooltype": self.pooltype}
        if not self.is_gradient():
            if self.index:
                values["index"] = torch.zeros(self.sequences, dtype=torch.int64, device=device)
            return {**values, "out": self.poison(self.sequences, device)}
        if self.index:
            values["index"] = self.largest(values["x"])
        return {**values, "out_grad": self.random(self.sequences, device), "x_grad": self.poison(self.rows, device)}

    def largest(self, x):
        """The row of each sequence's largest element; −1 where there is none."""
        parts = torch.split(x.cpu(), self.lengths)
        firsts = Levels(self.lengths).offsets
        rows = [part.max(0).indices + first if len(part) else torch.full((self.columns,), -1)
                for part, first in zip(parts, firsts)]
        return torch.stack(rows).to(x.device)

    def expected(self, values):
        where = self.on_device(values["x"].device)
        lengths, owner = where["lengths"][:, None].double(), where["owner"]
        if self.is_gradient():
            out_grad = values["out_grad"].double()
            if self.pooltype == "max":
                spread = torch.where(values["index"][owner] == where["rows"][:, None], out_grad[owner], 0.0)
            else:
                spread = (out_grad / lengths if self.pooltype == "average" else out_grad)[owner]
            return {"x_grad": (spread, spread.abs().max())}
        x = values["x"].double()
        if self.pooltype == "max":
            out = torch.zeros(self.sequences, dtype=x.dtype, device=x.device)
            out.scatter_reduce_(0, owner[:, None].expand_as(x), x, "amax", include_self=False)
            return {"out": (out, out.abs().max())}
        zeros = torch.zeros(self.sequences, dtype=x.dtype, device=x.device)
        sums, magnitudes = zeros.index_add(0, owner, x), zeros.index_add(0, owner, x.abs())
        by = lengths.clamp(min=1.0) if self.pooltype == "average" else 1.0
        return {"out": (sums / by, (magnitudes / by).clamp(min=1e-30))}

    def torch_call(self, values, compiled):
        if compiled:
            return None
        where, x, mode = self.on_device(values["x"].device), values["x"], self.MODES[self.pooltype]
        initial = None if mode == "max" else 0  # of a maximum it is one more element
        reduce = lambda x: torch.segment_reduce(x, mode, lengths=where["lengths"], axis=0, initial=initial, unsafe=True)
        if not self.is_gradient():
            return lambda: reduce(x)
        x = x.detach().requires_grad_()
        out = reduce(x)
        return lambda: torch.autograd.grad(out, x, values["out_grad"], retain_graph=True)

    def yardsticks(self, values):
        where, x = self.on_device(values["x"].device), values["x"]
        mode = self.MODES[self.pooltype]
        if self.is_gradient() or self.dtype == "bf16":
            return {}
        bag = lambda: torch.nn.functional.embedding_bag(where["rows"], x, where["offsets"][:-1], mode=mode)
        calls = {"embedding_bag": bag}
        if mode == "sum":
            zeros = torch.zeros(self.sequences, dtype=x.dtype, device=x.device)
            calls["index_add"] = lambda: zeros.index_add(0, where["owner"], x)
        return calls


class Expand(Sequences):
    def __init__(self, op, dtype, *shape):
        super().__init__(op, dtype, ["x_grad"] if op.endswith("_grad") else ["out"], *shape)

    def name(self):
        return f"{self.op} {self.shape_name()}"

    def tensors(self, device):
        values = {"x": self.random(self.sequences, device), "y.levels": Levels(self.lengths)}
        if not self.is_gradient():
            return {**values, "out": self.poison(self.rows, device)}
        return {**values, "out_grad": self.random(self.rows, device), "x_grad": self.poison(self.sequences, device)}

    def expected(self, values):
        owner = self.on_device(values["x"].device)["owner"]
        if not self.is_gradient():
            out = values["x"].double()[owner]
            return {"out": (out, out.abs().max())}
        out_grad = values["out_grad"].double()
        zeros = torch.zeros(self.sequences, dtype=out_grad.dtype, device=out_grad.device)
        magnitudes = zeros.index_add(0, owner, out_grad.abs())
        return {"x_grad": (zeros.index_add(0, owner, out_grad), magnitudes.clamp(min=1e-30))}

    def torch_call(self, values, compiled):
        if compiled:
            return None
        lengths, x = self.on_device(values["x"].device)["lengths"], values["x"]
        repeat = lambda x: torch.repeat_interleave(x, lengths, dim=0, output_size=self.rows[0])
        if not self.is_gradient():
            return lambda: repeat(x)
        x = x.detach().requires_grad_()
        out = repeat(x)
        return lambda: torch.autograd.grad(out, x, values["out_grad"], retain_graph=True)


def cases(device):
    many, uneven = (4096, 64, 512), (4096, 64, 512, 1000000)
    if device == "cpu":
        many = (1024, 64, 128)
        return [Pool("sequence_pool", "f32", pooltype, *many) for pooltype in ("sum", "average", "max")] + [
            Pool("sequence_pool_grad", "f32", "sum", *many), Expand("sequence_expand", "f32", *many),
            Expand("sequence_expand_grad", "f32", *many)]
    listed = [Pool(op, dtype, pooltype, *many) for op in ("sequence_pool", "sequence_pool_grad")
              for dtype in ("f32", "f16") for pooltype in ("sum", "average", "max")]
    listed += [Pool("sequence_pool", dtype, "max", *many, index=True) for dtype in ("f32", "f16")]
    listed += [Pool("sequence_pool", "f32", "sum", *uneven), Pool("sequence_pool_grad", "f32", "sum", *uneven)]
    tail = (3000, 15, 256, 20000)
    listed += [Pool("sequence_pool", dtype, pooltype, *tail) for dtype in ("f32", "f16") for pooltype in ("sum", "max")]
    listed += [Expand(op, dtype, *many) for op in ("sequence_expand", "sequence_expand_grad")
               for dtype in ("f32", "f16")]
    return listed + [Expand("sequence_expand", "f32", *uneven)]
