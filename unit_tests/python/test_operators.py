# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operator, with arrays of every library that is there."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import unittest
from typing import Any, Callable

import numpy as np
import portops
from operator_cases import CASES, Case, changed, expected, values_of
from portops._schema import OPERATORS


def libraries() -> dict[str, Callable[[np.ndarray], Any]]:
    """From NumPy's arrays to those of each library, and `on_host` back."""
    found: dict[str, Callable[[np.ndarray], Any]] = {"numpy": lambda array: array}
    try:
        torch = importlib.import_module("torch")
        found["torch"] = lambda array: torch.from_numpy(np.asarray(array, order="C"))
    except ImportError:
        pass
    try:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        found["jax"] = jax.numpy.asarray
    except ImportError:
        pass
    if "cuda" in portops.backends():
        try:
            found["cupy"] = importlib.import_module("cupy").asarray
        except ImportError:
            pass
    return found


LIBRARIES = libraries()


def on_host(array: Any) -> np.ndarray:
    # CuPy does not convert by itself.
    return array.get() if type(array).__module__.startswith("cupy") else np.asarray(array)


def outputs_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


class OperatorsTest(unittest.TestCase):
    def check(self, name: str, result: Any, case: Case, count: int | None = None, rtol: float = 1e-9) -> None:
        for output, reference in zip(outputs_of(result), expected(case)):
            if reference is None:
                self.assertIsNone(output, name)
                continue
            got = values_of(output)
            if isinstance(reference, list):
                self.assertEqual(len(got), len(reference))
            pairs = zip(got, reference) if isinstance(reference, list) else [(got, reference)]
            for one, other in pairs:
                one = on_host(one)
                # merged rows are the first ones.
                one = one if count is None or one.ndim == 0 else one[:count]
                self.assertEqual(one.shape, other.shape, name)
                np.testing.assert_allclose(one, other, rtol=rtol, err_msg=name)

    def count(self, name: str, case: Case) -> int | None:
        return int(expected(case)[2]) if name in ("merge_rows", "embedding_sparse_gradient") else None

    def test_every_operator_has_a_case(self) -> None:
        self.assertEqual([name for name in portops.operators if not name.endswith("_grad") and name not in CASES], [])

    def test_values_in_the_callers_library(self) -> None:
        for library, convert in LIBRARIES.items():
            for name, case in CASES.items():
                if name not in portops.operators:
                    continue
                with self.subTest(library=library, operator=name):
                    arguments = {key: changed(value, convert) for key, value in case.arguments.items()}
                    before = copy.deepcopy({key: values_of(value) for key, value in arguments.items()})
                    result = getattr(portops, name)(**arguments)
                    self.check(name, result, case, self.count(name, case))
                    first = values_of(outputs_of(result)[0])
                    first = first[0] if isinstance(first, list) else first
                    self.assertEqual(type(first), type(convert(np.zeros(1))))
                    for key, value in arguments.items():
                        after = values_of(value)
                        if hasattr(after, "__dlpack__"):
                            np.testing.assert_array_equal(on_host(after), on_host(before[key]), f"{name} changed {key}")

    def test_on_every_backend_in_both_modes(self) -> None:
        for backend in portops.backends():
            if backend == "cuda":
                continue
            for deterministic in (False, True):
                with portops.context(backend=backend, deterministic=deterministic):
                    for name, case in CASES.items():
                        if name in portops.operators:
                            self.check(name, getattr(portops, name)(**case.arguments), case, self.count(name, case))

    def test_strided_arrays_are_read_where_they_lie(self) -> None:
        def strided(array: np.ndarray) -> np.ndarray:
            if array.dtype == np.int64:
                return array
            wide = np.zeros([2 * extent for extent in array.shape])
            view = wide[(..., *(slice(None, None, -2) for _ in array.shape))]
            view[...] = array
            return view

        for name, case in CASES.items():
            if name in portops.operators:
                with self.subTest(operator=name):
                    arguments = {key: changed(value, strided) for key, value in case.arguments.items()}
                    self.check(name, getattr(portops, name)(**arguments), case, self.count(name, case))

    def test_outputs_that_are_given_are_written_to(self) -> None:
        for name, case in CASES.items():
            if name not in portops.operators:
                continue
            with self.subTest(operator=name):
                function = getattr(portops, name)
                first = function(**case.arguments)
                given = {}
                fields = [output.name for output in OPERATORS[name].outputs]
                for key, output in zip(fields, outputs_of(first)):
                    if output is not None:
                        given[key] = changed(values_of(output), lambda array: np.full_like(array, 99))
                second = function(**case.arguments, **given)
                self.check(name, second, case, self.count(name, case))
                for key, output in zip(given, (each for each in outputs_of(second) if each is not None)):
                    output = values_of(output)
                    same = output is given[key] or all(one is other for one, other in zip(output, given[key]))
                    self.assertTrue(same, f"{name}: {key} is another array than the one given")

    def test_in_place(self) -> None:
        for name, case in CASES.items():
            if name not in portops.operators or not case.in_place:
                continue
            with self.subTest(operator=name):
                arguments = {key: changed(value, lambda array: array.copy()) for key, value in case.arguments.items()}
                outputs = {target: arguments[source] for source, target in case.in_place}
                self.check(name, getattr(portops, name)(**arguments, **outputs), case)

    def test_float32_float16(self) -> None:
        for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-2)):
            for name, case in CASES.items():
                if name not in portops.operators:
                    continue
                with self.subTest(operator=name, dtype=dtype):
                    sums = {key: np.float32 for key in case.sums}
                    arguments = {
                        key: changed(value, lambda array: array if array.dtype == np.int64 else array.astype(sums.get(key, dtype)))  # noqa: B023
                        for key, value in case.arguments.items()
                    }
                    result = getattr(portops, name)(**arguments)
                    self.check(name, result, case, self.count(name, case), tolerance)


