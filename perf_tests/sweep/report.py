# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page and pictures of one or several sweeps."""
from __future__ import annotations

import io
import itertools
import pathlib
import re

import jinja2
import matplotlib
import matplotlib.figure
import matplotlib.ticker
import numpy
import pandas

from . import results
from .compare import rows_in_both, with_verdicts

matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "portops", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False})

PEERS = {"eager": "PyTorch", "compiled": "PyTorch, compiled", "conv": "PyTorch's plain convolution",
         "kokkos_kernels": "Kokkos Kernels"}
PAGE = pathlib.Path(__file__).with_name("report.html.jinja")


def frame_of(sweep: dict, label: str) -> pandas.DataFrame:
    """portops' rows without errors: what their names say, median seconds, and the counters."""
    listed = []
    for name, row in sweep["rows"].items():
        parts = results.parts_of(name)
        if not row["seconds"] or parts["peer"]:
            continue
        counters = {key: row.get(key) for key in ("bytes_per_second", "flops_per_second", "of_copy", "of_floor")}
        listed.append({"sweep": label, "name": name, **parts, "seconds": results.seconds_of(row), **counters})
    columns = ["sweep", "name", "backend", "operator", "type", "size", "threads", "instances", "is_host_time", "seconds",
               "bytes_per_second", "flops_per_second", "of_copy", "of_floor"]
    rows = pandas.DataFrame(listed, columns=columns)
    return rows.assign(bytes=rows["bytes_per_second"] * rows["seconds"])


def peers_of(sweep: dict, label: str) -> pandas.DataFrame:
    """A line for each case and peer: how many times as long as portops it takes."""
    listed = [{"sweep": label, "device": name.partition("/")[0], "case": row["case"], "peer": peer,
               "ratio": row[f"{peer}_us"] / row["portops_us"], "portops_us": row["portops_us"],
               "share": row["floor_us"] / row["portops_us"]}
              for name, row in sweep["peers"].items() if "error" not in row
              for peer in PEERS if row.get(f"{peer}_us")]
    for name, row in sweep["rows"].items():
        peer = results.parts_of(name)["peer"]
        own = sweep["rows"].get(name.removesuffix(f"/peer:{peer}"), {})
        if not peer or not row["seconds"] or not own.get("seconds"):
            continue
        seconds = results.seconds_of(own)
        backend, _, case = name.removesuffix(f"/peer:{peer}").partition("/")
        listed.append({"sweep": label, "device": backend, "case": case, "peer": peer,
                       "ratio": results.seconds_of(row) / seconds, "portops_us": seconds * 1e6,
                       "share": own.get("of_floor", own.get("of_copy"))})
    return pandas.DataFrame(listed, columns=["sweep", "device", "case", "peer", "ratio", "portops_us", "share"])


def figure(width: float = 7.5, height: float = 4.2):
    result = matplotlib.figure.Figure(figsize=(width, height), layout="constrained")
    return result, result.add_subplot()


def bandwidth_over_size(rows: pandas.DataFrame):
    """Pictures by operator: a line for each sweep, backend and type, and the copy's."""
    sized = rows[rows["size"].notna() & rows["bytes_per_second"].notna()]
    for operator, of_operator in sized[sized["operator"] != "ceiling"].groupby("operator"):
        drawing, axes = figure()
        for (sweep, backend, kind), line in of_operator.groupby(["sweep", "backend", "type"]):
            line = line.sort_values("bytes")
            axes.plot(line["bytes"], line["bytes_per_second"] / 1e9, marker=".", label=f"{backend} {kind} ({sweep})")
        for (sweep, backend), line in sized[sized["operator"] == "ceiling"].groupby(["sweep", "backend"]):
            line = line.sort_values("bytes")
            axes.plot(line["bytes"], line["bytes_per_second"] / 1e9, color="grey", linewidth=0.8, linestyle="--",
                      label=f"copy, {backend} ({sweep})")
        axes.set(xscale="log", yscale="log", xlabel="bytes read and written", ylabel="GB/s",
                 title=f"{operator}: bandwidth over size")
        axes.legend(fontsize=7)
        yield f"bandwidth_{operator}", drawing


