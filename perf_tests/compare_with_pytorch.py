#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times portops and PyTorch on the same cases, in one process and on the same memory, and prints the ratios.

    compare_with_pytorch.py --bridge BUILD/perf_tests/libportops_bridge.so [--device cuda|cpu] [--filter TEXT]

On a GPU a time is the sum of the kernels' own time a call, read by PyTorch's profiler for both; on a CPU it is wall
time. Every case rotates through enough sets of inputs that caches cannot serve them; outputs stay where they are, as
those of PyTorch do, whose allocator gives the same memory again. The floor is the least traffic (each input read once,
each output written once) at the rate of a copy measured in the same run. Results are compared with PyTorch's in float64
before they are timed.
"""
import argparse
import ctypes
import json
import statistics
import sys
import time

import torch

TYPES = {torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}
NAMES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
BACKENDS = {"serial": 0, "openmp": 1, "cuda": 2}
# The largest differences from float64 that rounding explains, relative to the largest magnitude.
TOLERANCE = {"f64": 1e-12, "f32": 4e-6, "f16": 2e-3, "bf16": 1.6e-2}


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("type", ctypes.c_int32),
                ("space", ctypes.c_int32), ("is_number", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("extents", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8), ("number", ctypes.c_double)]


class Portops:
    """The operators of a built libportops, called by name on PyTorch's tensors."""

    def __init__(self, path, backend, stream):
        self.lib = ctypes.CDLL(path)
        self.lib.portops_bridge_error.restype = ctypes.c_char_p
        self.lib.portops_bridge_context.restype = ctypes.c_void_p
        self.lib.portops_bridge_arguments.restype = ctypes.c_void_p
        self.lib.portops_bridge_time.restype = ctypes.c_double
        self.context = self.check(self.lib.portops_bridge_context(BACKENDS[backend], ctypes.c_void_p(stream)))
        self.context = ctypes.c_void_p(self.context)

    def check(self, result):
        if not result:
            raise RuntimeError(self.lib.portops_bridge_error().decode())
        return result

    def arguments(self, values):
        array = (Argument * len(values))()
        for to, (name, value) in zip(array, values.items()):
            to.name = name.encode()
            if isinstance(value, torch.Tensor):
                to.data, to.type, to.space, to.rank = value.data_ptr(), TYPES[value.dtype], int(value.is_cuda), value.dim()
                to.extents[:value.dim()] = value.shape
                to.strides[:value.dim()] = value.stride()
            else:
                to.is_number, to.number = 1, value
        return ctypes.c_void_p(self.check(self.lib.portops_bridge_arguments(array, len(values))))

    def run(self, op, arguments):
        self.check(self.lib.portops_bridge_run(op.encode(), self.context, arguments))

    def seconds(self, op, sets, rounds):
        array = (ctypes.c_void_p * len(sets))(*[s.value for s in sets])
        result = self.lib.portops_bridge_time(op.encode(), self.context, array, len(sets), rounds)
        if result < 0:
            raise RuntimeError(self.lib.portops_bridge_error().decode())
        return result


def broadcast(*shapes):
    return tuple(torch.broadcast_shapes(*shapes))


