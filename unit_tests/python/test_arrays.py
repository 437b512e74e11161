# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which arrays are taken, and how those are refused that are not: by portops.Error, with the argument named."""

from __future__ import annotations

import ctypes
import importlib.util
import random
import unittest
from typing import Any

import numpy as np
import portops


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    pass


class Versioned(ctypes.Structure):
    pass


MANAGED_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
VERSIONED_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Versioned))
Managed._fields_ = [("dl_tensor", DlTensor), ("context", ctypes.c_void_p), ("deleter", MANAGED_DELETER)]
Versioned._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("context", ctypes.c_void_p),
    ("deleter", VERSIONED_DELETER),
    ("flags", ctypes.c_uint64),
    ("dl_tensor", DlTensor),
]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Exporter:
    """An array of no library, whose DLPack tensor says whatever it is told to."""

    def __init__(self, extents: tuple[int, ...] = (3,), version: tuple[int, int] | None = (1, 0), flags: int = 0, **fields: Any):
        self.memory = np.zeros(1024)  # what lies around the elements is the test's own, for strides of either sign
        self.shape = (ctypes.c_int64 * max(1, len(extents)))(*extents)
        self.deleted = 0
        self.asked: list[dict[str, Any]] = []
        self.device = (fields.get("device_type", 1), fields.get("device_id", 0))
        tensor = DlTensor(
            self.memory.ctypes.data + 8 * 512, *self.device, fields.get("ndim", len(extents)), 2, 64, 1, self.shape, None, 0
        )
        for name, value in fields.items():
            setattr(tensor, name, value)
        if version is None:
            self.deleter: Any = MANAGED_DELETER(self.note)
            self.managed: Any = Managed(tensor, None, self.deleter)
            self.name = b"dltensor"
        else:
            self.deleter = VERSIONED_DELETER(self.note)
            self.managed = Versioned(*version, None, self.deleter, flags, tensor)
            self.name = b"dltensor_versioned"

    def note(self, _: Any) -> None:
        self.deleted += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