def roofline(rows: pandas.DataFrame):
    """A picture for each sweep and backend with products: operations a second over operations a byte."""
    for (sweep, backend), of_backend in rows.groupby(["sweep", "backend"]):
        points = of_backend[of_backend["flops_per_second"].notna() & of_backend["bytes_per_second"].notna()]
        ceilings = points[points["operator"] == "ceiling"]
        points = points[points["operator"] != "ceiling"]
        copy = of_backend[of_backend["name"] == f"{backend}/ceiling/copy"]["bytes_per_second"]
        if points.empty or ceilings.empty or copy.empty:
            continue
        drawing, axes = figure()
        intensity = points["flops_per_second"] / points["bytes_per_second"]
        ridges = ceilings["flops_per_second"] / copy.iloc[0]
        low, high = min(intensity.min(), ridges.min()) / 2, max(intensity.max(), ridges.max()) * 2
        for index, (_, ceiling) in enumerate(ceilings.iterrows()):
            rate, color = ceiling["flops_per_second"], f"C{index}"
            ridge = rate / copy.iloc[0]
            axes.plot([low, ridge, high], [low * copy.iloc[0] / 1e12, rate / 1e12, rate / 1e12], color=color, linewidth=1,
                      label=f"ceiling {ceiling['type']}")
            own = points[points["type"] == ceiling["type"]]
            axes.scatter(own["flops_per_second"] / own["bytes_per_second"], own["flops_per_second"] / 1e12, s=14, color=color)
        axes.set(xscale="log", yscale="log", xlabel="operations a byte", ylabel="TFLOP/s",
                 title=f"Roofline of {backend} ({sweep})")
        axes.legend(fontsize=7)
        yield f"roofline_{backend}_{sweep}", drawing


def set_ratio_axis(axes, axis: str, least: float, most: float) -> None:
    """Makes x or y a logarithmic axis of ratios around 1, with plain numbers."""
    low, high = min(1, least) * 0.9, max(1, most) * 1.1
    wanted = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000) if high > 5 else (0.5, 0.8, 1, 1.2, 1.5, 2, 3, 4, 5)
    ticks = [tick for tick in wanted if low <= tick <= high]
    axes.set(**{f"{axis}scale": "log"})
    axes.set(**{f"{axis}ticks": ticks, f"{axis}ticklabels": [f"{tick:g}" for tick in ticks], f"{axis}lim": (low, high)})
    getattr(axes, f"{axis}axis").set_minor_locator(matplotlib.ticker.NullLocator())


def peers_at_a_glance(peers: pandas.DataFrame):
    """A picture for each sweep and device: all ratios to each peer, from the lowest to the highest."""
    for (sweep, device), of_device in peers.groupby(["sweep", "device"]):
        drawing, axes = figure()
        for peer, of_peer in of_device.groupby("peer"):
            ratios = of_peer["ratio"].sort_values().to_numpy()
            axes.plot(numpy.linspace(0, 100, len(ratios)), ratios, marker=".", linewidth=1,
                      label=f"{PEERS.get(peer, peer)}: {len(ratios)} cases")
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set(xlabel="cases, %", ylabel="time of the peer / time of portops",
                 title=f"Peers beside portops on {device} ({sweep})")
        set_ratio_axis(axes, "y", of_device["ratio"].min(), of_device["ratio"].max())
        axes.legend(fontsize=7)
        yield f"peers_{device}_{sweep}", drawing


def peer_ratios(peers: pandas.DataFrame):
    """A picture for each sweep, device and peer: its time over that of portops, case by case."""
    for (sweep, device, peer), of_peer in peers.groupby(["sweep", "device", "peer"]):
        of_peer = of_peer.sort_values("ratio")
        drawing, axes = figure(height=1.2 + 0.16 * len(of_peer))
        axes.barh(of_peer["case"], of_peer["ratio"], color=["C3" if ratio < 1 else "C0" for ratio in of_peer["ratio"]])
        axes.axvline(1, color="black", linewidth=0.8)
        axes.tick_params(axis="y", labelsize=6)
        axes.margins(y=0.01)
        axes.set(xlabel=f"time of {PEERS.get(peer, peer)} / time of portops",
                 title=f"portops beside {PEERS.get(peer, peer)} on {device} ({sweep})")
        set_ratio_axis(axes, "x", of_peer["ratio"].min(), of_peer["ratio"].max())
        yield f"peers_{device}_{peer}_{sweep}", drawing