class Case:
    """One row: an operator, an element type and the extents of x, y and weight (None: the number 0.3)."""

    def __init__(self, op, dtype, x, y=None, weight=(), wanted="xy", strided=False):
        self.op, self.dtype, self.x, self.y = op, dtype, tuple(x), tuple(x if y is None else y)
        self.weight = tuple(x) if weight == () else weight
        self.wanted, self.strided = wanted, strided
        self.out = broadcast(self.x, self.y, *([self.weight] if self.weight is not None else []))

    def name(self):
        text = f"{self.op} {self.dtype} {list(self.x)}"
        if self.y != self.x:
            text += f" y {list(self.y)}"
        if self.weight is None:
            text += " w 0.3"
        elif self.weight != self.x:
            text += f" w {list(self.weight)}"
        if self.op == "lerp_grad":
            text += " -> " + ",".join(self.wanted)
        return text + (" transposed" if self.strided else "")

    def tensors(self, device):
        """A fresh set of arguments, outputs poisoned."""
        def make(shape):
            t = torch.randn(shape, device=device, dtype=torch.float32).to(NAMES[self.dtype])
            return t.mT.contiguous().mT if self.strided and t.dim() > 1 else t
        values = {"x": make(self.x), "y": torch.randn(self.y, device=device).to(NAMES[self.dtype])}
        values["weight"] = 0.3 if self.weight is None else torch.rand(self.weight, device=device).to(NAMES[self.dtype])
        poison = lambda shape: torch.full(shape, float("nan"), device=device, dtype=NAMES[self.dtype])
        if self.op == "lerp":
            values["out"] = poison(self.out)
        else:
            values["out_grad"] = torch.randn(self.out, device=device).to(NAMES[self.dtype])
            shapes = {"x": self.x, "y": self.y, "w": self.weight}
            for key in self.wanted:
                values[{"x": "x_grad", "y": "y_grad", "w": "weight_grad"}[key]] = poison(shapes[key])
        return values

    def bytes(self):
        size = torch.tensor([], dtype=NAMES[self.dtype]).element_size()
        count = lambda shape: 1 if shape is None else torch.Size(shape).numel()
        total = {"x": count(self.x), "y": count(self.y), "w": 0 if self.weight is None else count(self.weight),
                 "out": count(self.out)}
        if self.op == "lerp":
            return size * sum(total.values())
        read = total["out"] + total["w"] + (total["x"] + total["y"] if "w" in self.wanted else 0)
        return size * (read + sum(total[key] for key in self.wanted))

    def expected(self, v):
        """The results, computed in float64 on a copy."""
        wide = {k: t.double() if isinstance(t, torch.Tensor) else t for k, t in v.items()}
        x, y, w = wide["x"], wide["y"], wide["weight"]
        if self.op == "lerp":
            return {"out": x + w * (y - x)}
        og = wide["out_grad"]
        terms = {"x": og - w * og, "y": w * og}
        if "w" in self.wanted:
            terms["w"] = og * (y - x)
        names = {"x": "x_grad", "y": "y_grad", "w": "weight_grad"}
        return {names[k]: terms[k].sum_to_size(wide[names[k]].shape) for k in self.wanted}

    def magnitude(self, v, name):
        """What rounding is relative to: the sum of magnitudes."""
        wide = {k: t.double().abs() if isinstance(t, torch.Tensor) else t for k, t in v.items()}
        if self.op == "lerp":
            return (wide["x"] + wide["weight"] * (wide["y"] + wide["x"])).max()
        og, w = wide["out_grad"], wide["weight"]
        term = {"x_grad": og + w * og, "y_grad": w * og}.get(name)
        term = og * (wide["x"] + wide["y"]) if term is None else term
        return term.sum_to_size(v[name].shape).max()

    def torch_call(self, v, compiled):
        if self.op == "lerp":
            return lambda: torch.lerp(v["x"], v["y"], v["weight"], out=v["out"])
        shapes = {k: getattr(self, n) for k, n in (("x", "x"), ("y", "y"), ("w", "weight"))}

        def gradient(x, y, w, og):
            terms = []
            if "x" in self.wanted:
                terms.append((og - w * og).sum_to_size(shapes["x"]))
            if "y" in self.wanted:
                terms.append((w * og).sum_to_size(shapes["y"]))
            if "w" in self.wanted:
                terms.append((og * (y - x)).sum_to_size(shapes["w"]))
            return tuple(terms)

        if compiled:
            gradient = compiled_gradient(gradient, (self.wanted, tuple(shapes.values()), self.dtype))
            return lambda: gradient(v["x"], v["y"], v["weight"], v["out_grad"])
        inputs = [v["x"].detach().requires_grad_("x" in self.wanted), v["y"].detach().requires_grad_("y" in self.wanted)]
        weight = v["weight"]
        if isinstance(weight, torch.Tensor):
            weight = weight.detach().requires_grad_("w" in self.wanted)
        wanted = [t for t in (*inputs, weight) if isinstance(t, torch.Tensor) and t.requires_grad]
        out = torch.lerp(*inputs, weight)
        return lambda: torch.autograd.grad(out, wanted, v["out_grad"], retain_graph=True)


CACHE = {}


