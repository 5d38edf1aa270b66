# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/zsxtop and zsxplot share: what an allocator's pools tell in debugfs.

A pool is a directory. Its file classes is the same in zsx and in in-tree zsmalloc; stats and
lengths are zsx's alone. What no file tells is None, and so is all that would need it: nothing
is guessed. Bytes that a pool holds are those of its objects, and waste by cause; the sum is
exact:

  stored       what the objects were asked for. A free doesn't say how long its object was,
               so where some were freed this is the mean length of all that their class ever
               stored, times the objects that are left (the pool's stored_is_exact is False)
  rounding     from that to the length of the class's slots
  free_slots   on pages that are there, but with no object
  gaps         of pages, in no slot: between slots, behind the last, and where a slot's other
               page isn't there
  handles, descriptors, pool   what zsx needs beside the pages

What slab leaves unused in the slabs of handles and descriptors is in none of them.
"""

import errno
import json
import os

FORMAT = 1
ZSX, IN_TREE = "zsx", "zsmalloc"
DIRECTORIES = {ZSX: "/sys/kernel/debug/zsx", IN_TREE: "/sys/kernel/debug/zsmalloc"}

# Causes of waste, and the words for people. The first three are a class's, too.
CLASS_WASTE = {"rounding": "rounding up", "free_slots": "free slots", "gaps": "gaps"}
WASTE = {**CLASS_WASTE, "handles": "handles", "descriptors": "descriptors", "pool": "the pool"}

# The columns of classes around those of the fullness groups, which differ with kernels.
FIRST = ["class", "size"]
LAST = ["obj_allocated", "obj_used", "pages_used", "pages_per_zspage", "freeable"]
LENGTHS = FIRST + ["mallocs", "frees", "bytes_asked"]

# The counters of which people want to know how fast they grow.
RATES = ("mallocs", "frees", "pins_retried", "pages_compacted")


class Trouble(Exception):
    """Its text is for people, whatever names of files are in it."""

    def __str__(self):
        return plain(super().__str__())


class Gone(Exception):
    """A pool went away while it was read."""


def total(values):
    """Their sum; None if one isn't known."""
    values = list(values)
    return None if None in values else sum(values)


def share(part, whole):
    """None if it can't be told."""
    return part / whole if part is not None and whole else None


class SizeClass:
    """A line of classes, with the line of lengths that belongs to it, if there is one."""

    # As snapshots have them.
    FACTS = ("class", "size", "objects", "slots", "pages", "pages_per_zspage", "zspages",
             "freeable_pages", "mallocs", "frees", "bytes_asked")

    def __init__(self, facts, page_size):
        self.facts = facts
        self.page_size = page_size
        self.size = facts["size"]
        self.objects = facts["objects"]
        self.pages = facts["pages"]
        self.zspages = facts["zspages"] # by fullness group
        self.freeable = facts["freeable_pages"]

    def in_slots(self):
        """Bytes of the slots that have an object."""
        return self.objects * self.size

    def bytes_stored(self):
        """What its objects were asked for, as far as it can be told."""
        mallocs, asked = self.facts["mallocs"], self.facts["bytes_asked"]
        if mallocs is None:
            return None
        # lengths was read after classes, so there are no more objects than mallocs.
        return (self.objects * asked + mallocs // 2) // mallocs if self.objects else 0

    def stored_is_exact(self):
        """Nothing was freed."""
        mallocs = self.facts["mallocs"]
        return None if mallocs is None else self.objects in (0, mallocs)

    def waste(self):
        """Bytes by cause."""
        stored = self.bytes_stored()
        return {
            "rounding": None if stored is None else self.in_slots() - stored,
            "free_slots": (self.facts["slots"] - self.objects) * self.size,
            "gaps": self.pages * self.page_size - self.facts["slots"] * self.size,
        }

    def known_waste(self):
        """The sum of what is known of it."""
        return sum(part for part in self.waste().values() if part is not None)

    def occupancy(self):
        """How much of its pages is in use: slots with objects."""
        return share(self.in_slots(), self.pages * self.page_size)

    def told(self):
        """As snapshots have it."""
        return {**self.facts, "bytes_stored": self.bytes_stored(),
                "occupancy": self.occupancy(), "waste": self.waste()}


class Pool:
    """What a pool told at one time. (Each class is of a moment of its own.)"""

    def __init__(self, name, groups, classes, counters):
        self.name = name
        self.groups = groups # names of the fullness groups
        self.counters = counters # stats; None: it's in-tree zsmalloc's
        self.allocator = IN_TREE if counters is None else ZSX
        self.page_size = max(facts["size"] for facts in classes) # the last class is of a page
        self.classes = [SizeClass(facts, self.page_size) for facts in classes]
        self.inode = None # not the same: another pool, of that name

    def counter(self, name):
        """None if it isn't known."""
        return (self.counters or {}).get(name)

    def objects(self):
        """How many there are."""
        return sum(each.objects for each in self.classes)

    def pages(self):
        """How many it has, for objects."""
        return sum(each.pages for each in self.classes)

    def zspages(self):
        """In-tree zsmalloc's are always whole, and classes doesn't show those without objects."""
        if self.allocator == ZSX:
            return self.counter("zspages")
        return sum(each.pages // each.facts["pages_per_zspage"] for each in self.classes)

    def freeable(self):
        """Pages that compaction would give back."""
        return sum(each.freeable for each in self.classes)

    def in_slots(self):
        """Bytes of the slots that have an object."""
        return sum(each.in_slots() for each in self.classes)

    def nothing_freed(self):
        """By the counters, and at both times: when these were read, and the classes."""
        return self.counter("frees") == 0 and self.counter("mallocs") == self.objects()

    def bytes_stored(self):
        """What its objects were asked for, as far as it can be told."""
        stored = total(each.bytes_stored() for each in self.classes)
        if stored is None and self.nothing_freed():
            return self.counter("bytes_asked")
        return stored

    def stored_is_exact(self):
        """None if it isn't known at all."""
        if self.bytes_stored() is None:
            return None
        return self.nothing_freed() or all(each.stored_is_exact() for each in self.classes)

    def waste(self):
        """Bytes by cause."""
        stored = self.bytes_stored()
        wastes = [each.waste() for each in self.classes]
        parts = {cause: total(waste[cause] for waste in wastes) for cause in CLASS_WASTE}
        if stored is not None:
            parts["rounding"] = self.in_slots() - stored
        for cause, counter in (("handles", "handle_bytes"), ("descriptors", "descriptor_bytes"),
                               ("pool", "pool_bytes")):
            parts[cause] = self.counter(counter)
        return parts

    def bytes_held(self):
        """All that it costs."""
        waste = self.waste()
        return total([self.pages() * self.page_size, waste["handles"], waste["descriptors"],
                      waste["pool"]])

    def density(self):
        """What is stored, of what is held."""
        return share(self.bytes_stored(), self.bytes_held())

    def occupancy(self):
        """How much of its pages is in use: slots with objects."""
        return share(self.in_slots(), self.pages() * self.page_size)

    def told(self, per_second=None):
        """As snapshots have it."""
        return {
            "name": self.name, "allocator": self.allocator, "page_size": self.page_size,
            "objects": self.objects(), "pages": self.pages(), "zspages": self.zspages(),
            "bytes_stored": self.bytes_stored(), "stored_is_exact": self.stored_is_exact(),
            "bytes_held": self.bytes_held(), "density": self.density(), "occupancy": self.occupancy(),
            "waste": self.waste(), "freeable_pages": self.freeable(),
            "counters": self.counters, "per_second": per_second, "groups": self.groups,
            "classes": [each.told() for each in self.classes],
        }

    @classmethod
    def of_told(cls, told):
        """The inverse. What is computed is computed anew."""
        classes = [{name: each[name] for name in SizeClass.FACTS} for each in told["classes"]]
        return cls(told["name"], told["groups"], classes, told["counters"])


# --- files of debugfs ---

def read_lines(path):
    """Without empty ones, each as words."""
    with open(path, encoding="ascii", errors="replace") as file:
        return [line.split() for line in file if line.strip()]


def numbers(path, words):
    """A line is numbers, or the file is none of ours."""
    try:
        return [int(word) for word in words]
    except ValueError:
        raise Trouble(f"{path}: not what was expected: {' '.join(words)[:60]}") from None


def parse_classes(path, lines):
    """(the fullness groups' names, the facts of each class)"""
    header = lines[0] if lines else []
    groups = header[len(FIRST):-len(LAST)]
    if header != FIRST + groups + LAST or len(lines) < 3 or lines[-1][0] != "Total":
        raise Trouble(f"{path}: not a file of zsx's or zsmalloc's classes")
    classes = []
    for words in lines[1:-1]:
        values = numbers(path, words)
        if len(values) != len(header):
            raise Trouble(f"{path}: {len(values)} columns, not {len(header)}")
        index, size, *zspages = values[:-len(LAST)]
        slots, objects, pages, pages_per_zspage, freeable = values[-len(LAST):]
        classes.append({"class": index, "size": size, "objects": objects, "slots": slots,
                        "pages": pages, "pages_per_zspage": pages_per_zspage,
                        "zspages": zspages, "freeable_pages": freeable,
                        "mallocs": None, "frees": None, "bytes_asked": None})
    sums = [sum(column) for column in zip(*(each["zspages"] for each in classes))]
    sums += [sum(each[name] for each in classes)
             for name in ("slots", "objects", "pages", "freeable_pages")]
    if numbers(path, lines[-1][1:]) != sums:
        raise Trouble(f"{path}: the total is not the sum of the classes")
    return groups, classes


def add_lengths(path, lines, classes):
    """To the facts of each class."""
    if not lines or lines[0] != LENGTHS or len(lines) != len(classes) + 1:
        raise Trouble(f"{path}: not a file of zsx's lengths")
    for words, facts in zip(lines[1:], classes):
        values = numbers(path, words)
        if values[:len(FIRST)] != [facts["class"], facts["size"]] or len(values) != len(LENGTHS):
            raise Trouble(f"{path}: not the classes of the file beside it")
        facts.update(zip(LENGTHS[len(FIRST):], values[len(FIRST):]))


def parse_stats(path, lines):
    """{name: value}"""
    counters = {}
    for words in lines:
        if len(words) != 2:
            raise Trouble(f"{path}: not a name and a value: {' '.join(words)[:60]}")
        counters[words[0]] = numbers(path, words[1:])[0]
    return counters


def read_pool(path):
    """The pool in a directory, or None. Whose it is, is told by the files that there are."""
    counters = None
    try:
        inode = os.stat(path).st_ino
        files = set(os.listdir(path))
        # Something else; or a pool that comes, as its directory is there before its files.
        if "classes" not in files:
            return None
        name = os.path.join(path, "classes")
        groups, classes = parse_classes(name, read_lines(name))
        if "lengths" in files:
            name = os.path.join(path, "lengths")
            add_lengths(name, read_lines(name), classes)
        if "stats" in files:
            name = os.path.join(path, "stats")
            counters = parse_stats(name, read_lines(name))
        # Files go one by one: without stats it would seem to be in-tree zsmalloc's.
        if set(os.listdir(path)) != files:
            raise Gone(path)
    except OSError as error:
        # EIO: debugfs says so of a file that was open when it was removed.
        if error.errno in (errno.ENOENT, errno.EIO):
            raise Gone(path) from None
        raise Trouble(f"{path}: {error.strerror}") from None
    pool = Pool(os.path.basename(path), groups, classes, counters)
    pool.inode = inode
    return pool


def why_not(directory, error, sys="/sys"):
    """Why a directory of pools can't be read, and what helps."""
    if isinstance(error, PermissionError):
        return f"{directory}: only root may look into debugfs"
    debugfs = f"{sys}/kernel/debug"
    if not isinstance(error, FileNotFoundError) or not directory.startswith(debugfs + "/"):
        return f"{directory}: {error.strerror}"
    if not os.path.ismount(debugfs):
        return f"debugfs isn't mounted: mount -t debugfs debugfs {debugfs}"
    if os.path.basename(directory) == IN_TREE:
        return (f"no {directory}: in-tree zsmalloc isn't loaded, or its kernel has no "
                "CONFIG_ZSMALLOC_STAT")
    if not os.path.exists(f"{sys}/module/zsxmalloc"):
        return "zsx isn't loaded: insmod zsxmalloc.ko"
    return f"no {directory}, although zsx is loaded"


def read_pools(directory):
    """(all pools, sorted by name; the names of those that went away meanwhile)"""
    pools, gone = [], []
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise Trouble(why_not(directory, error)) from None
    for name in names:
        try:
            pool = read_pool(os.path.join(directory, name))
        except Gone:
            gone.append(name)
            continue
        if pool:
            pools.append(pool)
    return pools, gone


# --- snapshots ---

def load_snapshot(path):
    """[Pool], of what zsxtop --once --json wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise Trouble(f"{path}: not a snapshot of format {FORMAT} (zsxtop --once --json)")
        return [Pool.of_told(told) for told in data["pools"]]
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None
    except ValueError:
        raise Trouble(f"{path}: not JSON") from None
    except (KeyError, TypeError) as error:
        raise Trouble(f"{path}: a snapshot that lacks something: {error}") from None


# --- words for people ---

def count(value):
    """A number of things, in nine characters."""
    if value is None:
        return "-"
    if value < 10_000_000:
        return f"{value:,}"
    for unit in "MGTP":
        value /= 1000 if unit != "M" else 1_000_000
        if value < 9999.5:
            break
    return f"{value:,.1f}{unit}"


def size(value):
    """Bytes, by three digits and a power of 1024."""
    if value is None:
        return "-"
    if value < 1000:
        return f"{value}"
    for unit in "KMGTP":
        value /= 1024
        if value < 999.5:
            break
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{unit}"


def percent(value):
    """A share."""
    return "-" if value is None else f"{100 * value:.1f}%"


def plain(name):
    """A name that may be shown in any terminal."""
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in name)
