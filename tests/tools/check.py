#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""usage: tests/tools/check.py [WORD...]

Try scripts/zsxtop and scripts/zsxplot on what record.sh has recorded of real pools: figures,
errors, pools that go away, and what is on the screen, in a terminal made of a pty and
screen.py. With WORDs only the cases whose names have one of them. The last line counts them.
"""

import contextlib
import errno
import fcntl
import importlib.machinery
import importlib.util
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
import xml.etree.ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "../../scripts")
SAMPLES = os.path.join(HERE, "samples")
sys.path[:0] = [SCRIPTS, HERE]
import screen
import zsx_data

ZSX, IN_TREE = SAMPLES + "/zsx/thinned", SAMPLES + "/zsmalloc/thinned"
BENCH, CONSUMER = "zsx_bench.0", "zsx_consumer"
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
               "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": tempfile.mkdtemp()}
CASES = []


def case(name):
    """A function is a case; it gets a directory of its own."""
    return lambda function: CASES.append((name, function))


class Failed(Exception):
    """A case did."""


class Skipped(Exception):
    """A case can't be tried here."""


def same(is_so, expected, what=""):
    """Or the case fails."""
    if is_so != expected:
        raise Failed(f"{what}: {is_so!r}, not {expected!r}")


def has(text, *parts):
    """Or the case fails."""
    for part in parts:
        if part not in text:
            raise Failed(f"no {part!r} in:\n{text}")


def lacks(text, *parts):
    """Or the case fails."""
    for part in parts:
        if part in text:
            raise Failed(f"{part!r} in:\n{text}")


def raises(function, *args):
    """The words of the Trouble that comes of it."""
    try:
        function(*args)
    except zsx_data.Trouble as trouble:
        return str(trouble)
    raise Failed(f"{function.__name__}{args} had nothing to say")


def script(name):
    """As a module."""
    loader = importlib.machinery.SourceFileLoader(name, f"{SCRIPTS}/{name}")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run(name, *args, status=0, **more):
    """A script's stdout and stderr. A traceback is never right."""
    done = subprocess.run([f"{SCRIPTS}/{name}", *args], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, env=ENVIRONMENT, timeout=60, check=False, **more)
    lacks(done.stderr, "Traceback")
    same(done.returncode, status, f"exit of {name} {' '.join(args)}\n{done.stderr}")
    return done.stdout, done.stderr


def snapshot(path, *args):
    """zsxtop's, in a file."""
    with open(path, "w", encoding="ascii") as file:
        file.write(run("zsxtop", "--once", "--json", *args)[0])
    return path


def read(path):
    """A file."""
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, text):
    """A file, and its directory."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def copy(tmp, sample=ZSX):
    """Of a sample, to be changed."""
    return shutil.copytree(sample, tmp + "/pools")


def pool(name=BENCH, directory=ZSX):
    """A sample's."""
    return zsx_data.read_pool(f"{directory}/{name}")


def all_samples():
    """Each recorded pool."""
    for directory in sorted(os.listdir(SAMPLES)):
        for state in ("thinned", "compacted"):
            yield from zsx_data.read_pools(f"{SAMPLES}/{directory}/{state}")[0]


# --- figures ---

@case("what is stored and what is wasted is what is held")
def _(_tmp):
    pools = [each for each in all_samples() if each.allocator == "zsx"]
    same(len(pools), 3, "pools")
    for each in pools:
        waste = each.waste()
        same(each.bytes_stored() + sum(waste.values()), each.bytes_held(), "sum")
        same((waste["handles"], waste["descriptors"], waste["pool"]),
             tuple(each.counter(name) for name in ("handle_bytes", "descriptor_bytes",
                                                   "pool_bytes")), "what isn't on pages")
        same((each.objects(), each.pages(), sum(map(sum, (c.zspages for c in each.classes)))),
             tuple(each.counter(name) for name in ("objects", "pages", "zspages")), "counts")
        same(each.in_slots(), each.counter("bytes_in_classes"), "bytes in slots")


@case("of each class too, and no cause has less than nothing")
def _(_tmp):
    nr = 0
    for each in (each for one in all_samples() for each in one.classes if each.pages):
        waste = each.waste()
        same(each.in_slots() + waste["free_slots"] + waste["gaps"], each.pages * 4096, "pages")
        same(min(part or 0 for part in waste.values()) >= 0, True, f"waste {waste}")
        if waste["rounding"] is not None:
            same(each.bytes_stored() + waste["rounding"], each.in_slots(), "slots")
        nr += 1
    same(nr > 500, True, "classes")


@case("what is stored is what the client knows, exactly if nothing was freed")
def _(_tmp):
    known = int(read(SAMPLES + "/zsx/stored"))
    told = pool().bytes_stored()
    same((abs(told - known) < known / 1000, pool().stored_is_exact()), (True, False),
         f"{told}, and {known} in truth")
    consumer = pool(CONSUMER)
    same((consumer.bytes_stored(), consumer.stored_is_exact()),
         (consumer.counter("bytes_asked"), True), "where nothing was freed")