def compiled_gradient(gradient, key):
    if key not in CACHE:
        torch._dynamo.reset()
        CACHE[key] = torch.compile(gradient, dynamic=False)
    return CACHE[key]


def lerp_cases(device):
    big = (4, 16, 1024, 1024)
    if device == "cpu":
        return [Case("lerp", "f32", big), Case("lerp", "f32", big, weight=None), Case("lerp", "f16", big),
                Case("lerp", "bf16", big), Case("lerp", "f64", big),
                Case("lerp", "f32", (16384, 4096), (4096,)),
                Case("lerp_grad", "f32", big), Case("lerp_grad", "f32", big, wanted="xyw"),
                Case("lerp_grad", "f32", (16384, 4096), (4096,)),
                Case("lerp_grad", "f32", (16384, 4096), (16384, 1)),
                Case("lerp_grad", "f32", (32, 64, 128, 128), weight=(64, 1, 1), wanted="xyw"),
                Case("lerp_grad", "bf16", big)]
    cases = [Case("lerp", t, big) for t in NAMES]
    cases += [Case("lerp", "f32", big, weight=None), Case("lerp", "f32", (16, 102400)),
              Case("lerp", "f64", (16, 204800)), Case("lerp", "f16", (16, 102400)),
              Case("lerp", "f32", (16384, 4096), (4096,)), Case("lerp", "f32", (16384, 4096), (16384, 1)),
              Case("lerp", "f16", (16384, 4096), (4096,), (16384, 1)),
              Case("lerp", "f32", (32, 64, 128, 128), weight=(64, 1, 1)),
              Case("lerp", "f32", (3, 5, 197, 175)), Case("lerp", "f32", (1 << 20, 67), (67,)),
              Case("lerp", "f32", (1 << 20, 67), (1 << 20, 1)),
              Case("lerp", "f32", (1 << 24, 3), (3,), None), Case("lerp", "f32", (8192, 8192), strided=True)]
    cases += [Case("lerp_grad", "f32", (16, 102400)), Case("lerp_grad", "f64", (16, 204800)),
              Case("lerp_grad", "f32", big, wanted="xyw"), Case("lerp_grad", "f32", (16384, 4096), (4096,)),
              Case("lerp_grad", "f32", (16384, 4096), (4096,), wanted="xyw"),
              Case("lerp_grad", "f32", (16384, 4096), (16384, 1)),
              Case("lerp_grad", "f32", (16384, 4096), (16384, 1), wanted="xyw"),
              Case("lerp_grad", "f32", (32, 64, 128, 128), weight=(64, 1, 1), wanted="xyw"),
              Case("lerp_grad", "f16", (16384, 4096), (4096,)), Case("lerp_grad", "bf16", big, wanted="xyw"),
              Case("lerp_grad", "bf16", (16384, 4096), (16384, 1)), Case("lerp_grad", "f64", (8192, 4096), (4096,)),
              Case("lerp_grad", "f32", (1 << 20, 67), (67,)), Case("lerp_grad", "f32", (1 << 20, 67), (1 << 20, 1)),
              Case("lerp_grad", "f32", (1 << 24, 3), (3,)), Case("lerp_grad", "f32", (16384, 4096), weight=(1,), wanted="xyw"),
              Case("lerp_grad", "f32", (64, 1 << 20), (1 << 20,)), Case("lerp_grad", "f32", (64, 1 << 20), (64, 1))]
    return cases


