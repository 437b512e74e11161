#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times portops and PyTorch on the same cases, in one process and on the same memory, and prints the ratios.

    compare_with_pytorch.py --bridge BUILD/perf_tests/libportops_bridge.so [--device cuda|cpu] [--filter TEXT]

On a GPU a time is the sum of the kernels' own time a call, read by PyTorch's profiler for both; on a CPU it is wall
time. Every case rotates through enough sets of inputs that caches cannot serve them; outputs stay where they are, as
those of PyTorch do, whose allocator gives the same memory again. The floor is the least traffic (each input read once,
each output written once) at the rate of a copy measured in the same run. Results are compared with PyTorch's in float64
before they are timed. The cases are in pytorch_cases.
"""
import argparse
import json
import statistics
import sys
import time

import torch

from pytorch_cases import cases
from pytorch_cases.bridge import open_portops
from pytorch_cases.common import TOLERANCE


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
        other.update({name: values[0][name] for name in case.outputs})
    prepared = [portops.arguments(v) for v in values]
    portops.run(case.op, prepared[0])
    if device == "cuda":
        torch.cuda.synchronize()
    expected = case.expected(values[0])
    for name, (reference, magnitude) in expected.items():
        error = ((values[0][name].double() - reference).abs().max() / magnitude).item()
        if not error <= TOLERANCE[case.dtype]:
            raise RuntimeError(f"{case.name()}: {name} differs by {error:.2e} from float64")
    del expected, reference, magnitude
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
    if arguments.compiled and case.is_gradient():
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
    portops = open_portops(arguments.bridge, device)
    measure = kernel_seconds if device == "cuda" else wall_seconds
    rate = copy_rate(device, measure)
    print(f"copy {rate / 1e9:.0f} GB/s, PyTorch {torch.__version__}, "
          f"{torch.cuda.get_device_name() if device == 'cuda' else str(torch.get_num_threads()) + ' threads'}")
    print(f"{'case':66s} {'floor':>8s} {'portops':>8s} {'share':>6s} {'wall':>8s} {'eager':>8s} {'ratio':>6s} "
          f"{'compiled':>8s} {'ratio':>6s}  [µs]")
    rows = []
    for case in cases(device):
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
            json.dump({"copy_bytes_per_second": rate, "device": device, "torch": torch.__version__, "rows": rows}, file,
                      indent=1)
    portops.finish()
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
