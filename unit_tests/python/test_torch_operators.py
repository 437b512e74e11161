#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of portops.torch: values and gradients, steps, compilers, autocast, switches."""

from __future__ import annotations

import itertools
import sys
import unittest
import warnings
from typing import Any

try:
    from torch_cases import DEVICES, as_list, cases, operands
except unittest.SkipTest as error:
    print(f"skipped: {error}")
    sys.exit(0)

import portops
import portops.torch as pt
import torch
from portops._schema import OPERATORS
from portops.torch import RaggedTensor, _library
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

warnings.filterwarnings("ignore", message=".*undefined gradient support.*")


class Seen(TorchDispatchMode):
    """Writes down the calls that PyTorch's dispatcher comes to."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(str(function))
        return function(*args, **(kwargs or {}))


class WatchersTest(unittest.TestCase):
    """Calls whose kernels are called without PyTorch's dispatcher, and who must see them all the same."""

    def step(self) -> None:
        x = torch.rand(3, requires_grad=True)
        pt.sigmoid(x).sum().backward()

    def test_modes_see_calls_and_gradients(self) -> None:
        with Seen() as seen:
            self.step()
            with torch.no_grad():
                pt.tanh(torch.rand(3))
        names = [each for each in seen.calls if each.startswith("portops")]
        self.assertEqual(names, ["portops.sigmoid.default", "portops.sigmoid_grad.default", "portops.tanh.default"])

    def test_profilers_see_them(self) -> None:
        with torch.profiler.profile() as profile:
            self.step()
        names = {event.key for event in profile.key_averages()}
        self.assertLessEqual({"portops::sigmoid", "portops::sigmoid_grad"}, names)

    def test_function_modes_see_them(self) -> None:
        class Functions(torch.overrides.TorchFunctionMode):
            calls: list[str] = []

            def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                self.calls.append(str(function))
                return function(*args, **(kwargs or {}))

        with Functions() as functions:
            pt.sigmoid(torch.rand(3))
        self.assertIn("portops.sigmoid.default", functions.calls)

    def test_subclasses_see_them(self) -> None:
        mode = FakeTensorMode()
        with mode:
            x = torch.rand(3)
        self.assertIsInstance(pt.sigmoid(x), FakeTensor)
        self.assertEqual(pt.sigmoid(torch.empty(3, device="meta")).device.type, "meta")

    def test_without_watchers_the_dispatcher_is_passed_by(self) -> None:
        call = _library.Call(OPERATORS["p_norm"])
        for device in DEVICES:
            x = torch.rand(3, device=device)
            exact = (x, 2.0, [0], 1e-12, False, False)
            self.assertEqual(call.is_on_gpu(exact), device == "cuda")
            self.assertTrue(call.is_exact(exact))
            with Seen():
                self.assertIsNone(call.is_on_gpu(exact))
            for other in ((x, None, *exact[2:]), (x, 2.0, [True], *exact[3:]), (x, torch.tensor(2.0), *exact[2:])):
                self.assertFalse(call.is_exact(other))

    def test_attributes_are_converted_as_by_the_dispatcher(self) -> None:
        x = torch.rand(3, 4)
        torch.testing.assert_close(pt.clip(x, torch.tensor(0.25), 0.5), x.clamp(0.25, 0.5))
        with self.assertRaises((RuntimeError, TypeError)):
            pt.clip(x, None, 0.5)  # type: ignore[arg-type]

    def test_negated_views_are_read_as_they_are(self) -> None:
        for function in (pt.sigmoid, lambda x: pt.sigmoid(x.detach().requires_grad_())):
            x = torch.complex(torch.rand(3), torch.rand(3)).conj().imag
            self.assertTrue(x.is_neg())
            torch.testing.assert_close(function(x), x.clone().sigmoid())