def kernel_seconds(calls, rounds):
    """The kernels' own time a call: median over the rounds."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    times = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(rounds):
            for call in calls:
                call()
        torch.cuda.synchronize()
    events = [e for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    total = len(calls) * rounds
    per_call = len(events) // total
    if per_call == 0 or per_call * total != len(events):
        return sum(e.device_time_total for e in events) / total * 1e-6
    events.sort(key=lambda e: e.time_range.start)
    for k in range(total):
        times.append(sum(e.device_time_total for e in events[k * per_call:(k + 1) * per_call]))
    return statistics.median(times) * 1e-6


def wall_seconds(calls, rounds):
    for call in calls:
        call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for call in calls:
            call()
        times.append((time.perf_counter() - start) / len(calls))
    return statistics.median(times)


def copy_rate(device, measure):
    """Bytes read and written a second by the best copy at hand."""
    count = 1 << (29 if device == "cuda" else 27)
    source = [torch.randn(count // 4, device=device) for _ in range(2)]
    target = [torch.empty_like(s) for s in source]
    calls = [lambda s=s, t=t: t.copy_(s) for s, t in zip(source, target)]
    return 2 * count / measure(calls, 10)


def measure_case(case, portops, device, rate, arguments):
    cache = 60e6 if device == "cuda" else 64e6
    sets = max(2, min(64, int(4 * cache / case.bytes()) + 1))
    values = [case.tensors(device) for _ in range(sets)]
    for other in values[1:]:
        other.update({name: t for name, t in values[0].items() if name == "out" or name.endswith("_grad") and name != "out_grad"})
    prepared = [portops.arguments(v) for v in values]
    portops.run(case.op, prepared[0])
    if device == "cuda":
        torch.cuda.synchronize()
    expected = case.expected(values[0])
    for name, reference in expected.items():
        error = ((values[0][name].double() - reference).abs().max() / case.magnitude(values[0], name)).item()
        if not error <= TOLERANCE[case.dtype]:
            raise RuntimeError(f"{case.name()}: {name} differs by {error:.2e} from float64")
    del expected
    rounds = max(3, arguments.rounds // sets)
    row = {"case": case.name(), "floor_us": case.bytes() / rate * 1e6}
    if device == "cuda":
        measure = kernel_seconds
        ours = [lambda a=a: portops.run(case.op, a) for a in prepared]
        row["portops_us"] = measure(ours, rounds) * 1e6
        row["portops_wall_us"] = statistics.median(portops.seconds(case.op, prepared, rounds) for _ in range(5)) * 1e6
    else:
        measure = wall_seconds
        row["portops_us"] = statistics.median(portops.seconds(case.op, prepared, 1) for _ in range(rounds)) * 1e6
    row["eager_us"] = measure([case.torch_call(v, False) for v in values], rounds) * 1e6
    if arguments.compiled and case.op == "lerp_grad":
        row["compiled_us"] = measure([case.torch_call(v, True) for v in values], rounds) * 1e6
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bridge", required=True, help="libportops_bridge.so of a build with benchmarks")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=40, help="least number of timed calls a case")
    parser.add_argument("--compiled", action="store_true", help="time torch.compile too")
    parser.add_argument("--json", help="write the rows there")
    arguments = parser.parse_args()
    device = arguments.device
    stream = torch.cuda.Stream() if device == "cuda" else None
    if stream:
        torch.cuda.set_stream(stream)
    portops = Portops(arguments.bridge, "cuda" if device == "cuda" else "openmp", stream.cuda_stream if stream else None)
    measure = kernel_seconds if device == "cuda" else wall_seconds
    rate = copy_rate(device, measure)
    print(f"copy {rate / 1e9:.0f} GB/s, PyTorch {torch.__version__}, "
          f"{torch.cuda.get_device_name() if device == 'cuda' else str(torch.get_num_threads()) + ' threads'}")
    print(f"{'case':66s} {'floor':>8s} {'portops':>8s} {'share':>6s} {'wall':>8s} {'eager':>8s} {'ratio':>6s} {'compiled':>8s} {'ratio':>6s}  [µs]")
    rows = []
    for case in lerp_cases(device):
        if arguments.filter not in case.name():
            continue
        try:
            row = measure_case(case, portops, device, rate, arguments)
        except RuntimeError as error:
            print(f"{case.name():66s} failed: {error}")
            rows.append({"case": case.name(), "error": str(error)})
            continue
        rows.append(row)
        ours = row["portops_us"]
        text = f"{row['case']:66s} {row['floor_us']:8.1f} {ours:8.1f} {row['floor_us'] / ours:6.1%} "
        text += f"{row.get('portops_wall_us', ours):8.1f} {row['eager_us']:8.1f} {row['eager_us'] / ours:6.2f}"
        if "compiled_us" in row:
            text += f" {row['compiled_us']:8.1f} {row['compiled_us'] / ours:6.2f}"
        print(text, flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"copy_bytes_per_second": rate, "device": device, "torch": torch.__version__, "rows": rows}, file, indent=1)
    portops.lib.portops_bridge_finish()
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