@case("compaction gains what was said")
def _(_tmp):
    for allocator in ("zsx", "zsmalloc"):
        before, after = (pool(directory=f"{SAMPLES}/{allocator}/{state}")
                         for state in ("thinned", "compacted"))
        same((before.pages() - after.pages(), after.freeable()), (before.freeable(), 0), allocator)
        same(before.objects(), after.objects(), "objects")


@case("what in-tree zsmalloc doesn't tell isn't known")
def _(_tmp):
    each = pool(directory=IN_TREE)
    same((each.allocator, each.bytes_stored(), each.bytes_held(), each.density(),
          each.stored_is_exact(), each.told()["counters"]), ("zsmalloc",) + (None,) * 5, "pool")
    waste = each.waste()
    same([cause for cause, value in waste.items() if value is None],
         ["rounding", "handles", "descriptors", "pool"], "waste")
    out, _ = run("zsxtop", "--once", "--dir", IN_TREE)
    same(out.splitlines()[1].split(), [BENCH, "5,290", "3,678", "-", "-", "-", "54.1%", "-", "6.55M",
                                       "44.7K"] + ["-"] * 5 + ["1,361"], "the table")


@case("nor is what is stored without the file lengths, unless nothing was freed")
def _(tmp):
    copy(tmp)
    for name in (BENCH, CONSUMER):
        os.unlink(f"{tmp}/pools/{name}/lengths")
    each, other = (pool(name, tmp + "/pools") for name in (BENCH, CONSUMER))
    same((each.allocator, each.bytes_stored(), each.density(), each.waste()["rounding"]),
         ("zsx", None, None, None), BENCH)
    same((each.bytes_held(), each.waste()["gaps"]), (pool().bytes_held(), pool().waste()["gaps"]),
         "the rest")
    same((other.bytes_stored(), other.stored_is_exact()), (193817, True), CONSUMER)


@case("files of kernels before 6.4 are read")
def _(tmp):
    header = "class size almost_full almost_empty obj_allocated obj_used pages_used " \
             "pages_per_zspage freeable\n"
    write(tmp + "/zram0/classes", header + "  1 64 2 1 256 130 4 1 1\n" "  254 4096 0 0 3 3 3 1 0\n\n"
          "  Total 2 1 259 133 7 1\n")
    each = pool("zram0", tmp)
    same((each.allocator, each.page_size, each.groups, each.objects(), each.pages(),
          each.freeable()), ("zsmalloc", 4096, ["almost_full", "almost_empty"], 133, 7, 1), "pool")
    run("zsxplot", "-o", tmp + "/a.svg", snapshot(tmp + "/a.json", "--dir", tmp))
    has(read(tmp + "/a.svg"), "almost", "full", "empty")


@case("a snapshot is JSON, has what --help names, and comes back the same")
def _(tmp):
    told = json.loads(run("zsxtop", "--once", "--json", "--dir", ZSX)[0])
    same((told["format"], told["directory"], told["kernel"], told["interval"]),
         (1, ZSX, None, None), "head")
    same([each["name"] for each in told["pools"]], [BENCH, CONSUMER], "names")
    manual = run("zsxtop", "--help")[0]
    manual = set(re.findall("[a-z_]+", manual[manual.index("\nJSON\n"):]))
    for name in (*told, *told["pools"][0], *told["pools"][0]["classes"][0],
                 *told["pools"][0]["waste"]):
        same(name in manual, True, name)
    path = snapshot(tmp + "/a.json", "--dir", ZSX)
    same([each.told() for each in zsx_data.load_snapshot(path)], told["pools"], "back again")


@case("rates are a counter's growth, of one and the same pool")
def _(tmp):
    directory = copy(tmp)
    top = script("zsxtop")
    watch = top.Watch(directory)
    watch.look()
    same(watch.rates, {BENCH: None, CONSUMER: None}, "at first")
    stats = f"{directory}/{BENCH}/stats"
    text = read(stats)
    write(stats, text.replace("mallocs 10580", "mallocs 11080"))
    watch.when -= 2 # it was a while ago
    watch.look()
    rates = watch.rates[BENCH]
    same((round(rates["mallocs"], -1), rates["frees"], watch.rates[CONSUMER]["mallocs"]),
         (250, 0, 0), "rates")
    write(stats, text)
    watch.look()
    same(watch.rates[BENCH], None, "after a counter fell")
    shutil.move(f"{directory}/{BENCH}", tmp + "/old")
    shutil.copytree(tmp + "/old", f"{directory}/{BENCH}")
    watch.look()
    same((watch.rates[BENCH], watch.rates[CONSUMER]["frees"]), (None, 0), "of another pool")
    out, _ = run("zsxtop", "--once", "--interval", "0.1", "--dir", ZSX)
    same(out.splitlines()[1].split()[-5:], ["0", "0", "0", "0", "1,158"], "a table of two looks")