class ValuesTest(unittest.TestCase):
    def test_every_operator_has_a_case(self) -> None:
        tested = " ".join(cases())
        for op in OPERATORS.values():
            if op.backward and op.name != "deform_conv2d":
                self.assertIn(op.name, tested)

    def test_values_and_gradients(self) -> None:
        for device, (name, case) in itertools.product(DEVICES, cases().items()):
            with self.subTest(name, device=device):
                x, y = operands(case, device), operands(case, device)
                results, expected = as_list(case.call(*x)), as_list(case.expected(*y))
                for result, reference in zip(results, expected):
                    torch.testing.assert_close(result, reference, rtol=1e-12, atol=1e-12)
                sum((each * (i + 2)).sum() for i, each in enumerate(results)).backward()
                sum((each * (i + 2)).sum() for i, each in enumerate(expected)).backward()
                for mine, reference in zip(x, y):
                    grad = torch.zeros_like(reference) if reference.grad is None else reference.grad
                    torch.testing.assert_close(mine.grad, grad, rtol=1e-12, atol=1e-12)

    def test_gradcheck(self) -> None:
        for device, (name, case) in itertools.product(DEVICES, cases().items()):
            with self.subTest(name, device=device):
                self.assertTrue(torch.autograd.gradcheck(case.call, operands(case, device)))

    def test_other_types(self) -> None:
        for device, (name, case) in itertools.product(DEVICES, cases().items()):
            for dtype, error in ((torch.float32, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 4e-2)):
                with self.subTest(name, device=device, dtype=dtype):
                    x = operands(case, device, dtype)
                    y = [each.detach().double().requires_grad_() for each in x]
                    results, expected = as_list(case.call(*x)), as_list(case.expected(*y))
                    for result, reference in zip(results, expected):
                        self.assertEqual(result.dtype, dtype)
                        torch.testing.assert_close(result.double(), reference, rtol=error, atol=error)
                    torch.autograd.grad(results, x, [torch.ones_like(each) for each in results])

    def test_full_like_makes_a_tensor(self) -> None:
        for device in DEVICES:
            x = torch.rand(3, 4, device=device)
            before = x.clone()
            for fill_value in (0.5, torch.tensor(0.5, device=device)):
                torch.testing.assert_close(pt.full_like(x, fill_value), torch.full_like(x, 0.5))
            torch.testing.assert_close(x, before)

    def test_numbers_and_lists(self) -> None:
        x = torch.rand(3, 4)
        torch.testing.assert_close(pt.p_norm(x, "inf", axis=1), x.amax(1))
        torch.testing.assert_close(pt.p_norm(x, axis=0), x.norm(dim=0))
        torch.testing.assert_close(pt.lerp(x, x + 1), x + 0.5)
        with self.assertRaisesRegex(portops.Error, "porder is 'two'"):
            pt.p_norm(x, "two")

    def test_padding_of_an_embedding(self) -> None:
        ids = torch.tensor([[2, 0], [2, 1]])
        tables = [torch.ones(3, 4, requires_grad=True) for _ in range(2)]
        pt.embedding(tables[0], ids, 2).sum().backward()
        torch.nn.functional.embedding(ids, tables[1], 2).sum().backward()
        torch.testing.assert_close(tables[0].grad, tables[1].grad)

    def test_unused_parts(self) -> None:
        x = torch.rand(2, 4, requires_grad=True)
        pt.split(x, [1, 2, 1], 1)[1].sum().backward()
        torch.testing.assert_close(x.grad, torch.tensor([[0.0, 1, 1, 0]] * 2))

    def test_ragged_results(self) -> None:
        x = torch.rand(5, 2)
        levels = portops.Levels([[0, 1, 3], [0, 2, 2, 5]])
        tensors = RaggedTensor(x, tuple(torch.tensor(levels.offsets(level)) for level in range(2)))
        pooled = pt.sequence_pool(portops.Ragged(x, levels), "max", index=True)
        self.assertEqual(pooled.out.levels, levels.upper())
        self.assertEqual(pooled.index.values.dtype, torch.int64)
        self.assertIsNone(pt.sequence_pool(portops.Ragged(x, levels), "max").index)
        self.assertEqual(pt.sequence_pool(tensors).out.levels[0].tolist(), levels.offsets(0))
        last = portops.Levels([levels.offsets(1)])
        for times, y in (([2, 1, 3], None), ([0, 0, 0], None)):
            y = portops.Levels.from_lengths(times)
            mine = pt.sequence_expand(portops.Ragged(x, last), y)
            self.assertEqual(mine.levels, portops.sequence_expand(portops.Ragged(x, last), y).levels)
        joined = pt.sequence_concat([portops.Ragged(x, levels), portops.Ragged(x, levels)])
        self.assertEqual(
            joined.levels, portops.sequence_concat([portops.Ragged(x, levels), portops.Ragged(x, levels)]).levels
        )
        self.assertEqual(pt.add(portops.Ragged(x, levels), x).levels, levels)
        self.assertEqual(pt.add(x, portops.Ragged(x, levels)).levels, levels)
        with self.assertRaisesRegex(portops.Error, "different levels"):
            pt.add(portops.Ragged(x, levels), portops.Ragged(x, last))
        with self.assertRaisesRegex(portops.Error, "expected a portops.Ragged"):
            pt.sequence_softmax(x)

    def test_changed_levels_are_seen(self) -> None:
        x, level = torch.ones(5, 1), torch.tensor([0, 2, 5])
        self.assertEqual(pt.sequence_pool(RaggedTensor(x, (level,)), "sum").out.flatten().tolist(), [2, 3])
        level[1] = 4
        self.assertEqual(pt.sequence_pool(RaggedTensor(x, (level,)), "sum").out.flatten().tolist(), [4, 1])


