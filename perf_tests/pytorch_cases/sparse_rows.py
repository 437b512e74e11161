# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""merge_rows, the steps sparse_sgd and sparse_adam by a gradient that is not merged, embedding,
embedding_grad and embedding_sparse_gradient."""
import math

import torch

from .common import NAMES, Case

LEARNING_RATE, BETAS, EPSILON, STEP = 1e-3, (0.9, 0.999), 1e-8, 3


def places(rows, height, spread):
    """Where the rows lie in the table, the same for every set of tensors."""
    generator = torch.Generator().manual_seed(7)
    if spread == "distinct":
        return torch.randperm(height, generator=generator)[:rows]
    if spread == "one":
        return torch.zeros(rows, dtype=torch.int64)
    if spread == "zipf":
        uniform = torch.rand(rows, generator=generator, dtype=torch.float64)
        return ((uniform * math.log(height + 1)).exp().long() - 1).clamp(max=height - 1)
    return torch.randint(height, (rows,), generator=generator)


class SparseRows(Case):
    def __init__(self, op, dtype, rows, columns, height, spread, outputs):
        super().__init__(op, dtype, outputs)
        self.columns, self.height, self.spread = columns, height, spread
        self.places = places(rows, height, spread)
        self.unique = self.places.unique().numel()

    def name(self):
        return f"{self.op} {self.dtype} [{len(self.places)}, {self.columns}] of {self.height} {self.spread}"

    def gradient(self, device):
        return {"rows": self.places.to(device), "values": self.random((len(self.places), self.columns), device)}

    def row_bytes(self):
        return self.columns * self.element_size()

    def sums(self, values):
        """The sum and the sum of magnitudes of each row that occurs, and where they lie."""
        unique, inverse = values["rows"].unique(return_inverse=True)
        wide = values["values"].double()
        zeros = wide.new_zeros((len(unique), self.columns))
        return unique, zeros.index_add(0, inverse, wide), zeros.index_add(0, inverse, wide.abs())

    def sparse(self, values):
        return torch.sparse_coo_tensor(values["rows"][None], values["values"], (self.height, self.columns),
                                       check_invariants=False)


class MergeRows(SparseRows):
    def __init__(self, dtype, rows, columns, height, spread):
        super().__init__("merge_rows", dtype, rows, columns, height, spread, ["out_rows", "out_values", "count"])

    def tensors(self, device):
        values = self.gradient(device)
        return {**values, "height": self.height, "out_rows": torch.zeros_like(values["rows"]),
                # What is behind the merged rows is left as it is.
                "out_values": torch.zeros_like(values["values"]),
                "count": torch.zeros((), dtype=torch.int64, device=device)}

    def bytes(self):
        return len(self.places) * (self.row_bytes() + 16) + self.unique * self.row_bytes()

    def expected(self, values):
        unique, sums, magnitudes = self.sums(values)
        if not torch.equal(values["out_rows"][:len(unique)], unique) or values["count"].item() != len(unique):
            raise RuntimeError(f"{self.name()}: out_rows or count is wrong")
        rest = len(self.places) - len(unique)
        return {"out_values": (torch.nn.functional.pad(sums, (0, 0, 0, rest)), magnitudes.max())}

    def torch_call(self, values, compiled):
        sparse = self.sparse(values)
        return None if compiled else lambda: sparse.coalesce()


class SparseStep(SparseRows):
    """A step in place. `tables` are the tensors of the table's extents."""

    def __init__(self, op, tables, *shape):
        super().__init__(op, *shape, [f"{table}_out" for table in tables])
        self.tables, self.before = tables, {}

    def attributes(self):
        raise NotImplementedError

    def tensors(self, device):
        values = {**self.gradient(device), **self.attributes()}
        for table in self.tables:
            made = self.random((self.height, self.columns), device)
            values[table] = values[f"{table}_out"] = made.abs() + 0.5 if table == "moment2" else made
        if not self.before:  # the first set is checked
            self.before = {table: values[table].clone() for table in self.tables}
        return values

    def bytes(self):
        return len(self.places) * (self.row_bytes() + 8) + 2 * len(self.tables) * self.unique * self.row_bytes()

    def expected(self, values):
        unique, sums, magnitudes = self.sums(values)
        wide = {table: tensor.double() for table, tensor in self.before.items()}
        after = self.step({table: tensor[unique] for table, tensor in wide.items()}, sums)
        return {f"{table}_out": (wide[table].index_copy(0, unique, after[table]), 1.0 + magnitudes.max())
                for table in self.tables}

    def step(self, tables, gradient):
        raise NotImplementedError


