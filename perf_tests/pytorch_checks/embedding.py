# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""embedding and its gradients over a grid of extents of ids, widths, distributions, types and layouts, beside
torch.nn.functional.embedding, and index_add in float64."""
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out
from pytorch_cases.sparse_rows import places

from .common import Check, layouts_of, poison

IDS = ((), (1,), (64,), (65,), (1000,), (40, 25), (10, 4, 25), (100000,), (0,), (3, 0))
WIDTHS = (1, 2, 7, 8, 33, 64, 250)
SPREADS = ("uniform", "zipf", "one")


class EmbeddingCheck(Check):
    def compare(self, name, weight, ids, layout, padding_idx):
        attributes = {"padding_idx": padding_idx}
        turned = tuple(reversed(range(ids.dim())))
        given = ids.permute(turned).contiguous().permute(turned) if layout == "transposed" else ids
        expected = torch.nn.functional.embedding(ids, weight)
        if self.wants(f"embedding {name}"):
            out = poison(expected.shape, weight, layout)
            if self.run(f"embedding {name}", "embedding",
                        {"weight": laid_out(weight, layout), "ids": given, "out": out, **attributes}):
                self.judge_bits(f"embedding {name}", out, expected)
        if self.wants(f"embedding_grad {name}"):
            plain = torch.randn(expected.shape, device=weight.device).to(weight.dtype)
            wide, kept = plain.double().reshape(-1, weight.shape[1]), ids.reshape(-1) != padding_idx
            zeros = torch.zeros(weight.shape, dtype=torch.float64, device=weight.device)
            rows, wide = ids.reshape(-1)[kept], wide[kept]
            weight_grad = poison(weight.shape, weight, layout)
            out_grad = laid_out(plain, layout if layout in layouts_of(plain.dim()) else "contiguous")
            if self.run(f"embedding_grad {name}", "embedding_grad",
                        {"weight": weight, "ids": given, "out_grad": out_grad, "weight_grad": weight_grad, **attributes}):
                self.judge_sums(f"embedding_grad {name}", weight_grad, zeros.index_add(0, rows, wide),
                                zeros.index_add(0, rows, wide.abs()))
        if self.wants(f"embedding_sparse_gradient {name}"):
            self.compare_sparse(f"embedding_sparse_gradient {name}", weight, ids, given, layout, padding_idx)

    def compare_sparse(self, name, weight, ids, given, layout, padding_idx):
        """`given` are ids as they lie."""
        plain = torch.randn((*ids.shape, weight.shape[1]), device=weight.device).to(weight.dtype)
        kept = ids.reshape(-1) != padding_idx
        unique, inverse = ids.reshape(-1)[kept].unique(return_inverse=True)
        wide = plain.double().reshape(-1, weight.shape[1])[kept]
        zeros = wide.new_zeros((len(unique), weight.shape[1]))
        rows, count = torch.full_like(ids.reshape(-1), -7), ids.new_zeros(())
        values = poison((ids.numel(), weight.shape[1]), weight, layout)
        out_grad = laid_out(plain, layout if layout in layouts_of(plain.dim()) else "contiguous")
        if self.run(name, "embedding_sparse_gradient",
                    {"weight": weight, "ids": given, "out_grad": out_grad, "padding_idx": padding_idx, "rows": rows,
                     "values": values, "count": count}):
            rest = unique.new_full((ids.numel() - len(unique),), len(weight))
            self.judge_bits(f"{name}: rows", rows, torch.cat([unique, rest]))
            self.judge_bits(f"{name}: count", count, torch.tensor(len(unique), device=count.device))
            self.judge_sums(f"{name}: values", values[:len(unique)], zeros.index_add(0, inverse, wide),
                            zeros.index_add(0, inverse, wide.abs()))

    def all(self, device):
        for dtype, extents, width, spread in itertools.product(NAMES, IDS, WIDTHS, SPREADS):
            count = torch.Size(extents).numel()
            height = max(count // 3, 1) + 5
            ids = places(count, height, spread).reshape(extents).to(device)
            weight = torch.randn((height, width), device=device).to(NAMES[dtype])
            for layout, padding_idx in itertools.product(layouts_of(2), (-1, 0)):
                name = f"{dtype} ids {list(extents)} of {height} x {width} {spread} {layout} padding {padding_idx}"
                self.compare(name, weight, ids, layout, padding_idx)
