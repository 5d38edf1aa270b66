# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/bench-table, bench-plot and bench-compare share: bench.json.

A sample is one figure of one allocator in one round. A row is all samples that differ in
allocator and round alone; its ratio in a round is in-tree / zsx, or the inverse where
more is better, so that above 1 zsx is better. Round 0 warms up, and is kept but not used.
"""

import collections
import json
import statistics

FORMAT = 1
IN_TREE, ZSX = "zsmalloc", "zsx"
FLOOR = "floor" # zram on zsx, with frees that do nothing

# Metrics that are compared: their unit, and whether more is better. Others are context.
Metric = collections.namedtuple("Metric", "unit more_is_better")
METRICS = {
    "ns": Metric("ns", False),
    "instructions": Metric("instr", False),
    "p50": Metric("ns", False),
    "p99": Metric("ns", False),
    "p99.9": Metric("ns", False),
    "max": Metric("ns", False),
    "ms": Metric("ms", False),
    "pages-per-ms": Metric("pages", True),
    "objects-per-page": Metric("objects", False),
    "held-of-10000": Metric("bytes", False),
}
# The row's name says it.
UNNAMED = ("ns", "instructions", "held-of-10000")

OPERATIONS = ("malloc", "write", "read", "read-sg", "free-order", "free-random", "free-malloc",
              "malloc-bulk", "free-bulk")
# Many objects in a call; zsx's own single calls that do the same.
BULK = {"malloc-bulk": "malloc", "free-bulk": "free-random"}
QUANTILES = ("p50", "p75", "p90", "p95", "p99", "p99.5", "p99.9", "p99.95", "p99.99",
             "p99.995", "p99.999", "max")
MOVERS = ("nobody", "compact", "migrate")
STATES = ("full", "half-replaced", "half-freed", "quarter-left", "compacted")
DENSITY_MIXES = ("lzo-rle", "uniform", "recorded")
POOLS = ("1-pools", "32-pools")
PROCESSES = (1, 2, 4)
CREWS = (1, 2, 4, 8, 16) # threads, however many CPUs there are
OBJECTS = (10_000, 100_000, 1_000_000, 10_000_000)
QUICK_OBJECTS = OBJECTS[:2]
PLOTS = ("bench-speed", "bench-instructions", "bench-scaling", "bench-latency", "bench-density")

Key = collections.namedtuple("Key", "source row threads metric")


def expected(groups, threads, scale):
    """The rows that the groups of scripts/jobs/bench.sh must give, in the table's order."""
    keys = []

    def add(row, nr_threads, *metrics):
        keys.extend(Key("uml", row, nr_threads, metric) for metric in metrics)

    for set_ in ("cold", "hot"):
        if set_ not in groups:
            continue
        for mix in ("mixed", "one", "page"):
            for operation in OPERATIONS:
                for nr in threads:
                    add(f"{operation}/{mix}/{set_}", nr, "ns")
            for operation in BULK:
                for nr in threads:
                    add(f"{operation}/{mix}/{set_}-alone", nr, "ns")
    if "pools" in groups:
        for operation in (operation for operation in OPERATIONS if operation not in BULK):
            for pools in POOLS:
                add(f"{operation}/mixed/{pools}", 2, "ns")
        for pools in POOLS:
            add(f"density/mixed/{pools}", 1, "held-of-10000")
    if "instructions" in groups:
        for mix in ("mixed", "one", "page"):
            keys.extend(Key("icount", f"{operation}/{mix}/counted", 1, "instructions")
                        for operation in OPERATIONS)
            keys.extend(Key("icount", f"{operation}/{mix}/counted-alone", 1, "instructions")
                        for operation in BULK)
    if "threads" in groups:
        for mix in ("mixed", "one"):
            for operation in OPERATIONS:
                for nr in CREWS:
                    add(f"{operation}/{mix}/threads", nr, "ns")
    if "objects" in groups:
        for nr in OBJECTS if scale == "full" else QUICK_OBJECTS:
            for operation in OPERATIONS:
                add(f"{operation}/tiny/{nr}", 1, "ns")
    if "munmap" in groups:
        for part in ("whole", "above-floor"):
            for nr in PROCESSES:
                add(f"munmap/lzo-rle/{part}", nr, "ms")
    if "latency" in groups:
        for operation in ("read", "malloc", "free"):
            for mover in MOVERS:
                add(f"latency-{operation}/mixed/{mover}", 2, "p50", "p99", "p99.9", "max")
        for operation in ("malloc", "free"):
            add(f"latency-{operation}/one/compact", 2, "p50", "p99", "p99.9", "max")
    if "compaction" in groups:
        for mix in ("mixed", "one"):
            for state in ("half", "quarter"):
                add(f"compaction/{mix}/{state}", 1, "ms", "pages-per-ms", "objects-per-page")
    if "density" in groups:
        for mix in DENSITY_MIXES:
            for state in STATES:
                add(f"density/{mix}/{state}", 1, "held-of-10000")
    return keys


