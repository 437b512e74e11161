# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of a built libportops, called by name on PyTorch's tensors through bridge.cpp."""
import ctypes
import types

import torch

TYPES = {torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: 3, torch.int64: 4}
BACKENDS = {"serial": 0, "openmp": 1, "cuda": 2}
MATHS = {"ieee": 0, "tf32": 1}
PRODUCTS = {"automatic": 0, "own": 1, "kokkos_kernels": 2}
# What a message says where the products asked for cannot do a call. That a build does not have them is another thing.
REFUSALS = ("products are kokkos_kernels, expected automatic or own for ",
            "products are kokkos_kernels, expected automatic or own in deterministic mode")

INT, TEXT, POINTER = ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
INTEGERS = ctypes.POINTER(ctypes.c_int64)
# The functions of bridge.cpp: what each returns and takes.
FUNCTIONS = {
    "error": (TEXT,),
    "context": (POINTER, INT, POINTER),
    "set_context": (None, POINTER, INT, INT),
    "set_products": (None, POINTER, INT),
    "finish": (None,),
    "arguments": (POINTER,),
    "delete_arguments": (None, POINTER),
    "set_tensor": (INT, POINTER, TEXT, POINTER, INT, INT, INT, INTEGERS, INTEGERS),
    "set_list": (INT, POINTER, TEXT, INT, ctypes.POINTER(POINTER), INT, INT, INT, INTEGERS, INTEGERS),
    "set_list_levels": (INT, POINTER, TEXT, INTEGERS, INT),
    "set_boolean": (INT, POINTER, TEXT, INT),
    "set_integer": (INT, POINTER, TEXT, ctypes.c_int64),
    "set_number": (INT, POINTER, TEXT, ctypes.c_double),
    "set_integers": (INT, POINTER, TEXT, INTEGERS, INT),
    "set_text": (INT, POINTER, TEXT, TEXT),
    "set_levels": (INT, POINTER, TEXT, INTEGERS, INT),
    "run": (INT, TEXT, POINTER, POINTER),
    "time": (ctypes.c_double, TEXT, POINTER, ctypes.POINTER(POINTER), INT, INT),
}


class Refused(RuntimeError):
    """The products asked for cannot do the call."""


class Levels:
    """One level of offsets; the argument x.levels is that of the ragged tensor x, or of a list x of them the list of
    theirs, of as many sequences each, and comes behind x."""

    def __init__(self, lengths):
        self.offsets = [0]
        for length in lengths:
            self.offsets.append(self.offsets[-1] + length)


class Arguments:
    """The arguments of a call; the tensors among them stay alive with it."""

    def __init__(self, portops, values):
        self.portops, self.values = portops, values
        self.pointer = portops.check(portops.bridge.arguments())
        for name, value in values.items():
            portops.check(self.set(name.encode(), value))

    def __del__(self):
        if getattr(self, "pointer", None):
            self.portops.bridge.delete_arguments(self.pointer)

    def set(self, name, value):
        bridge = self.portops.bridge
        if isinstance(value, torch.Tensor):
            return bridge.set_tensor(self.pointer, name, value.data_ptr(), TYPES[value.dtype], int(value.is_cuda),
                                     value.dim(), integers(value.shape), integers(value.stride()))
        if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
            return self.set_list(name, value)
        if isinstance(value, list) and value and isinstance(value[0], Levels):
            offsets = [offset for levels in value for offset in levels.offsets]
            name = name.removesuffix(b".levels")
            return bridge.set_list_levels(self.pointer, name, integers(offsets), len(value[0].offsets))
        if isinstance(value, Levels):
            name = name.removesuffix(b".levels")
            return bridge.set_levels(self.pointer, name, integers(value.offsets), len(value.offsets))
        if isinstance(value, str):
            return bridge.set_text(self.pointer, name, value.encode())
        if isinstance(value, bool):
            return bridge.set_boolean(self.pointer, name, value)
        if isinstance(value, int):
            return bridge.set_integer(self.pointer, name, value)
        if isinstance(value, float):
            return bridge.set_number(self.pointer, name, value)
        return bridge.set_integers(self.pointer, name, integers(value), len(value))


    def set_list(self, name, tensors):
        """Of one element type and rank, on one device."""
        first, count = tensors[0], len(tensors)
        addresses = (POINTER * count)(*[t.data_ptr() for t in tensors])
        extents, strides = ([n for t in tensors for n in of(t)] for of in (torch.Tensor.size, torch.Tensor.stride))
        return self.portops.bridge.set_list(self.pointer, name, count, addresses, TYPES[first.dtype],
                                            int(first.is_cuda), first.dim(), integers(extents), integers(strides))


class Portops:
    """The operators of a built libportops, called by name on PyTorch's tensors."""

    def __init__(self, path, backend, stream):
        library = ctypes.CDLL(path)
        self.bridge = types.SimpleNamespace()
        for name, (result, *taken) in FUNCTIONS.items():
            function = getattr(library, f"portops_bridge_{name}")
            function.restype, function.argtypes = result, taken
            setattr(self.bridge, name, function)
        self.context = self.check(self.bridge.context(BACKENDS[backend], stream))

    def check(self, result):
        if not result:
            raise self.failure()
        return result

    def failure(self):
        """Of the last call."""
        message = self.bridge.error().decode()
        return (Refused if any(text in message for text in REFUSALS) else RuntimeError)(message)

    def set_context(self, math="ieee", deterministic=False):
        """The options of the calls that follow."""
        self.bridge.set_context(self.context, MATHS[math], deterministic)

    def set_products(self, products):
        """Who computes matrix products, in all calls that follow."""
        self.bridge.set_products(self.context, PRODUCTS[products])

    def arguments(self, values):
        return Arguments(self, values)

    def run(self, op, arguments):
        self.check(self.bridge.run(op.encode(), self.context, arguments.pointer))

    def seconds(self, op, sets, rounds):
        array = (POINTER * len(sets))(*[s.pointer for s in sets])
        result = self.bridge.time(op.encode(), self.context, array, len(sets), rounds)
        if result < 0:
            raise self.failure()
        return result

    def finish(self):
        self.bridge.finish()


def integers(values):
    return (ctypes.c_int64 * len(values))(*values)


def blocking_stream():
    """A stream in order with the default one, where torchvision 0.26 launches deform_conv2d's kernels whatever stream
    is current. PyTorch's own streams are not, and kernels would race."""
    handle = ctypes.c_void_p()
    torch.cuda.check_error(torch.cuda.cudart().cudaStreamCreate(ctypes.addressof(handle)))
    return torch.cuda.ExternalStream(handle.value)


def open_portops(path, device, products=None):
    """On a GPU together with a stream of its own, which becomes PyTorch's. Without `products` they are those of the
    environment."""
    if device == "cpu":
        portops = Portops(path, "openmp", None)
    else:
        stream = blocking_stream()
        torch.cuda.set_stream(stream)
        portops = Portops(path, "cuda", stream.cuda_stream)
    if products:
        portops.set_products(products)
    return portops


def add_products_option(parser):
    parser.add_argument("--products", choices=PRODUCTS, help="who computes portops' matrix products; where these cannot do "
                        "a call, it is left out (default: the environment's)")