class GradientsTest(unittest.TestCase):
    """Gradients beside central differences of the operator itself."""

    def arguments(self, name: str, case: Case) -> tuple[dict[str, Any], Any]:
        """What the gradient takes, its output gradients being those of the sum of all, weighed."""
        outputs = OPERATORS[name].outputs
        parameters = inspect.signature(getattr(portops, name + "_grad")).parameters
        needed = {key for key, parameter in parameters.items() if parameter.default is inspect.Parameter.empty}
        saved = {output.name: True for output in outputs if output.optional and output.name in needed}
        result = outputs_of(getattr(portops, name)(**case.arguments, **saved))
        factors = np.random.default_rng(5)
        out_grad = changed(values_of(result[0]), lambda array: np.asarray(factors.uniform(0.5, 1.5, array.shape)))
        given = {key: value for key, value in case.arguments.items() if key in parameters}
        given[f"{outputs[0].name}_grad"] = out_grad
        for output, made in zip(outputs, result):
            if output.name in needed:
                given[output.name] = values_of(made)
        return given, out_grad

    def loss(self, name: str, arguments: dict[str, Any], out_grad: Any) -> float:
        out = values_of(outputs_of(getattr(portops, name)(**arguments))[0])
        if isinstance(out, list):
            return float(sum((one * grad).sum() for one, grad in zip(out, out_grad)))
        return float((out * out_grad).sum())

    def test_beside_central_differences(self) -> None:
        step = 1e-6
        for name, case in CASES.items():
            gradient = name + "_grad"
            if gradient not in portops.operators:
                continue
            given, out_grad = self.arguments(name, case)
            function = getattr(portops, gradient)
            result = function(**given)
            outputs = [parameter for parameter in inspect.signature(function).parameters if parameter.endswith("_grad")]
            fields = getattr(result, "_fields", outputs[-1:])
            for field, computed in zip(fields, outputs_of(result)):
                variable = field.removesuffix("_grad")
                with self.subTest(operator=gradient, variable=variable):
                    if computed is None:
                        self.assertNotIsInstance(case.arguments.get(variable), np.ndarray)
                        continue
                    originals = case.arguments[variable]
                    arrays = values_of(originals) if isinstance(originals, list) else [values_of(originals)]
                    gradients = values_of(computed) if isinstance(computed, list) else [values_of(computed)]
                    for array, grad in zip(arrays, gradients):
                        self.assertEqual(array.shape, grad.shape)
                        for place in list(np.ndindex(array.shape))[:: max(1, array.size // 7)]:
                            kept = array[place]
                            sides = []
                            for side in (step, -step):
                                array[place] = kept + side
                                sides.append(self.loss(name, case.arguments, out_grad))
                            array[place] = kept
                            self.assertAlmostEqual(grad[place], (sides[0] - sides[1]) / (2 * step), delta=2e-6)

    def test_unwanted_gradients_are_not_computed(self) -> None:
        x, y = np.ones((2, 3)), np.ones(3)
        result = portops.lerp_grad(x, y, x, 0.5, x_grad=False)
        self.assertIsNone(result.x_grad)
        np.testing.assert_array_equal(result.y_grad, np.full(3, 1.0))
        self.assertIsNone(result.weight_grad)  # there is no tensor whose gradient it is
        with self.assertRaisesRegex(portops.Error, r"weight_grad cannot be computed: weight is the number 0\.5"):
            portops.lerp_grad(x, y, x, 0.5, weight_grad=True)

    def test_optional_outputs(self) -> None:
        x = portops.Ragged(np.array([[1.0], [3.0], [2.0]]), portops.Levels.from_lengths([2, 1]))
        self.assertIsNone(portops.sequence_pool(x, "max").index)
        np.testing.assert_array_equal(portops.sequence_pool(x, "max", index=True).index, [[1], [2]])
        index = np.zeros((2, 1), np.int64)
        self.assertIs(portops.sequence_pool(x, "max", index=index).index, index)
        with self.assertRaisesRegex(portops.Error, "out is False, but it is always computed"):
            portops.sequence_pool(x, out=False)


class LevelsTest(unittest.TestCase):
    def test_levels(self) -> None:
        levels = portops.Levels([[0, 1, 2], [0, 4, 9]])
        self.assertEqual((levels.depth, levels.rows), (2, 9))
        self.assertEqual(levels.lengths(), [4, 5])
        self.assertEqual(levels.offsets(0), [0, 1, 2])
        self.assertEqual(levels.upper(), portops.Levels([[0, 1, 2]]))
        self.assertIsNone(levels.upper().upper())
        self.assertEqual(levels, portops.Levels([[0, 1, 2], [0, 4, 9]]))
        self.assertEqual(hash(levels), hash(portops.Levels([[0, 1, 2], [0, 4, 9]])))
        self.assertNotEqual(levels, portops.Levels([[0, 9]]))
        self.assertEqual(repr(portops.Levels([[0, 2]])), "portops.Levels([[0, 2]])")
        self.assertEqual(pickle.loads(pickle.dumps(levels)), levels)
        for wrong in ([[0, 2, 1]], [[1, 2]], [[]], []):
            with self.assertRaises(portops.Error):
                portops.Levels(wrong)
        with self.assertRaises(portops.Error):
            portops.Levels.from_lengths([-1])
        with self.assertRaises(IndexError):
            levels.offsets(2)
        with self.assertRaises(TypeError):
            portops.Levels("abc")

    def test_levels_travel(self) -> None:
        x = np.ones((5, 2))
        levels = portops.Levels([[0, 2], [0, 2, 5]])
        ragged = portops.Ragged(x, levels)
        self.assertEqual(portops.add(ragged, 1.0).levels, levels)
        self.assertEqual(portops.sequence_reverse(ragged).levels, levels)
        self.assertEqual(portops.sequence_pool(ragged).out.levels, portops.Levels([[0, 2]]))
        self.assertIsInstance(portops.sequence_pool(portops.Ragged(x, portops.Levels([[0, 2, 5]]))).out, np.ndarray)
        with self.assertRaisesRegex(portops.Error, "expected 5 rows"):
            portops.sequence_reverse(portops.Ragged(x[:4], levels))
        with self.assertRaisesRegex(portops.Error, "x has no levels, expected a ragged tensor"):
            portops.sequence_reverse(x)
        self.assertIn("[0, 2, 5]", repr(ragged))


if __name__ == "__main__":
    unittest.main()