class SparseSgd(SparseStep):
    def __init__(self, *shape):
        super().__init__("sparse_sgd", ["param"], *shape)

    def attributes(self):
        return {"learning_rate": LEARNING_RATE}

    def step(self, tables, gradient):
        return {"param": tables["param"] - LEARNING_RATE * gradient}

    def torch_call(self, values, compiled):
        if compiled:
            return None
        param, gradient = values["param"].clone(), self.sparse(values)
        return lambda: param.add_(gradient, alpha=-LEARNING_RATE)  # what torch.optim.SGD does


class SparseAdam(SparseStep):
    def __init__(self, *shape):
        super().__init__("sparse_adam", ["param", "moment1", "moment2"], *shape)

    def attributes(self):
        return {"learning_rate": LEARNING_RATE, "beta1": BETAS[0], "beta2": BETAS[1], "beta1_pow": BETAS[0] ** STEP,
                "beta2_pow": BETAS[1] ** STEP, "epsilon": EPSILON}

    def step(self, tables, gradient):
        moment1 = BETAS[0] * tables["moment1"] + (1 - BETAS[0]) * gradient
        moment2 = BETAS[1] * tables["moment2"] + (1 - BETAS[1]) * gradient ** 2
        step = moment1 / (1 - BETAS[0] ** STEP) / ((moment2 / (1 - BETAS[1] ** STEP)).sqrt() + EPSILON)
        return {"param": tables["param"] - LEARNING_RATE * step, "moment1": moment1, "moment2": moment2}

    def torch_call(self, values, compiled):
        if compiled or self.dtype not in ("f32", "f64"):
            return None
        param = torch.nn.Parameter(values["param"].clone())
        optimizer = torch.optim.SparseAdam([param], lr=LEARNING_RATE, betas=BETAS, eps=EPSILON)
        param.grad = self.sparse(values)
        return optimizer.step


class Embedding(SparseRows):
    def __init__(self, op, dtype, rows, columns, height, spread):
        super().__init__(op, dtype, rows, columns, height, spread, ["out"] if op == "embedding" else ["weight_grad"])

    def tensors(self, device):
        table, looked_up = (self.height, self.columns), (len(self.places), self.columns)
        values = {"ids": self.places.to(device)}
        if not self.is_gradient():
            return {**values, "weight": self.random(table, device), "out": self.poison(looked_up, device)}
        # The gradient needs only the extents of weight.
        weight = torch.empty((1,), device=device, dtype=NAMES[self.dtype]).expand(table)
        return {**values, "weight": weight, "out_grad": self.random(looked_up, device),
                "weight_grad": self.poison(table, device)}

    def bytes(self):
        table = self.height if self.is_gradient() else self.unique
        return len(self.places) * (self.row_bytes() + 8) + table * self.row_bytes()

    def expected(self, values):
        if not self.is_gradient():
            return {"out": (values["weight"].double()[values["ids"]], 1.0)}
        wide = values["out_grad"].double()
        zeros = wide.new_zeros((self.height, self.columns))
        magnitudes = zeros.index_add(0, values["ids"], wide.abs())
        return {"weight_grad": (zeros.index_add(0, values["ids"], wide), magnitudes.max())}

    def torch_call(self, values, compiled):
        v = values
        if self.is_gradient():
            gradient = lambda: torch.ops.aten.embedding_dense_backward(v["out_grad"], v["ids"], self.height, -1, False)
            return None if compiled else gradient
        return None if compiled else lambda: torch.nn.functional.embedding(v["ids"], v["weight"])