@case("the tables have what was recorded, in each order")
def _(_tmp):
    out, _ = run("zsxtop", "--once", "--dir", ZSX)
    same(out.splitlines()[1].split(),
         [BENCH, "5,290", "3,231", "~7.64M", "13.0M", "~58.9%", "60.9%", "~44.5K", "4.56M", "392K",
          "354K", "-", "-", "0", "0", "1,158"], "a pool")
    classes = [each for each in pool().classes if each.pages]
    columns = {"size": (0, False), "objects": (1, True), "pages": (2, True), "gain": (8, True)}
    for key, (column, falls) in columns.items():
        out, _ = run("zsxtop", "--once", "--pool", BENCH, "--sort", key, "--dir", ZSX)
        rows = [line.split() for line in out.splitlines()[4:]]
        values = [int(row[column].replace(",", "")) for row in rows]
        same((len(rows), values), (len(classes), sorted(values, reverse=falls)), key)
    out, _ = run("zsxtop", "--once", "--pool", BENCH, "--dir", ZSX)
    worst = max(classes, key=lambda each: each.known_waste())
    same(out.splitlines()[4].split()[0], f"{worst.size:,}", "the class that wastes most")


@case("sizes and counts keep to their columns")
def _(_tmp):
    values = [10 ** i * k + j for i in range(16) for k in (1, 5) for j in (-1, 0, 1)]
    same(max(len(zsx_data.size(value)) for value in values), 5, "sizes")
    same(max(len(zsx_data.count(value)) for value in values if value < 10 ** 12), 9, "counts")
    same([zsx_data.size(value) for value in (0, 999, 1000, 1023, 1024, 1 << 20, 10234, 1023700)],
         ["0", "999", "0.98K", "1.00K", "1.00K", "1.00M", "9.99K", "0.98M"], "sizes")


# --- what is wrong ---