class StepsTest(unittest.TestCase):
    def test_steps_write_in_place(self) -> None:
        rows, values = torch.tensor([1, 0, 1]), torch.rand(3, 2)
        param = torch.nn.Parameter(torch.rand(4, 2))
        before, version = param.detach().clone(), param._version
        self.assertIsNone(pt.sparse_sgd(param, rows, values, 0.5))
        expected = before.index_add(0, rows, values, alpha=-0.5)
        torch.testing.assert_close(param.detach(), expected)
        self.assertGreater(param._version, version)
        velocity = torch.zeros(4, 2)
        pt.sparse_momentum(param, rows, values, velocity, 0.5)
        torch.testing.assert_close(velocity, torch.zeros(4, 2).index_add(0, rows, values))

    def test_steps_on_lists(self) -> None:
        for device in DEVICES:
            for options in ({}, {"weight_decay": 0.1}, {"maximize": True}):
                for ours, theirs in (
                    (pt.sgd, torch.optim.SGD),
                    (pt.momentum, lambda p, **options: torch.optim.SGD(p, momentum=0.9, **options)),
                    (pt.adam, torch.optim.Adam),
                    (lambda *lists, **options: pt.adam(*lists, decoupled_weight_decay=True, **options), torch.optim.AdamW),
                ):
                    torch.manual_seed(1)
                    mine = [torch.randn(n, 3, device=device, dtype=torch.float64) for n in (4, 0, 70)]
                    reference = [p.clone().requires_grad_() for p in mine]
                    optimizer = theirs(reference, lr=0.1, **{"weight_decay": 0.0, **options})
                    states = [[torch.zeros_like(p) for p in mine] for _ in range(2)]
                    powers = [torch.tensor(beta, dtype=torch.float64, device=device) for beta in (0.9, 0.999)]
                    for _ in range(3):
                        grads = [torch.randn_like(p) for p in mine]
                        for p, grad in zip(reference, grads):
                            p.grad = grad.clone()
                        optimizer.step()
                        kept = {pt.sgd: [], pt.momentum: states[:1]}.get(ours, states)
                        versions = [p._version for p in mine]
                        ours(mine, grads, *kept, 0.1, *(powers if len(kept) == 2 else []), **options)
                        self.assertTrue(all(p._version > version for p, version in zip(mine, versions)))
                    for p, expected in zip(mine, reference):
                        torch.testing.assert_close(p, expected.detach(), rtol=1e-12, atol=1e-12)

    def test_master_parameters_and_skipped_steps(self) -> None:
        for device in DEVICES:
            half = [torch.ones(5, device=device, dtype=torch.float16)]
            master = [torch.ones(5, device=device)]
            grads = [torch.full((5,), 8.0, device=device, dtype=torch.float16)]
            scale = torch.tensor(8.0, device=device)
            pt.sgd(half, grads, 1e-4, master, scale, pt.count_nonfinite(grads))
            torch.testing.assert_close(master[0], torch.full_like(master[0], 1 - 1e-4))
            self.assertTrue(torch.equal(half[0], master[0].half()))
            grads[0][2] = float("inf")
            before = master[0].clone()
            pt.sgd(half, grads, 1e-4, master, scale, pt.count_nonfinite(grads))
            self.assertTrue(torch.equal(master[0], before))

    def test_merged_rows(self) -> None:
        rows, values = torch.tensor([3, 0, 3]), torch.rand(3, 2, requires_grad=True)
        merged = pt.merge_rows(rows, values, 5)
        self.assertEqual((merged.out_rows.tolist(), merged.count.item()), ([0, 3, 5], 2))
        with self.assertRaisesRegex(RuntimeError, "merge_rows has no gradient"):
            merged.out_values[:2].sum().backward()