class EmbeddingSparseGradient(SparseRows):
    """With row 0 as padding: the most frequent one of a zipf."""

    padding_idx = 0

    def __init__(self, dtype, rows, columns, height, spread):
        super().__init__("embedding_sparse_gradient", dtype, rows, columns, height, spread, ["rows", "values", "count"])
        self.kept = self.places[self.places != self.padding_idx]
        self.unique = self.kept.unique().numel()

    def tensors(self, device):
        looked_up = (len(self.places), self.columns)
        weight = torch.empty((1,), device=device, dtype=NAMES[self.dtype]).expand((self.height, self.columns))
        ids = self.places.to(device)
        return {"weight": weight, "ids": ids, "out_grad": self.random(looked_up, device), "padding_idx": self.padding_idx,
                "rows": torch.zeros_like(ids), "count": torch.zeros((), dtype=torch.int64, device=device),
                # What is behind the merged rows is left as it is.
                "values": torch.zeros(looked_up, device=device, dtype=NAMES[self.dtype])}

    def bytes(self):
        return len(self.places) * 16 + (len(self.kept) + self.unique) * self.row_bytes()

    def expected(self, values):
        kept = values["ids"] != self.padding_idx
        unique, sums, magnitudes = self.sums({"rows": values["ids"][kept], "values": values["out_grad"][kept]})
        if not torch.equal(values["rows"][:len(unique)], unique) or values["count"].item() != len(unique):
            raise RuntimeError(f"{self.name()}: rows or count is wrong")
        rest = len(self.places) - len(unique)
        return {"values": (torch.nn.functional.pad(sums, (0, 0, 0, rest)), magnitudes.max())}

    def torch_call(self, values, compiled):
        v = values
        # What autograd calls of embedding(sparse=True), and what an optimizer does to that first.
        gradient = lambda: torch.ops.aten.embedding_backward(v["out_grad"], v["ids"], self.height, self.padding_idx, False,
                                                             True).coalesce()
        return None if compiled else gradient


def cases(device):
    million = 1000000
    mark = (million, 64, 200000, "uniform")
    shapes = [mark, (million, 64, million, "distinct"), (million, 64, 200000, "zipf")]
    listed = [MergeRows("f32", *shape) for shape in shapes]
    if device == "cuda":
        listed += [MergeRows("f32", 10000, 64, 200000, "uniform"), MergeRows("f32", million, 64, 200000, "one"),
                   MergeRows("f32", million, 7, 200000, "uniform"), MergeRows("f32", 100000, 1000, 50000, "uniform")]
        listed += [MergeRows(dtype, *mark) for dtype in NAMES if dtype != "f32"]
    listed += [kind("f32", *shape) for kind in (SparseSgd, SparseAdam) for shape in shapes]
    if device == "cuda":
        listed += [SparseSgd("f32", 2000, 512, 50000, "uniform"), SparseSgd("f32", 100000, 128, million, "uniform"),
                   SparseSgd("f16", 4000, 256, 20000, "zipf"), SparseAdam("f32", 9000, 96, 30000, "uniform"),
                   SparseSgd("f32", 700, 300, 8000, "zipf"), SparseSgd("f32", 31000, 33, 500000, "uniform"),
                   SparseAdam("f32", 1500, 1024, 40000, "uniform"), MergeRows("f16", 3000, 200, 50000, "zipf")]
        # Not looked at while rows were added in any order.
        listed += [SparseSgd("f32", 5000, 40, 20000, "zipf"), SparseSgd("f32", 300000, 20, 100000, "zipf"),
                   SparseSgd("f32", 9000, 129, 700, "uniform")]
    words = (262144, 64, 200000)
    for op in ("embedding", "embedding_grad"):
        listed += [Embedding(op, "f32", *words, "uniform"), Embedding(op, "f32", *words, "zipf"),
                   Embedding(op, "f32", 65536, 768, 50000, "zipf")]
        if device == "cuda":
            listed += [Embedding(op, "f32", 262144, 33, 200000, "uniform")]
            listed += [Embedding(op, dtype, *words, "uniform") for dtype in NAMES if dtype != "f32"]
    listed += [EmbeddingSparseGradient("f32", *words, "uniform"), EmbeddingSparseGradient("f32", *words, "zipf"),
               EmbeddingSparseGradient("f32", 65536, 768, 50000, "zipf")]
    if device == "cuda":
        listed += [EmbeddingSparseGradient(dtype, *words, "uniform") for dtype in NAMES if dtype != "f32"]
    return listed