@case("a file that isn't one of classes is refused")
def _(tmp):
    text = read(f"{ZSX}/{BENCH}/classes")
    lines = text.splitlines(True)
    for name, broken in {
            "empty": "", "words": "no classes here\n", "header": "".join(lines[1:]),
            "total": "".join(lines[:-1]), "line": "".join(lines[:50] + lines[51:]),
            "half": text[:len(text) // 2], "word": text.replace(" 5290 ", " none "),
            "column": "".join(lines[:50] + [lines[50].rstrip() + " 1\n"] + lines[51:])}.items():
        write(f"{tmp}/{name}/a/classes", broken)
        if name == "line":
            # One that isn't empty, or nothing is amiss with the sum.
            nr = next(i for i, line in enumerate(lines[1:], 1) if line.split()[15] != "0")
            write(f"{tmp}/{name}/a/classes", "".join(lines[:nr] + lines[nr + 1:]))
        _, err = run("zsxtop", "--once", "--dir", f"{tmp}/{name}", status=1)
        has(err, f"zsxtop: {tmp}/{name}/a/classes: ", "19 columns" if name == "column" else "")
        same(len(err.splitlines()), 1, "lines")


@case("nor are stats or lengths that aren't")
def _(tmp):
    for name, old, new in (("stats", "objects ", "objects of "), ("stats", "5290", "x"),
                           ("stats", "objects ", "objects 1 "),
                           ("lengths", "mallocs", "malloc"), ("lengths", "   40 ", "   41 "),
                           ("lengths", " 48 ", " 48 0 ")):
        directory = copy(tmp)
        path = f"{directory}/{BENCH}/{name}"
        write(path, read(path).replace(old, new, 1))
        has(raises(zsx_data.read_pools, directory), path)
        shutil.rmtree(directory)


@case("why there is nothing to be read is said")
def _(tmp):
    missing, refused = FileNotFoundError(2, "No such file"), PermissionError(13, "Permission denied")
    debugfs = f"{tmp}/kernel/debug"

    def why(name, error):
        return zsx_data.why_not(f"{debugfs}/{name}", error, tmp)

    os.makedirs(debugfs)
    has(why("zsx", missing), "debugfs isn't mounted", "mount -t debugfs")
    has(why("zsx", refused), "root")
    ismount, os.path.ismount = os.path.ismount, lambda _: True
    try:
        has(why("zsx", missing), "zsx isn't loaded", "insmod")
        has(why("zsmalloc", missing), "CONFIG_ZSMALLOC_STAT")
        os.makedirs(f"{tmp}/module/zsxmalloc")
        has(why("zsx", missing), "although zsx is loaded")
    finally:
        os.path.ismount = ismount
    os.makedirs(tmp + "/nothing/in/it")
    for args, text in ((("--dir", tmp + "/nothing"), "no pool in"),
                       (("--dir", tmp + "/absent"), "No such file"),
                       (("--dir", f"{ZSX}/{BENCH}/stats"), "Not a directory"),
                       (("--dir", ZSX, "--pool", "absent"), "no pool absent")):
        has(run("zsxtop", "--once", *args, status=1)[1], "zsxtop: ", text)


@case("who isn't root is told so")
def _(tmp):
    if os.getuid():
        raise Skipped("needs root, to become somebody else")
    os.chmod(tmp, 0o755)
    shutil.copytree(SCRIPTS, tmp + "/scripts", ignore=shutil.ignore_patterns("jobs"))
    os.makedirs(tmp + "/debugfs", 0o700)
    done = subprocess.run([tmp + "/scripts/zsxtop", "--once", "--dir", tmp + "/debugfs"],
                          user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
                          env=ENVIRONMENT, cwd="/", check=False)
    same(done.returncode, 1, "exit")
    has(done.stderr, "only root may look into debugfs")


@case("arguments that make no sense are refused")
def _(_tmp):
    for args in (("--json",), ("--interval", "0"), ("--interval", "x"), ("--sort", "name"),
                 ("--zsmalloc", "--dir", "/"), ("--nothing",), ("pool",)):
        run("zsxtop", *args, status=2)


# --- pools that go away ---

@case("a pool that goes away while it is read is left out, and named")
def _(tmp):
    directory = copy(tmp)
    read_lines = zsx_data.read_lines

    def removes(file, error=None):
        def instead(path):
            if path == f"{directory}/{BENCH}/{file}":
                if error:
                    raise OSError(error, os.strerror(error))
                shutil.rmtree(f"{directory}/{BENCH}")
            return read_lines(path)
        return instead

    for file, error in (("classes", None), ("lengths", None), ("stats", None),
                        ("classes", errno.EIO), ("stats", errno.EIO)):
        zsx_data.read_lines = removes(file, error)
        try:
            pools, gone = zsx_data.read_pools(directory)
        finally:
            zsx_data.read_lines = read_lines
        same(([each.name for each in pools], gone), ([CONSUMER], [BENCH]), file)
        shutil.rmtree(directory)
        copy(tmp)


@case("half of a pool isn't taken for one of in-tree zsmalloc's")
def _(tmp):
    directory = copy(tmp)
    read_lines = zsx_data.read_lines

    def removes(path):
        lines = read_lines(path)
        if path.endswith(f"{BENCH}/classes"):
            os.unlink(f"{directory}/{BENCH}/check")
        return lines

    for name in ("stats", "lengths"):
        os.unlink(f"{directory}/{BENCH}/{name}")
    write(f"{directory}/{BENCH}/check", "ok\n")
    zsx_data.read_lines = removes
    try:
        same(zsx_data.read_pools(directory)[1], [BENCH], "gone")
    finally:
        zsx_data.read_lines = read_lines
    os.unlink(f"{directory}/{BENCH}/classes") # it comes: its directory is there first
    pools, gone = zsx_data.read_pools(directory)
    same(([each.name for each in pools], gone), ([CONSUMER], []), "pools")


@contextlib.contextmanager
def coming_and_going(directory, away):
    """A pool does so, all the time; as a whole, as in debugfs nothing is there in half."""
    stop = threading.Event()

    def loop():
        while not stop.is_set():
            os.rename(f"{directory}/{BENCH}", away)
            os.rename(away, f"{directory}/{BENCH}")

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@case("--once survives pools that come and go")
def _(tmp):
    directory = copy(tmp)
    with coming_and_going(directory, tmp + "/away"):
        for _ in range(15):
            told = json.loads(run("zsxtop", "--once", "--json", "--dir", directory)[0])
            same(told["pools"][-1]["name"], CONSUMER, "the pool that stays")


# --- the screen ---

class Terminal:
    """zsxtop in a terminal of its own."""

    def __init__(self, rows, columns, *args, term="xterm-256color", **environment):
        self.screen = screen.Screen(rows, columns)
        self.raw = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.set_size(0, rows, columns)
            os.execve(f"{SCRIPTS}/zsxtop", ["zsxtop", *args],
                      {**ENVIRONMENT, "TERM": term, **environment})

    @staticmethod
    def set_size(fd, rows, columns):
        """The kernel's part of it: SIGWINCH comes of it."""
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        """As a user does, with a mouse."""
        self.read(0.1)
        self.screen.resize(rows, columns)
        self.set_size(self.fd, rows, columns)

    def read(self, seconds):
        """What comes within this time. False: that was all."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError: # the other side is closed
            return False
        self.raw += data
        self.screen.feed(data)
        return bool(data)

    def text(self):
        """All of the screen."""
        return "\n".join(self.screen.text())

    def wait_for(self, *parts, without=()):
        """Until all of them are on the screen, and none of those, and nothing is half drawn."""
        end = time.monotonic() + 20
        is_quiet = is_over = False
        while time.monotonic() < end:
            text = self.text()
            if is_quiet and all(part in text for part in parts) and \
                    not any(part in text for part in without):
                return text
            if is_over:
                break
            length = len(self.raw)
            is_over = not self.read(0.05)
            is_quiet = is_over or length == len(self.raw)
        raise Failed(f"not {parts} without {without} on the screen:\n{self.text()}")

    def keys(self, keys):
        """Typed."""
        os.write(self.fd, keys)

    def end(self, keys=b"q", status=0):
        """Type something, and it ends in this way, with the terminal as it was."""
        if keys:
            self.keys(keys)
        end = time.monotonic() + 20
        while self.read(0.1) and time.monotonic() < end:
            pass
        if time.monotonic() >= end:
            os.kill(self.pid, signal.SIGKILL)
        _, how = os.waitpid(self.pid, 0)
        os.close(self.fd)
        lacks(self.raw.decode(), "Traceback")
        same(os.waitstatus_to_exitcode(how), status, f"exit\n{self.text()}\n")
        same(("?", 1049) in self.screen.modes, False, "the terminal's other screen is left")


def is_whole(terminal, rows, columns):
    """Nothing runs over: the first line is the head, the last the keys."""
    lines = terminal.screen.text()
    same((lines[0][:7], lines[-1][:6]), ("zsxtop ", "q quit"), "first and last line")
    same((len(lines), max(map(len, lines)) <= columns), (rows, True), "size")


@case("the screen, 80x24")
def _(_tmp):
    terminal = Terminal(24, 80, "--dir", ZSX)
    text = terminal.wait_for("h help", BENCH, CONSUMER)
    is_whole(terminal, 24, 80)
    has(text, "2 pools, each 2 s", "POOL", "DENSITY", "~58.9%", "13.0M", "compaction would gain 1,158",
        "# stored ~58.9%  = rounded ~0.3%  : free 35.1%  . gaps 3.0%  o meta 2.7%", "SIZE", "ROUNDED",
        "1,400", "10,580 mallocs")
    bar = terminal.screen.text()[6]
    same((len(bar), set(bar) <= set("#=:.o"), bar.count("#")), (80, True, 47), "the bar")
    terminal.end()


@case("the screen, 40x10")
def _(_tmp):
    terminal = Terminal(10, 40, "--dir", ZSX)
    text = terminal.wait_for("h help", BENCH, CONSUMER, "SIZE")
    is_whole(terminal, 10, 40)
    has(text, "3,231", "~58.9%", "1,400", "WASTE")
    terminal.end()


@case("in-tree zsmalloc on the screen")
def _(_tmp):
    terminal = Terminal(24, 80, "--dir", IN_TREE)
    text = terminal.wait_for("h help", BENCH)
    has(text, "(zsmalloc)", "# in use 54.1%  : free 45.6%  . gaps 0.3%", "retried: -", "206K+")
    lacks(text, "~", "held")
    terminal.end()


def change(path, old, new):
    """Of a file that is being watched: at once, as debugfs has it."""
    beside = os.path.dirname(os.path.dirname(path)) + "/new"
    write(beside, read(path).replace(old, new))
    os.rename(beside, path)


@case("keys: another pool, another order, pause, help")
def _(tmp):
    directory = copy(tmp)
    terminal = Terminal(24, 80, "--dir", directory, "--interval", "0.2")
    terminal.wait_for(f"{BENCH} (zsx)", "sort: waste")
    for keys in (b"\t", b"\x1b[Z", b"\x1bOB", b"\x1bOA"): # Tab and back, Down and Up
        terminal.keys(keys)
        terminal.wait_for(f"{CONSUMER if keys in (bytes([9]), b'%cOB' % 27) else BENCH} (zsx)")
    for key in ("gain", "objects", "pages", "size", "waste"):
        terminal.keys(b"s")
        terminal.wait_for(f"sort: {key}")
    terminal.wait_for("\n1,400 ")
    terminal.keys(b"\x1b[6~") # Page Down
    terminal.wait_for("\n1,360 ", without=["\n1,400 "])
    terminal.keys(b"\x1b[5~")
    terminal.wait_for("\n1,400 ")
    terminal.keys(b"h")
    terminal.wait_for("q: quit", "what the objects were asked for", without=[BENCH])
    terminal.keys(b"xx")
    terminal.wait_for(BENCH)
    terminal.keys(b"p")
    terminal.wait_for("PAUSED", "10,580 mallocs")
    change(f"{directory}/{BENCH}/stats", "mallocs 10580", "mallocs 10581")
    for _ in range(6):
        terminal.read(0.1)
    has(terminal.text(), "PAUSED", "10,580 mallocs")
    terminal.keys(b"p")
    terminal.wait_for("each 0.2 s", "10,581 mallocs")
    terminal.end()


@case("the screen shows what changes, with rates")
def _(tmp):
    directory = copy(tmp)
    terminal = Terminal(24, 160, "--dir", directory, "--interval", "1")
    terminal.wait_for("10,580 mallocs (0/s)")
    change(f"{directory}/{BENCH}/stats", "mallocs 10580", "mallocs 910580")
    text = terminal.wait_for("910,580 mallocs (", without=["910,580 mallocs (0/s)"])
    rate = text.split("910,580 mallocs (")[1].split("/s)")[0]
    same(900000 / 5 < float(rate.replace(",", "")) <= 900000 / 0.9, True, f"rate {rate}")
    terminal.wait_for("910,580 mallocs (0/s)")
    terminal.end()


@case("the terminal is made larger, small, tiny, and large again")
def _(_tmp):
    terminal = Terminal(24, 80, "--dir", ZSX, "--interval", "0.2")
    terminal.wait_for("h help")
    for rows, columns in ((30, 120), (10, 40), (5, 20), (2, 6), (1, 1), (3, 200), (24, 80)):
        terminal.resize(rows, columns)
        terminal.wait_for(*(["zsxtop", "q quit"] if columns > 5 and rows > 1 else ["q"]))
        for _ in range(3):
            terminal.read(0.1)
        terminal.keys(b"\ts")
        if columns == 20:
            terminal.keys(b"h")
            terminal.wait_for("any key")
            end = time.monotonic() + 20
            while "any key" in terminal.text() and time.monotonic() < end:
                terminal.keys(b"x")
                terminal.read(0.1)
    terminal.wait_for("h help", "DENSITY", "SIZE")
    is_whole(terminal, 24, 80)
    terminal.end()


@case("pools go away under the screen: one, all, and debugfs")
def _(tmp):
    directory = copy(tmp)
    terminal = Terminal(24, 80, "--dir", directory, "--interval", "0.1")
    terminal.wait_for(f"{BENCH} (zsx)", "2 pools")
    os.rename(f"{directory}/{BENCH}", tmp + "/away")
    terminal.wait_for(f"went away: {BENCH}", f"{CONSUMER} (zsx)", "1 pool,")
    os.rename(f"{directory}/{CONSUMER}", tmp + "/away2")
    terminal.wait_for(f"went away: {CONSUMER}", "no pool is there now", "0 pools")
    terminal.keys(b"\tsph\x1b[6~hp")
    os.rename(directory, directory + ".away")
    terminal.wait_for("No such file or directory")
    os.rename(directory + ".away", directory)
    os.rename(tmp + "/away", f"{directory}/{BENCH}")
    terminal.wait_for(f"{BENCH} (zsx)", "1 pool,")
    terminal.end()


@case("pools come and go under the screen")
def _(tmp):
    directory = copy(tmp)
    terminal = Terminal(24, 80, "--dir", directory, "--interval", "0.1", "--pool", CONSUMER)
    terminal.wait_for(f"{CONSUMER} (zsx)")
    with coming_and_going(directory, tmp + "/away"):
        for _ in range(20):
            if not terminal.read(0.1):
                raise Failed("it ended")
    terminal.wait_for(BENCH, f"{CONSUMER} (zsx)")
    terminal.end()


@case("Ctrl-C and SIGTERM leave the terminal as it was")
def _(_tmp):
    terminal = Terminal(24, 80, "--dir", ZSX)
    terminal.wait_for("h help")
    terminal.end(b"\x03", 130)
    terminal = Terminal(24, 80, "--dir", ZSX)
    terminal.wait_for("h help")
    os.kill(terminal.pid, signal.SIGTERM)
    terminal.end(b"", 143)


@case("colours only where there are some, and they are wanted")
def _(_tmp):
    for coloured, term, environment in ((True, "xterm-256color", {}), (True, "linux", {}),
                                        (False, "xterm-256color", {"NO_COLOR": "1"}),
                                        (False, "vt100", {})):
        terminal = Terminal(24, 80, "--dir", ZSX, term=term, **environment)
        terminal.wait_for("h help", "####", ":::", "ooo", "1,400")
        same(terminal.screen.coloured, coloured, f"coloured, on {term} {environment}")
        is_whole(terminal, 24, 80)
        terminal.end()


@case("what is no terminal is told of --once")
def _(_tmp):
    has(run("zsxtop", "--dir", ZSX, status=1)[1], "see --once")
    terminal = Terminal(24, 80, "--dir", ZSX, term="dumb")
    terminal.wait_for("see --once")
    terminal.end(b"", 1)
    terminal = Terminal(24, 80, "--dir", ZSX, term="nothing-known")
    terminal.wait_for("see --once")
    terminal.end(b"", 1)


@case("a name can't do anything to the terminal")
def _(tmp):
    directory = copy(tmp)
    os.rename(f"{directory}/{BENCH}".encode(), f"{directory}/\x1b[2Ja\n\xff".encode("latin-1"))
    terminal = Terminal(24, 80, "--dir", directory)
    terminal.wait_for("?[2Ja??", CONSUMER)
    terminal.end()
    has(run("zsxtop", "--once", "--dir", directory)[0], "?[2Ja??")
    json.loads(run("zsxtop", "--once", "--json", "--dir", directory)[0])
    write(f"{directory}/\x1b[2Jb/classes", "")
    has(run("zsxtop", "--once", "--dir", directory, status=1)[1], "/?[2Jb/classes: not a file")
    os.rename(directory, directory + "\u00fc\x1b")
    terminal = Terminal(24, 100, "--dir", directory + "\u00fc\x1b", "--interval", "0.1", LC_ALL="C")
    terminal.end(b"", 1)
    shutil.rmtree(directory + "\u00fc\x1b/\x1b[2Jb")
    terminal = Terminal(24, 100, "--dir", directory + "\u00fc\x1b", "--interval", "0.1", LC_ALL="C")
    terminal.wait_for("pools??")
    os.makedirs(directory + "\u00fc\x1b/\x1b[2Jb")
    os.rename(f"{directory}\u00fc\x1b/{CONSUMER}/stats", f"{directory}\u00fc\x1b/\x1b[2Jb/classes")
    terminal.wait_for("/?[2Jb/classes: not a file")
    terminal.end()


@case("a locale that isn't there is none")
def _(_tmp):
    terminal = Terminal(24, 80, "--dir", ZSX, LC_ALL="xx_XX.UTF-8")
    terminal.wait_for("h help", BENCH)
    terminal.end()


# --- pictures ---

SNAPSHOTS = {}


def sample(allocator, state):
    """A snapshot of a sample, made but once."""
    key = (allocator, state)
    if key not in SNAPSHOTS:
        path = f"{ENVIRONMENT['MPLCONFIGDIR']}/{allocator}-{state}.json"
        SNAPSHOTS[key] = snapshot(path, "--dir", f"{SAMPLES}/{allocator}/{state}", "--pool", BENCH)
    return SNAPSHOTS[key]


def words_of(path):
    """All texts of an SVG that is well-formed."""
    return " | ".join(xml.etree.ElementTree.parse(path).getroot().itertext())


@case("pictures of one snapshot and of two, of either allocator")
def _(tmp):
    axes = ("size of the objects' class, bytes", "memory held, KiB", "number of zspages",
            "how full a zspage is", "in use", "free slots", "gaps", "what compaction would leave",
            "full", "4096")
    run("zsxplot", "-o", tmp + "/one.svg", sample("zsmalloc", "thinned"))
    has(words_of(tmp + "/one.svg"), f"{BENCH} of zsmalloc", "3,678 pages", "549", *axes)
    run("zsxplot", "-o", tmp + "/two.svg", sample("zsx", "thinned"), sample("zsx", "compacted"))
    has(words_of(tmp + "/two.svg"), f"{BENCH} of zsx", "before: 3,231 pages", "after: 2,073 pages",
        "12.6 MiB", "8.1 MiB (-36 %)", "would gain 1,158", *axes)
    run("zsxplot", "-o", tmp + "/both.svg", sample("zsmalloc", "thinned"), sample("zsx", "thinned"))
    has(words_of(tmp + "/both.svg"), f"{BENCH} of zsmalloc", f"{BENCH} of zsx", *axes)
    lacks(words_of(tmp + "/both.svg"), "before", "after")


@case("PNG too; and equal data make equal files")
def _(tmp):
    for kind in ("png", "svg"):
        data = []
        for name in ("a", "b"):
            run("zsxplot", "-o", f"{tmp}/{name}.{kind}", sample("zsx", "thinned"),
                sample("zsx", "compacted"))
            with open(f"{tmp}/{name}.{kind}", "rb") as file:
                data.append(file.read())
        same(data[0] == data[1], True, f"equal {kind}")
    with open(tmp + "/a.png", "rb") as file:
        head = file.read(24)
    width, height = struct.unpack(">II", head[16:])
    same((head[:8], 1200 < width < 1600, 700 < height < 1000),
         (b"\x89PNG\r\n\x1a\n", True, True), f"a PNG of {width}x{height}")


@case("a picture's bars are the pool's figures")
def _(_tmp):
    plot = script("zsxplot")
    for each in all_samples():
        sums = [sum(column) for column in zip(*plot.by_size(each))]
        same(sums, [each.in_slots(), each.waste()["free_slots"], each.waste()["gaps"],
                    (each.pages() - each.freeable()) * 4096], "bytes")
        if each.allocator == "zsx":
            same(sum(plot.by_fullness(each)), each.zspages(), "zspages")
    before, after = (pool(directory=f"{SAMPLES}/zsx/{state}") for state in ("thinned", "compacted"))
    same([bar[3] for bar in plot.by_size(before)],
         [sum(bar[:3]) for bar in plot.by_size(after)], "what was left, and what was to be")
    held = {(each.size + 127) // 128 for each in before.classes if each.pages}
    same([nr for nr, bar in enumerate(plot.by_size(before), 1) if any(bar)], sorted(held), "places")
    same(plot.ranges(before.groups)[0::5], ["0-10", "50-60", "full"], "names of groups")


@case("a pool that is there now, compacted between two looks")
def _(tmp):
    directory = copy(tmp)
    plot = script("zsxplot")
    write(f"{directory}/{BENCH}/compact", "")
    asked = plot.compact

    def compact(where, name):
        asked(where, name)
        same(read(f"{where}/{name}/compact"), "1\n", "what was written")
        for file in ("classes", "lengths", "stats"):
            shutil.copy(f"{SAMPLES}/zsx/compacted/{BENCH}/{file}", f"{where}/{name}/{file}")

    plot.compact = compact
    args, sys.argv = sys.argv, ["zsxplot", "--dir", directory, "--pool", BENCH, "--compact", "-o",
                                tmp + "/a.svg"]
    try:
        plot.main()
    finally:
        sys.argv = args
    has(words_of(tmp + "/a.svg"), "before: 3,231 pages", "after: 2,073 pages")
    run("zsxplot", "--dir", directory, "--pool", BENCH, "-o", tmp + "/b.svg")
    has(words_of(tmp + "/b.svg"), "2,073 pages")


@case("a pool without such a file is compacted by its zram device")
def _(tmp):
    plot = script("zsxplot")
    write(tmp + "/sys/block/zram0/compact", "")
    shutil.copytree(f"{ZSX}/{BENCH}", tmp + "/zram0")
    plot.compact(tmp, "zram0", tmp + "/sys")
    same(read(tmp + "/sys/block/zram0/compact"), "1\n", "what was written")
    write(tmp + "/zram0/compact", "")
    write(tmp + "/sys/block/zram0/compact", "")
    plot.compact(tmp, "zram0", tmp + "/sys")
    same((read(tmp + "/zram0/compact"), read(tmp + "/sys/block/zram0/compact")), ("1\n", ""),
         "what was written, with both")
    has(run("zsxplot", "--dir", ZSX, "--pool", BENCH, "--compact", "-o", tmp + "/a.svg", status=1)[1],
        "can't be compacted from here")


@case("what can't be drawn is said")
def _(tmp):
    two = snapshot(tmp + "/two.json", "--dir", ZSX)
    empty = json.loads(read(two))
    for each in empty["pools"][0]["classes"]:
        each.update(objects=0, slots=0, pages=0, freeable_pages=0)
    write(tmp + "/empty.json", json.dumps(empty))
    del empty["pools"][0]["classes"][0]["slots"]
    write(tmp + "/lacks.json", json.dumps(empty))
    write(tmp + "/other.json", '{"format": 2}')
    write(tmp + "/none.json", "none")
    out = tmp + "/a.svg"
    for args, text in ((("-o", out, two), f"which pool? --pool NAME; it has {BENCH}, {CONSUMER}"),
                       (("-o", out, "--pool", "x", two), "which pool?"),
                       (("-o", out, tmp + "/absent"), "No such file"),
                       (("-o", out, tmp + "/none.json"), "not JSON"),
                       (("-o", out, tmp + "/other.json"), "not a snapshot of format 1"),
                       (("-o", out, tmp + "/lacks.json"), "lacks something: 'slots'"),
                       (("-o", out, "--pool", BENCH, tmp + "/empty.json"), "nothing to draw"),
                       (("-o", tmp + "/no/a.svg", "--pool", BENCH, two), "No such file"),
                       (("-o", out, "--dir", ZSX, "--pool", "x"), "no pool x")):
        has(run("zsxplot", *args, status=1)[1], "zsxplot: ", text)
    same(os.path.exists(out), False, "a picture")
    for args in ((two,), ("-o", "a.gif", two), ("-o", out), ("-o", out, two, two, two),
                 ("-o", out, "--compact", two), ("-o", out, "--pool", "x", "--zsmalloc", "--dir", "/")):
        run("zsxplot", *args, status=2)


def attempt(name, function):
    """A case: what became of it."""
    tmp = tempfile.mkdtemp()
    try:
        function(tmp)
        print(f"ok: {name}")
        return "passed"
    except Skipped as reason:
        print(f"skipped: {name}: {reason}")
        return "skipped"
    except Exception as error: # pylint: disable=broad-except
        if not isinstance(error, Failed):
            traceback.print_exc(file=sys.stdout)
        print(f"{error}\nFAILED: {name}")
        return "failed"
    finally:
        shutil.rmtree(tmp)


def main():
    """See the head."""
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, function in CASES:
        if len(sys.argv) == 1 or any(word in name for word in sys.argv[1:]):
            counts[attempt(name, function)] += 1
            sys.stdout.flush()
    shutil.rmtree(ENVIRONMENT["MPLCONFIGDIR"])
    print(", ".join(f"{nr} {what}" for what, nr in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