class Old(Exporter):
    """A library of before DLPack 1.0."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return super().__dlpack__()


class ArraysTest(unittest.TestCase):
    def refuses(self, message: str, x: Any, **arguments: Any) -> None:
        with self.assertRaisesRegex(portops.Error, message):
            portops.add(x, np.zeros(3), **arguments)

    def test_a_foreign_array(self) -> None:
        for array in (Exporter(), Exporter(version=None), Old(version=None), Exporter(version=(1, 7))):
            array.memory[512:515] = [1, 2, 3]
            out = portops.add(array, np.ones(3))
            self.assertIsInstance(out, np.ndarray)
            np.testing.assert_array_equal(out, [2, 3, 4])
            self.assertEqual(array.deleted, 1, "handed back once")
        self.assertEqual(array.asked, [{"stream": None, "max_version": (1, 3)}])

    def test_into_a_foreign_array(self) -> None:
        array = Exporter()
        self.assertIs(portops.add(np.ones(3), 1.0, out=array), array)
        np.testing.assert_array_equal(array.memory[511:516], [0, 2, 2, 2, 0])

    def test_what_is_refused_is_handed_back(self) -> None:
        for array, message in (
            (Exporter(version=(2, 0)), r"portops::add: x comes by DLPack 2\.0, expected a version 1"),
            (Exporter(code=5), "x has the DLPack type"),
            (Exporter(lanes=2), "x has the DLPack type"),
            (Exporter(bits=8), "x has the DLPack type"),
            (Exporter(device_type=10), "x has the DLPack device type 10"),
            (Exporter(ndim=-1), "x has ndim -1, expected 0 to 8"),
            (Exporter(ndim=9), "x has ndim 9"),
            (Exporter(shape=None), "x has ndim 1, but shape is NULL"),
            (Exporter((-3,)), "x has extents .-3., expected none negative"),
            (Exporter((2**60,)), "more elements than a process can address"),
            (Exporter((2**40, 2**40)), "more elements than a process can address"),
            (Exporter(data=None), "x"),
        ):
            self.refuses(message, array)
            self.assertEqual(array.deleted, 1)

    def test_outputs_that_nobody_may_write_to(self) -> None:
        x = np.ones(3)
        self.refuses("out is read-only, expected an array to write to", x, out=Exporter(flags=1))
        self.refuses("out is handed over as a copy", x, out=Exporter(flags=2))
        fixed = np.zeros(3)
        fixed.flags.writeable = False
        self.refuses("out is read-only", x, out=fixed)
        np.testing.assert_array_equal(portops.add(fixed, 1.0), np.ones(3))
        self.refuses("out is read-only", x, out=np.broadcast_to(0.0, (3,)))

    def test_objects_that_are_no_arrays(self) -> None:
        self.refuses("portops::add: x is a list, expected an array that has __dlpack__", [1.0, 2.0])
        self.refuses("x is a str", "x")
        self.refuses("x is a float", 1.0)
        self.refuses("x is missing, expected a tensor", None)
        self.refuses("out is a int", np.zeros(3), out=3)
        with self.assertRaisesRegex(portops.Error, r"x\[1\] is a NoneType|x\[1\] is None"):
            portops.concat([np.zeros(3), None])
        with self.assertRaisesRegex(portops.Error, "x is a ndarray, expected a sequence of arrays"):
            portops.concat(np.zeros(3))
        with self.assertRaisesRegex(portops.Error, "context is a dict, expected a portops.context"):
            portops.add(np.zeros(3), 1.0, context={})

        class Failing:
            def __dlpack__(self, **_: Any) -> Any:
                raise BufferError("not today")

            def __dlpack_device__(self) -> tuple[int, int]:
                return (1, 0)

        self.refuses("portops::add: x: not today", Failing())

        class Strange(Failing):
            def __dlpack__(self, **_: Any) -> Any:
                return "capsule"

        self.refuses("x gives no DLPack capsule", Strange())

        class Interrupted(Failing):
            def __dlpack__(self, **_: Any) -> Any:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            portops.add(Interrupted(), 1.0)

    def test_element_types(self) -> None:
        self.refuses("y has element type f64, expected f32", np.zeros(3, np.float32))
        self.refuses("x has element type i64", np.zeros(3, np.int64))
        for dtype in (np.complex128, np.int8, np.bool_):
            with self.assertRaisesRegex(portops.Error, "portops::add: x has the DLPack type"):
                portops.add(np.zeros(3, dtype), 1.0)
        with self.assertRaises(portops.Error):
            portops.add(np.array(["a"]), 1.0)

    def test_an_error_is_a_value_error(self) -> None:
        self.assertTrue(issubclass(portops.Error, ValueError))

    def test_attributes(self) -> None:
        x = np.ones((2, 3))
        self.assertAlmostEqual(portops.p_norm(x, "fro", asvector=True).item(), 6**0.5)
        self.assertEqual(portops.p_norm(x, np.inf, axis=(0, 1), keepdim=np.True_).shape, (1, 1))
        self.assertEqual(portops.p_norm(x, np.float32(1), axis=np.int64(0)).tolist(), [2, 2, 2])
        for arguments, message in (
            ({"porder": "many"}, "porder is the text 'many', expected a number or fro"),
            ({"porder": [2]}, "porder is a list, expected a number"),
            ({"axis": 0.5}, "axis is a float, expected an integer or a sequence of integers"),
            ({"axis": "0"}, "axis is a str"),
            ({"axis": [0, "1"]}, "axis is a str"),
            ({"axis": 2**70}, "axis: .*too (big|large)"),
            ({"axis": True}, "axis is a bool"),
            ({"keepdim": 1}, "keepdim is a int, expected a boolean"),
        ):
            with self.subTest(**arguments), self.assertRaisesRegex(portops.Error, message):
                portops.p_norm(x, **arguments)
        with self.assertRaisesRegex(portops.Error, "pooltype is a int, expected a text"):
            portops.sequence_pool(portops.Ragged(x, portops.Levels([[0, 2]])), 3)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'power'"):
            portops.p_norm(x, power=2)  # type: ignore[call-arg]
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument: 'shape'"):
            portops.reshape(x)  # type: ignore[call-arg]

    def test_anything_ends_in_an_error_or_a_result(self) -> None:
        choose = random.Random(1)
        wild = [-(2**63), -1, 0, 1, 2, 3, 2**31, 2**59, 2**62, 2**63 - 1]
        # Those of which a call that is right otherwise would read: near the elements, or refused.
        strides = [-(2**63), -(2**61), -2, -1, 0, 1, 2, 2**59, 2**62, 2**63 - 1]
        fields = {
            "device_type": [0, 1, 2, 3, 13, 99],
            "device_id": [0, -1, 7],
            "ndim": [-(2**31), -1, 0, 1, 2, 8, 9, 2**31 - 1],
            "code": [0, 1, 2, 4, 255],
            "bits": [0, 16, 32, 64],
            "lanes": [0, 1, 65535],
            "byte_offset": [0, 8, 2**58, 2**63, 2**64 - 1],
        }
        refused = 0
        for _ in range(3000):
            extents = tuple(choose.choice(wild) if choose.random() < 0.3 else 3 for _ in range(8))
            some = {name: choose.choice(values) for name, values in fields.items() if choose.random() < 0.15}
            # As many extents as there are: what is said of more cannot be read.
            array = Exporter(extents, version=choose.choice([None, (1, 0)]), **{"ndim": 1, **some})
            if choose.random() < 0.2:
                array.strides = (ctypes.c_int64 * 8)(*(choose.choice(strides) for _ in range(8)))
                array.managed.dl_tensor.strides = array.strides
            with portops.context(backend=portops.backends()[-1]):
                try:
                    portops.add(array, np.zeros(3), out=np.zeros(3))
                except portops.Error as error:
                    refused += 1
                    self.assertRegex(str(error), "^portops")
            self.assertEqual(array.deleted, len(array.asked))
        self.assertGreater(refused, 1000)
        self.assertLess(refused, 3000)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class TorchArraysTest(unittest.TestCase):
    def test_every_element_type_and_layout(self) -> None:
        import torch

        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            x = torch.arange(24, dtype=dtype).reshape(2, 3, 4)
            for view in (x, x.permute(2, 0, 1), x[:, ::2], x[:1].expand(5, 3, 4), x[0, 0, 0]):
                out = portops.add(view, 1.0)
                self.assertEqual((out.dtype, out.shape), (dtype, view.shape))
                self.assertTrue(torch.equal(out, view + 1))

    def test_gradients_are_not_lost(self) -> None:
        import torch

        x = torch.ones(3, requires_grad=True)
        with self.assertRaisesRegex(portops.Error, r"x requires a gradient.*portops\.torch\.add"):
            portops.add(x, 1.0)
        with torch.no_grad():
            self.assertEqual(portops.add(x, 1.0).tolist(), [2, 2, 2])
        self.assertEqual(portops.add(x.detach(), 1.0).tolist(), [2, 2, 2])

    def test_libraries_may_be_mixed(self) -> None:
        import torch

        out = portops.lerp(np.zeros(3), torch.full((3,), 8.0, dtype=torch.float64), 0.25)
        self.assertIsInstance(out, np.ndarray)
        self.assertEqual(out.tolist(), [2, 2, 2])

    def test_tensors_of_other_devices_and_kinds(self) -> None:
        import torch

        for x in (torch.ones(3, device="meta"), torch.ones(3).to_sparse(), torch.ones(3, dtype=torch.int8)):
            with self.assertRaisesRegex(portops.Error, "^portops::add: x"):
                portops.add(x, 1.0)


@unittest.skipUnless(importlib.util.find_spec("jax"), "JAX is not installed")
class JaxArraysTest(unittest.TestCase):
    def test_arrays_that_nobody_may_write_to(self) -> None:
        import jax.numpy as jnp

        out = portops.add(jnp.ones(3, jnp.float32), 1.0)
        self.assertEqual(type(out), type(jnp.ones(3)))
        with self.assertRaisesRegex(portops.Error, "out is read-only"):
            portops.add(jnp.ones(3, jnp.float32), 1.0, out=jnp.ones(3, jnp.float32))


@unittest.skipUnless("cuda" in portops.backends() and importlib.util.find_spec("cupy"), "CuPy or a GPU is missing")
class CupyArraysTest(unittest.TestCase):
    def test_on_the_current_stream_in_place_and_strided(self) -> None:
        import cupy

        x = cupy.arange(24, dtype=np.float32).reshape(4, 6)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            stream.synchronize()
            y = x[::2, ::-1] * 2  # on this stream alone
            out = portops.add(y, 1.0)
            portops.add(out, 1.0, out=out)
            result = out.get()
        self.assertEqual(type(out), cupy.ndarray)
        np.testing.assert_array_equal(result, x.get()[::2, ::-1] * 2 + 2)

    def test_beside_arrays_of_the_host(self) -> None:
        import cupy

        with self.assertRaisesRegex(portops.Error, "^portops::add: [xy]"):
            portops.add(cupy.ones(3), np.ones(3))


if __name__ == "__main__":
    unittest.main()
