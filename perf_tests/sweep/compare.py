# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two sweeps side by side, row by row."""
from __future__ import annotations

import pandas
import rich.box
import rich.console
import rich.table

from . import results
from .statistics import ratio_of_medians


def rows_in_both(old: dict, new: dict) -> pandas.DataFrame:
    """Rows that both measured without an error: median times, ratio new / old and its interval, worst first."""
    listed = []
    for name, row in new["rows"].items():
        before = old["rows"].get(name, {"seconds": []})
        if len(before["seconds"]) < 2 or len(row["seconds"]) < 2:
            continue
        ratio = ratio_of_medians(before["seconds"], row["seconds"])
        listed.append({"name": name, "old": results.seconds_of(before), "new": results.seconds_of(row),
                       "ratio": ratio.value, "low": ratio.low, "high": ratio.high, "estimate": ratio})
    columns = ["name", "old", "new", "ratio", "low", "high", "estimate"]
    return pandas.DataFrame(listed, columns=columns).sort_values("ratio", ascending=False, ignore_index=True)


def with_verdicts(rows: pandas.DataFrame, threshold: float) -> pandas.DataFrame:
    return rows.assign(verdict=[ratio.verdict(threshold) for ratio in rows["estimate"]]).drop(columns="estimate")


def differences_of_machines(old: dict, new: dict) -> list[str]:
    """What makes times of the two not comparable."""
    found = [f"{key}: {old['machine'].get(key)}, then {new['machine'].get(key)}"
             for key in ("processor", "cores", "gpus") if old["machine"].get(key) != new["machine"].get(key)]
    if old["software"].get("threads") != new["software"].get("threads"):
        found.append(f"threads: {old['software'].get('threads')}, then {new['software'].get('threads')}")
    return found


def table_of(rows: pandas.DataFrame) -> rich.table.Table:
    table = rich.table.Table(box=rich.box.SIMPLE)
    table.add_column("row", no_wrap=True)
    for title in ("old, µs", "new, µs", "new / old", "95 %"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows.itertuples():
        table.add_row(row.name, f"{row.old * 1e6:.1f}", f"{row.new * 1e6:.1f}", f"{row.ratio:.3f}",
                      f"{row.low:.3f} to {row.high:.3f}", row.verdict)
    return table


def compare(old: dict, new: dict, threshold: float, console: rich.console.Console) -> bool:
    """Prints what got slower or faster beyond the noise. Whether nothing got slower."""
    for difference in differences_of_machines(old, new):
        console.print(f"Not the same machine: {difference}", style="yellow", highlight=False)
    rows = with_verdicts(rows_in_both(old, new), threshold)
    changed = rows[rows["verdict"] != "same"]
    slower = int((rows["verdict"] == "slower").sum())
    if len(changed):
        console.print(table_of(changed))
    console.print(f"{len(rows)} rows in both: {slower} slower, {len(changed) - slower} faster by more than "
                  f"{threshold:.0%} with 95 % confidence", highlight=False)
    return slower == 0
