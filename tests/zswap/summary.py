#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Of the figures of scripts/zswap: a table, and a file of JSON.

usage: summary.py FIGURES JSON [NAME=VALUE]...

FIGURES has lines "ROUND PROVIDER NAME VALUE"; NAME=VALUE says how they were got.
"""
import datetime
import json
import os
import statistics
import sys

PROVIDERS = ("zsmalloc", "zsx")

# What is shown, how it is called, and by what it is divided.
ROWS = (
    ("wall_ms", "wall, s", 1000),
    ("user_ms", "user, s", 1000),
    ("sys_ms", "sys, s", 1000),
    ("zswap_out", "stores", 1),
    ("zswap_in", "loads", 1),
    ("written_back", "written back", 1),
    ("peak_stored_pages", "pages stored", 1),
    ("peak_pool_bytes", "pool, KiB", 1024),
    ("pool_per_10000", "pool/10000", 1),
)


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        model = next((line.split(":", 1)[1].strip() for line in cpuinfo
                      if line.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} CPUs"


def read(path):
    """{round: {provider: {name: value}}}"""
    rounds = {}
    with open(path, encoding="ascii") as figures:
        for line in figures:
            nr, provider, name, value = line.split()
            rounds.setdefault(int(nr), {p: {} for p in PROVIDERS})
            rounds[int(nr)][provider][name] = int(value)
    for each in rounds.values():
        for figures in each.values():
            # Bytes of the pool for 10,000 bytes of pages, when it was largest.
            stored = figures["peak_stored_pages"] * 4096
            figures["pool_per_10000"] = (
                round(figures["peak_pool_bytes"] * 10000 / stored) if stored else 0)
    return rounds


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summarize(rounds):
    summary = {}
    for name in rounds[min(rounds)]["zsx"]:
        of = {p: [r[p][name] for r in rounds.values()] for p in PROVIDERS}
        summary[name] = {p: spread(of[p]) for p in PROVIDERS}
        if all(of["zsmalloc"]):
            summary[name]["zsx/zsmalloc"] = spread(
                [b / a for a, b in zip(of["zsmalloc"], of["zsx"])])
    return summary


def cell(numbers, divisor, digits):
    low, middle, high = (f"{numbers[k] / divisor:.{digits}f}"
                         for k in ("min", "median", "max"))
    return middle if low == high else f"{middle} ({low}..{high})"


def table(summary):
    print(f"{'':14} {'zsx/zsmalloc':>22}  {'zsmalloc':>28}  {'zsx':>28}")
    for name, title, divisor in ROWS:
        row = summary[name]
        digits = 2 if divisor == 1000 else 0
        ratio = row.get("zsx/zsmalloc")
        print(f"{title:14} {cell(ratio, 1, 3) if ratio else '-':>22}"
              f"  {cell(row['zsmalloc'], divisor, digits):>28}"
              f"  {cell(row['zsx'], divisor, digits):>28}")


def main():
    figures, out, *settings = sys.argv[1:]
    how = dict(setting.split("=", 1) for setting in settings)
    rounds = read(figures)
    summary = summarize(rounds)
    print(", ".join(f"{k} {v}" for k, v in how.items()) + f", rounds {len(rounds)}")
    table(summary)
    with open(out, "w", encoding="ascii") as f:
        json.dump({
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": machine(),
            **how,
            "rounds": list(rounds.values()),
            "summary": summary,
        }, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
