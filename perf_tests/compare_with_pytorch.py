#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times portops and PyTorch on the same cases, in one process and on the same memory, and prints the ratios.

    compare_with_pytorch.py --bridge BUILD/perf_tests/libportops_bridge.so [--device cuda|cpu] [--filter PATTERN]
                            [--random SEED [--count N]] [--products automatic|own|kokkos_kernels]

On a GPU a time is the sum of the kernels' own time a call (memset and memcpy on the device are kernels too), read by
PyTorch's profiler for both; on a CPU it is wall time. Every case rotates through enough sets of inputs that caches
cannot serve them; outputs stay where they are, as those of PyTorch do, whose allocator gives the same memory again. The
floor is the least traffic (each input read once, each output written once) at the rate of a copy measured in the same
run; or, where that is longer, the operations of the matrix products at the rate of a large one, of the same element
type. Rows with tf32 allow it to both; rows with `deterministic` ask portops for it, PyTorch's time is that of its
default. `conv` is PyTorch's plain convolution of the same shape. Results are compared with PyTorch's in float64 before
they are timed. The cases are in pytorch_cases; those of deform_conv2d need torchvision. With --random they are N random
ones of each family, which a seed makes again: what holds for them was not tuned for them.
"""
import argparse
import json
import re
import statistics
import sys
import time

import torch
from pytorch_cases import cases
from pytorch_cases.bridge import Refused, add_products_option, open_portops
from pytorch_cases.common import NAMES, TOLERANCE, relative_errors
from pytorch_cases.random_shapes import random_cases

WALL_LIMIT = 20.0  # seconds of timed calls, after which there are no more rounds


def device_time(events):
    """Microseconds in which at least one of them ran: kernels of a call may overlap."""
    total, end = 0.0, 0.0
    for event in events:
        span = event.time_range
        total += max(0.0, span.end - max(span.start, end))
        end = max(end, span.end)
    return total


def kernel_seconds(calls, rounds):
    """The time a call in which something runs on the device: median over the rounds."""
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
    events.sort(key=lambda e: e.time_range.start)
    total = len(calls) * rounds
    per_call = len(events) // total
    if per_call == 0 or per_call * total != len(events):
        return device_time(events) / total * 1e-6
    for k in range(total):
        times.append(device_time(events[k * per_call:(k + 1) * per_call]))
    return statistics.median(times) * 1e-6


def wall_seconds(calls, rounds):
    """Median over the rounds, after one that is not timed: torch.compile compiles in it."""
    for call in calls:
        call()
    times = []
    while not times or (len(times) < rounds and sum(times) * len(calls) < WALL_LIMIT):
        start = time.perf_counter()
        for call in calls:
            call()
        times.append((time.perf_counter() - start) / len(calls))
    return statistics.median(times)


def use_math(math):
    """Whether PyTorch's f32 products may use tf32."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = math == "tf32"