def cases_of(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Calls of operators as they come: neither ceilings nor host times, threads and instances as the program has them."""
    return rows[(rows["operator"] != "ceiling") & rows["threads"].isna() & rows["instances"].isna()
                & ~rows["is_host_time"].astype(bool)]


def device_beside_device(rows: pandas.DataFrame):
    """By operator and type, how many times as long each device takes as the fastest one: geometric means over the cases
    that all of them have."""
    plain = cases_of(rows)
    plain = plain.assign(device=plain["backend"] + " (" + plain["sweep"] + ")",
                         case=plain["name"].str.replace(r"^[^/]*/", "", regex=True))
    times = plain.pivot_table(index=["operator", "type", "case"], columns="device", values="seconds").dropna()
    if times.empty or times.shape[1] < 2:
        return
    logarithms = numpy.log(times).groupby(level=["operator", "type"]).mean()
    ratios = numpy.exp(logarithms.sub(logarithms.min(axis=1), axis=0))[::-1]
    drawing, axes = figure(height=1.2 + 0.14 * ratios.size)
    ratios.plot.barh(ax=axes, width=0.8)
    set_ratio_axis(axes, "x", 1, ratios.max(axis=None))
    axes.set_yticklabels([f"{operator} {kind}" for operator, kind in ratios.index])
    axes.set(xlabel="time / time of the fastest device", ylabel="", title="Device beside device")
    axes.legend(fontsize=7, title="")
    yield "devices", drawing


def scaling(rows: pandas.DataFrame):
    """Speed-up over threads, and over instances of a GPU."""
    for column, unit in (("threads", "threads"), ("instances", "instances")):
        counted = rows[rows[column].notna()]
        if counted.empty:
            continue
        drawing, axes = figure()
        most = counted[column].max()
        axes.plot([1, most], [1, most], color="grey", linewidth=0.8, linestyle="--", label="linear")
        base_names = counted["name"].str.replace(r"(@threads|/instances):\d+$", "", regex=True)
        for (sweep, name), line in counted.groupby(["sweep", base_names]):
            line = line.sort_values(column)
            axes.plot(line[column], line["seconds"].iloc[0] / line["seconds"], marker="o", markersize=3, label=f"{name} ({sweep})")
        axes.set(xscale="log", yscale="log", xlabel=unit, ylabel=f"speed-up over {counted[column].min():.0f}",
                 title=f"Scaling over {unit}")
        counts = sorted(counted[column].unique())
        axes.set_xticks(counts, [f"{count:.0f}" for count in counts])
        axes.set_yticks(counts, [f"{count:.0f}" for count in counts])
        axes.minorticks_off()
        axes.legend(fontsize=6)
        yield f"scaling_{column}", drawing


def ratios_over_rows(compared: pandas.DataFrame, old: str, new: str, threshold: float):
    """The ratio of every row and its interval, from the fastest to the slowest."""
    ordered = compared.sort_values("ratio", ignore_index=True)
    drawing, axes = figure()
    colors = ordered["verdict"].map({"slower": "C3", "faster": "C2", "same": "C0"})
    axes.vlines(ordered.index, ordered["low"], ordered["high"], color=colors, linewidth=1, alpha=0.5)
    axes.scatter(ordered.index, ordered["ratio"], s=8, color=colors)
    axes.axhspan(1 / (1 + threshold), 1 + threshold, color="grey", alpha=0.15)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xlabel="rows, from the fastest to the slowest", ylabel=f"time of {new} / time of {old}",
             title=f"{new} beside {old}: ratios with their intervals of 95 %")
    yield f"changes_{old}_{new}", drawing


def ceilings_of(rows: pandas.DataFrame) -> pandas.DataFrame:
    """What each machine does at best."""
    found = rows[(rows["operator"] == "ceiling") | rows["name"].str.endswith("/launch/host")]
    listed = [{"sweep": row["sweep"], "ceiling": row["name"], "rate": rate_of(row)}
              for _, row in found[found["threads"].isna() & found["size"].isna()].iterrows()]
    return pandas.DataFrame(listed, columns=["sweep", "ceiling", "rate"])


def rate_of(row: pandas.Series) -> str:
    if pandas.notna(row["flops_per_second"]):
        return f"{row['flops_per_second'] / 1e12:.2f} TFLOP/s"
    if pandas.notna(row["bytes_per_second"]):
        return f"{row['bytes_per_second'] / 1e9:.0f} GB/s"
    return f"{row['seconds'] * 1e6:.2f} µs"


def of_equal_copy(rows: pandas.DataFrame) -> pandas.Series:
    """The seconds of a copy of as many bytes, between the sizes that were measured, over those of each row: small
    copies, too, are far from the rate of large ones."""
    result = pandas.Series(numpy.nan, rows.index)
    for _, of_backend in rows.groupby(["sweep", "backend"]):
        measured = of_backend[(of_backend["operator"] == "ceiling") & of_backend["size"].notna()].sort_values("bytes")
        if len(measured):
            seconds = numpy.exp(numpy.interp(numpy.log(of_backend["bytes"].astype(float)), numpy.log(measured["bytes"]),
                                             numpy.log(measured["seconds"]), left=numpy.nan, right=numpy.nan))
            result[of_backend.index] = seconds / of_backend["seconds"]
    return result


def below(rows: pandas.DataFrame, share: float) -> pandas.DataFrame:
    """Large cases that take more than the floor allows: the lowest share first."""
    rows = rows.assign(share=rows["of_floor"].fillna(rows["of_copy"]), equal=of_equal_copy(rows))
    found = cases_of(rows[(rows["share"] < share) & (rows["seconds"] > 20e-6)]).sort_values("share")
    return pandas.DataFrame({"sweep": found["sweep"], "row": found["name"], "µs": (found["seconds"] * 1e6).round(1),
                             "share of the floor": found["share"].map("{:.0%}".format),
                             "of a copy of as many bytes": found["equal"].map("{:.0%}".format, na_action="ignore").fillna("")})


def svg_of(drawing) -> str:
    stream = io.StringIO()
    drawing.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()[stream.getvalue().index("<svg"):]


def write_report(sweeps: dict[str, dict], folder: pathlib.Path, threshold: float) -> pathlib.Path:
    """Writes index.html, which stands alone, and each picture as PNG and SVG. `sweeps` are by label, the oldest first;
    the last two are compared."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = pandas.concat([frame_of(sweep, label) for label, sweep in sweeps.items()], ignore_index=True)
    peers = pandas.concat([peers_of(sweep, label) for label, sweep in sweeps.items()], ignore_index=True)
    drawings = [bandwidth_over_size(rows), roofline(rows), peers_at_a_glance(peers), peer_ratios(peers),
                device_beside_device(rows), scaling(rows)]
    changes = None
    if len(sweeps) > 1:
        old, new = list(sweeps)[-2:]
        compared = with_verdicts(rows_in_both(sweeps[old], sweeps[new]), threshold)
        changed = compared[compared["verdict"] != "same"]
        changes = {"old": old, "new": new, "rows": len(compared),
                   "table": changed.assign(old=(changed["old"] * 1e6).round(1), new=(changed["new"] * 1e6).round(1)).round(3)}
        if len(compared):
            drawings.insert(0, ratios_over_rows(compared, old, new, threshold))
    pictures = {}
    for name, drawing in itertools.chain(*drawings):
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        pictures[name] = svg_of(drawing)
        (folder / f"{name}.svg").write_text(pictures[name], encoding="utf-8")
        drawing.savefig(folder / f"{name}.png", dpi=150)
    behind = peers[peers["ratio"] < 1].sort_values("ratio").round(3)
    page = jinja2.Environment(autoescape=True).from_string(PAGE.read_text(encoding="utf-8")).render(
        sweeps=sweeps, pictures=pictures, ceilings=ceilings_of(rows), low=below(rows, 0.85), behind=behind, changes=changes,
        errors=[(label, name, row["error"]) for label, sweep in sweeps.items()
                for name, row in {**sweep["rows"], **sweep["peers"]}.items() if "error" in row])
    path = folder / "index.html"
    path.write_text(page, encoding="utf-8")
    return path