class CompileTest(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()

    def compare(self, function: Any, *shapes: tuple[int, ...], backend: str = "aot_eager") -> None:
        compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=backend)
        for size in (4, 6, 9):
            x = [torch.rand(size, *shape, requires_grad=True) for shape in shapes]
            y = [each.detach().clone().requires_grad_() for each in x]
            mine, expected = compiled(*x), function(*y)
            torch.testing.assert_close(mine, expected)
            mine.square().sum().backward()
            expected.square().sum().backward()
            for a, b in zip(x, y):
                torch.testing.assert_close(a.grad, b.grad)

    def test_without_graph_breaks(self) -> None:
        self.compare(lambda x, y: pt.lerp(x, pt.add(y, 1.0), 0.25), (3,), (3,))
        self.compare(lambda x: pt.p_norm(pt.reshape(x, [-1, 2]), "fro"), (4,))
        self.compare(lambda x, y: pt.concat([x, *pt.split(y, [1, -1], 1)], 1), (3,), (4,))
        self.compare(lambda x: pt.trace(pt.multiply(x, x)), (5,))

    def test_inductor(self) -> None:
        try:
            self.compare(lambda x, y: pt.multiply(pt.lerp(x, y, x).sin(), y), (3,), (3,), backend="inductor")
        except torch._inductor.exc.InductorError as error:
            self.skipTest(f"no compiler: {error}")

    def test_deform_conv2d(self) -> None:
        def function(x: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
            return pt.deform_conv2d(x, offset, weight, padding=1).relu()

        weight = torch.rand(2, 3, 3, 3)
        self.compare(function, (3, 5, 5), (18, 5, 5))

    def test_ragged(self) -> None:
        def function(values: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
            x = RaggedTensor(values, (level,))
            return pt.sequence_pool(pt.sequence_softmax(x), "max").out

        compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
        for lengths in ([2, 3], [1, 0, 4, 2]):
            level = torch.tensor([0, *itertools.accumulate(lengths)])
            x = torch.rand(sum(lengths), 2, requires_grad=True)
            torch.testing.assert_close(compiled(x, level), function(x, level))

    @torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
    def test_extents_of_data(self) -> None:
        def function(x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
            return pt.sequence_pad(RaggedTensor(x, (level,))).out * 2

        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        x, level = torch.rand(5, 2), torch.tensor([0, 2, 5])
        torch.testing.assert_close(compiled(x, level), function(x, level))


class SwitchesTest(unittest.TestCase):
    def test_autocast(self) -> None:
        for device, dtype in itertools.product(DEVICES, (torch.bfloat16, torch.float16)):
            x = torch.rand(4, 4, device=device, requires_grad=True)
            half, wide = x.detach().to(dtype), x.detach().double()
            weight, offset = torch.rand(1, 1, 1, 1, device=device), torch.zeros(1, 2, 4, 4, device=device)
            with torch.autocast(device, dtype):
                self.assertEqual(pt.add(half, x).dtype, torch.float32)
                self.assertEqual(pt.add(half, half).dtype, dtype)
                self.assertEqual(pt.concat([half, x]).dtype, torch.float32)
                self.assertEqual(pt.p_norm(half).dtype, torch.float32)
                self.assertEqual(pt.p_norm(wide).dtype, torch.float64)
                self.assertEqual(pt.reshape(half, [16]).dtype, dtype)
                image = pt.reshape(x, [1, 1, 4, 4])
                out = pt.deform_conv2d(image, offset, weight)
                self.assertEqual(out.dtype, dtype)
            out.sum().backward()
            self.assertEqual(x.grad.dtype, torch.float32)
            torch.testing.assert_close(x.grad, torch.full_like(x, weight.to(dtype).item()))

    def test_autocast_in_compiled_functions(self) -> None:
        torch._dynamo.reset()

        def function(x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return pt.p_norm(pt.add(x.bfloat16(), x))

        x = torch.rand(3, 4, requires_grad=True)
        out = torch.compile(function, fullgraph=True, backend="aot_eager")(x)
        torch.testing.assert_close(out, function(x))

    def contexts(self, context: Any) -> tuple[Any, Any]:
        return context() and context().deterministic, context() and context().math

    def test_switches(self) -> None:
        matmul = torch.backends.cuda.matmul
        self.assertIsNone(_library.host_context())
        self.assertEqual(self.contexts(_library.device_context), (None, "ieee"))
        was = matmul.allow_tf32
        try:
            torch.use_deterministic_algorithms(True)
            matmul.allow_tf32 = True
            self.assertTrue(_library.host_context().deterministic)
            self.assertEqual(self.contexts(_library.device_context), (True, "tf32"))
        finally:
            torch.use_deterministic_algorithms(False)
            matmul.allow_tf32 = was

    def test_a_context_around_goes_first(self) -> None:
        x = torch.rand(3)
        with portops.context(backend="cuda" if DEVICES == ["cpu"] else portops.backends()[-1]):
            if DEVICES == ["cpu"]:
                with self.assertRaises(portops.Error):  # so it was asked for
                    pt.add(x, 1.0)
        with portops.context(deterministic=False, backend=portops.backends()[-1]):
            torch.use_deterministic_algorithms(True)
            try:
                torch.testing.assert_close(pt.add(x, 1.0), x + 1)
            finally:
                torch.use_deterministic_algorithms(False)

    def test_inference_mode(self) -> None:
        with torch.inference_mode():
            x = torch.rand(5, 2)
            out = pt.sequence_pool(RaggedTensor(pt.add(x, 1.0), (torch.tensor([0, 2, 5]),)))
        self.assertEqual(tuple(out.out.shape), (2, 2))

    def test_cuda_graphs(self) -> None:
        if "cuda" not in DEVICES:
            self.skipTest("no GPU")
        x = torch.rand(64, 64, device="cuda")
        pt.lerp(x, x, 0.5)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = pt.p_norm(pt.lerp(x, pt.add(x, 1.0), 0.5))
        x.fill_(1.0)
        graph.replay()
        torch.testing.assert_close(out, torch.full_like(out, 12.0))


if __name__ == "__main__":
    unittest.main()