class Rates:
    """What the device does at best. A product is measured when it is first asked for."""

    def __init__(self, device):
        self.device, self.measure = device, kernel_seconds if device == "cuda" else wall_seconds
        self.copy, self.gemms = self.measured_copy(), {}

    def measured_copy(self):
        """Bytes read and written a second by the best copy at hand."""
        count = 1 << (29 if self.device == "cuda" else 27)
        source = [torch.randn(count // 4, device=self.device) for _ in range(2)]
        target = [torch.empty_like(s) for s in source]
        calls = [lambda s=s, t=t: t.copy_(s) for s, t in zip(source, target)]
        return 2 * count / self.measure(calls, 10)

    def measured_gemm(self, case):
        """Operations a second of a large matrix product, by the math in use."""
        size = 8192 if self.device == "cuda" else 2048
        a, b = (torch.randn(size, size, device=self.device).to(NAMES[case.dtype]) for _ in range(2))
        return 2 * size ** 3 / self.measure([lambda: torch.matmul(a, b)], 10)

    def gemm(self, case):
        name = case.math_name()
        if name not in self.gemms:
            self.gemms[name] = self.measured_gemm(case)
        return self.gemms[name]

    def floor(self, case):
        """The least seconds of a call."""
        product = case.flops() / self.gemm(case) if case.flops() else 0.0
        return max(case.bytes() / self.copy, product)


def check(case, values):
    """Compares the outputs with float64."""
    for name, (reference, magnitude) in case.expected(values).items():
        actual = values[name]
        if isinstance(actual, list):
            actual = torch.cat([part.flatten() for part in actual])
        error = relative_errors(actual, reference, magnitude).max().item()
        if not error <= TOLERANCE[case.math_name()]:
            raise RuntimeError(f"{case.name()}: {name} differs by {error:.2e} from float64")


def torch_calls(case, sets, compiled):
    """PyTorch's calls by name, each one for every set of values."""
    calls = {"eager": [case.torch_call(values, False) for values in sets]}
    if compiled:
        calls["compiled"] = [case.torch_call(values, True) for values in sets]
    for name in case.yardsticks(sets[0]):
        calls[name] = [case.yardsticks(values)[name] for values in sets]
    return {name: listed for name, listed in calls.items() if None not in listed}


def measure_case(case, portops, rates, arguments):
    use_math(case.math)
    portops.set_context(case.math, case.deterministic)
    device, measure = rates.device, rates.measure
    cache = 60e6 if device == "cuda" else 64e6
    sets = max(2, min(64, int(4 * cache / case.bytes()) + 1))
    values = [case.tensors(device) for _ in range(sets)]
    first = values[0]
    # An output that is an input too is its own set's.
    apart = [name for name in case.outputs if not any(first[name] is first[key] for key in first if key != name)]
    for other in values[1:]:
        other.update({name: first[name] for name in apart})
    prepared = [portops.arguments(v) for v in values]
    portops.run(case.op, prepared[0])
    if device == "cuda":
        torch.cuda.synchronize()
    check(case, values[0])
    rounds = max(3, arguments.rounds // sets)
    row = {"case": case.name(), "floor_us": rates.floor(case) * 1e6}
    if device == "cuda":
        ours = [lambda a=a: portops.run(case.op, a) for a in prepared]
        row["portops_us"] = measure(ours, rounds) * 1e6
        row["portops_wall_us"] = statistics.median(portops.seconds(case.op, prepared, rounds) for _ in range(5)) * 1e6
    else:
        row["portops_us"] = statistics.median(portops.seconds(case.op, prepared, 1) for _ in range(rounds)) * 1e6
    for name, calls in torch_calls(case, values, arguments.compiled).items():
        row[f"{name}_us"] = measure(calls, rounds) * 1e6
    return row


def text_of(row):
    ours = row["portops_us"]
    text = f"{row['case']:66s} {row['floor_us']:8.1f} {ours:8.1f} {row['floor_us'] / ours:6.1%} "
    text += f"{row.get('portops_wall_us', ours):8.1f}"
    for name in ("eager", "compiled", "conv"):
        us = row.get(f"{name}_us")
        text += f" {us:8.1f} {us / ours:6.2f}" if us else f" {'':8s} {'':6s}"
    return text.rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bridge", required=True, help="libportops_bridge.so of a build with benchmarks")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--filter", default="", help="only cases whose name has this regular expression")
    parser.add_argument("--rounds", type=int, default=40, help="least number of timed calls a case")
    parser.add_argument("--compiled", action="store_true", help="time torch.compile too")
    parser.add_argument("--random", metavar="SEED", help="random cases instead of those that are listed, on a GPU")
    parser.add_argument("--count", type=int, default=20, help="of random cases of each family (default: 20)")
    parser.add_argument("--json", help="write the rows there")
    add_products_option(parser)
    arguments = parser.parse_args()
    device = arguments.device
    portops = open_portops(arguments.bridge, device, arguments.products)
    rates = Rates(device)
    device_name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"copy {rates.copy / 1e9:.0f} GB/s, PyTorch {torch.__version__}, {device_name}"
          + (f", products {arguments.products}" if arguments.products else ""))
    print(f"{'case':66s} {'floor':>8s} {'portops':>8s} {'share':>6s} {'wall':>8s} {'eager':>8s} {'ratio':>6s} "
          f"{'compiled':>8s} {'ratio':>6s} {'conv':>8s} {'ratio':>6s}  [µs]")
    rows = []
    for case in cases(device) if arguments.random is None else random_cases(arguments.random, arguments.count):
        if not re.search(arguments.filter, case.name()):
            continue
        try:
            row = measure_case(case, portops, rates, arguments)
        except Refused as refusal:
            print(f"{case.name():66s} left out: {refusal}")
            continue
        except RuntimeError as error:
            print(f"{case.name():66s} failed: {error}")
            rows.append({"case": case.name(), "error": str(error)})
            continue
        rows.append(row)
        print(text_of(row), flush=True)
    for name, rate in rates.gemms.items():
        print(f"gemm {name} {rate / 1e12:.2f} TFLOP/s")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"device": device, "device_name": device_name, "torch": torch.__version__, "products": arguments.products,
                       "random": arguments.random, "copy_bytes_per_second": rates.copy, "gemm_flops_per_second": rates.gemms, "rows": rows}, file, indent=1)
    portops.finish()
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