def is_done_twice(key):
    """What is the same each time, and what takes long."""
    first, *rest = key.row.split("/")
    return key.source == "icount" or rest[-1] == str(OBJECTS[-1]) or \
        (first == "density" and rest[0] in DENSITY_MIXES)


class Row:
    """One row of a run: its figures by allocator and round."""

    def __init__(self, key, samples):
        self.key = key
        self.by_round = samples

    def rounds(self):
        """The rounds that both allocators have figures of, but the one to warm up."""
        both = set(self.by_round.get(IN_TREE, ())) & set(self.by_round.get(ZSX, ()))
        return sorted(both - {0})

    def ratios(self):
        """zsx is better where they are above 1."""
        metric = METRICS[self.key.metric]
        ratios = []
        for nr in self.rounds():
            pair = self.by_round[IN_TREE][nr], self.by_round[ZSX][nr]
            above, below = reversed(pair) if metric.more_is_better else pair
            ratios.append(above / below if below > 0 else float("inf"))
        return ratios

    def ratio(self):
        """The median of the rounds' ratios."""
        return statistics.median(self.ratios())

    def value(self, allocator):
        """The median of an allocator's figures."""
        return statistics.median(self.by_round[allocator][nr] for nr in self.rounds())

    def name(self):
        """What people call it."""
        what = "process" if self.key.row.startswith("munmap") else "thread"
        many = "es" if what == "process" else "s"
        return f"{self.key.row}" + \
            (f", {self.key.threads} {what}{many}" if self.key.threads > 1 else "")


class Run:
    """A bench.json."""

    def __init__(self, data):
        self.data = data
        self.rows = collections.OrderedDict()
        for source, nr, allocator, row, threads, metric, value in data["samples"]:
            key = Key(source, row, threads, metric)
            by_round = self.rows.setdefault(key, Row(key, {})).by_round
            by_round.setdefault(allocator, {})[nr] = value
        for key in [key for key in self.rows if key.row == "munmap/lzo-rle/whole"]:
            self.add_above_floor(key)
        for key in list(self.rows):
            operation = key.row.split("/")[0]
            if operation in BULK:
                self.add_against_single(key, BULK[operation])

    def add_above_floor(self, key):
        """What of the time is the allocator's: frees that do nothing take the rest."""
        by_round = self.rows[key].by_round
        floor = by_round.get(FLOOR, {})
        above = {allocator: {nr: value - floor[nr]
                             for nr, value in by_round.get(allocator, {}).items() if nr in floor}
                 for allocator in (IN_TREE, ZSX)}
        key = key._replace(row="munmap/lzo-rle/above-floor")
        self.rows[key] = Row(key, above)

    def add_against_single(self, key, single):
        """zsx's many objects in a call against its own single calls."""
        operation, rest = key.row.split("/", 1)
        one = self.rows.get(key._replace(row=f"{single}/{rest}"))
        if one:
            by_round = {IN_TREE: one.by_round.get(ZSX, {}),
                        ZSX: self.rows[key].by_round.get(ZSX, {})}
            key = key._replace(row=f"{operation}/{rest}-alone")
            self.rows[key] = Row(key, by_round)

    @classmethod
    def load(cls, path):
        """Read a file; a ValueError says why it is none of ours."""
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"{path}: not a bench.json of format {FORMAT}")
        return cls(data)

    def wanted(self):
        """The keys that it must have, in order."""
        parameters = self.data["parameters"]
        groups = parameters["rows"].split(",")
        threads = [int(nr) for nr in parameters["threads"].split(",")]
        return expected(groups, threads, parameters["scale"])

    def compared(self):
        """The rows that have ratios, in the table's order."""
        return [self.rows[key] for key in self.wanted()
                if key in self.rows and self.rows[key].rounds()]

    def missing(self):
        """What is wanted and isn't there, or not for both allocators in each round."""
        rounds = int(self.data["parameters"]["rounds"])
        missing = []
        for key in self.wanted():
            row = self.rows.get(key)
            wanted = min(rounds, 2) if is_done_twice(key) else rounds
            if not row or len(row.rounds()) != wanted:
                missing.append(key)
        return missing


def figure(value):
    """Three or four digits that matter."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
