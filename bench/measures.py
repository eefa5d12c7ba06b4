"""The measures, one function each. Add one by writing a function under `@measure`; `run` finds it in ALL."""

import os
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass, field

import loops
import yards

ALL = []


@dataclass
class Row:
    """One line of the table. `limit` is what the machine needs for the same work without any looop."""

    id: str
    name: str
    unit: str
    ours: float
    peer: float = None
    limit: float = None
    goal: str = ""
    samples: dict = field(default_factory=dict)

    def as_json(self):
        return asdict(self)


@dataclass
class Measure:
    """A function that returns or yields rows, each as soon as it is measured, and its id."""

    id: str
    title: str
    run: object


@dataclass
class Bench:
    """What every measure is given: both programs, a scratch folder, and how much to do."""

    looop: str
    peer: str
    root: str
    smoke: bool
    scale: float = 1.0
    peers: list = field(default_factory=list)
    kept: dict = field(default_factory=dict)

    def pair(self, name, **shape):
        """The same profile twice, ours warm and idle, the peer's pulse idle and stopped (None without a peer)."""
        ours = loops.Ours(self.looop, loops.profile(self.root, f"{name}-ours", **shape))
        peer = loops.Peer(self.peer, loops.profile(self.root, f"{name}-peer", **shape)) if self.peer else None
        if peer:
            self.peers.append(peer)
        return ours, peer

    def yards(self, name, which=("ours", "peer"), **shape):
        """Two profiles for workers, ours and the peer's; None for the one that is not there or not wanted."""
        ours = yards.Ours(self.looop, loops.profile(self.root, f"{name}-ours", **shape)) if "ours" in which else None
        peer = None
        if self.peer and "peer" in which:
            peer = yards.Peer(self.peer, loops.profile(self.root, f"{name}-peer", **shape))
        return ours, peer

    def pulse(self, yard, patience=60):
        """A pulse of the peer over its workers, idle and stopped."""
        self.peers.append(yard.pulse(patience))
        return self.peers[-1]

    def close(self):
        """Ends every pulse and every worker that a measure left, also one that failed half-way."""
        for peer in self.peers:
            peer.close()
        self.peers.clear()
        yards.end_all(self.root)

    def count(self, full):
        return min(3, full) if self.smoke else full

    def seconds(self, full):
        """How long something is watched."""
        return 1 if self.smoke else full

    def size(self, full, tiny):
        """How large the thing is that is measured: workers, megabytes."""
        return tiny if self.smoke else max(tiny, round(full * self.scale))


def measure(id, title):
    def add(run):
        ALL.append(Measure(id, title, run))
        return run

    return add


def interleave(times, most=None, **calls):
    """Runs the calls in turn, so many times, and returns the samples of each. A call that is None has none.

    `most` says which of them are run less often, because one of them takes seconds.
    """
    samples = {name: [] for name, call in calls.items() if call}
    for turn in range(times):
        for name in samples:
            if turn < (most or {}).get(name, times):
                samples[name].append(calls[name]())
    return samples


def middle(samples, name):
    return statistics.median(samples[name]) if samples.get(name) else None


def mean(samples, name):
    return statistics.fmean(samples[name]) if samples.get(name) else None


@measure("S1", "idle beat, no user sensor")
def idle_beat(bench):
    ours, peer = bench.pair("s1")
    probe = os.path.join(bench.root, "s1-probe")
    samples = interleave(
        bench.count(30),
        ours=lambda: statistics.median(ours.beat() for _ in range(5)),
        limit=lambda: sync_once(probe),
        floor=lambda: statistics.median(loops.timed(["true"], ours.env) for _ in range(5)),
        peer=peer and peer.paused_beat,
    )
    calls, syncs = ours.calls()
    inside_ms = loops.in_loop(bench.looop, ours.data, bench.seconds(10))
    inside_calls, inside_syncs = loops.beat_in_loop(bench.looop, ours.data, bench.seconds(6))
    theirs = (None, None)
    if peer:
        peer.close()
        theirs = loops.peer_calls(bench.peer, loops.profile(bench.root, "s1-trace"))
    # The peer's clock has steps of 1 ms, so that only the mean over many beats says something.
    return [
        Row("S1", "idle beat, process start included", "ms", middle(samples, "ours"), mean(samples, "peer"),
            middle(samples, "floor"), "≤ 1; limit = start of `true`", samples),
        Row("S1", "  one append + fdatasync here", "ms", None, None, middle(samples, "limit"), "", {}),
        Row("S1", "idle beat inside the loop, processor", "ms", inside_ms, None, None, "≤ 0.35"),
        Row("S1", "idle beat inside the loop, system calls", "calls", inside_calls, theirs[0], None, "≤ 60"),
        Row("S1", "idle beat inside the loop, fsyncs", "calls", inside_syncs, theirs[1], None, "0"),
        Row("S1", "idle beat, process start included", "calls", calls, theirs[0], None, ""),
        Row("S1", "idle beat, fsyncs", "calls", syncs, theirs[1], None, "≤ 1"),
    ]


def sync_once(path):
    start = time.perf_counter_ns()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, b"x" * 400)
    os.fdatasync(fd)
    os.close(fd)
    return (time.perf_counter_ns() - start) / 1e6


@measure("S2", "idle beat, sensors of one echo each")
def sensors(bench):
    for number, rounds in ((10, 20), (100, 10), (1000, 5)):
        if bench.smoke and number > 100:
            continue
        ours, peer = bench.pair(f"s2-{number}", sensors=number)
        samples = interleave(
            bench.count(rounds),
            ours=ours.beat,
            limit=lambda: under_xargs(ours),
            peer=peer and peer.paused_beat,
        )
        if peer:
            peer.close()
        yield Row("S2", f"idle beat, {number} sensors", "ms", middle(samples, "ours"), middle(samples, "peer"),
                  middle(samples, "limit"), "≤ 1.3 × limit = xargs -P", samples)


def under_xargs(ours):
    """Milliseconds for the same scripts under xargs with the parallelism that looop has."""
    folder = os.path.join(ours.data, "sensors")
    names = "\0".join(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".sh"))
    start = time.perf_counter_ns()
    subprocess.run(["xargs", "-0", "-n", "1", "-P", str(loops.PARALLEL), "sh"], input=names.encode(), env=ours.env,
                   stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter_ns() - start) / 1e6


@measure("S3", "idle beat, 1000 goals")
def goals(bench):
    ours, peer = bench.pair("s3", goals=1000)
    samples = interleave(
        bench.count(20),
        ours=lambda: statistics.median(ours.beat() for _ in range(3)),
        limit=lambda: stat_all(os.path.join(ours.data, "goals")),
        peer=peer and peer.paused_beat,
    )
    if peer:
        peer.close()
    inside_ms = loops.in_loop(bench.looop, ours.data, bench.seconds(10))
    return [
        Row("S3", "idle beat, 1000 goals, process start included", "ms", middle(samples, "ours"), mean(samples, "peer"),
            middle(samples, "limit"), "limit = stat of each", samples),
        Row("S3", "idle beat, 1000 goals, inside the loop, processor", "ms", inside_ms, mean(samples, "peer"),
            middle(samples, "limit"), "≤ 5; limit = stat of each"),
    ]


def stat_all(folder):
    start = time.perf_counter_ns()
    for entry in os.scandir(folder):
        entry.stat()
    return (time.perf_counter_ns() - start) / 1e6


def long_log_in(bench, data, entries):
    """Makes a profile with so many log entries."""
    maker = ["cargo", "run", "--release", "-q", "-p", "looop-store", "--example", "long_log", "--", data, str(entries)]
    if bench.smoke:
        maker.remove("--release")
    subprocess.run(maker, check=True, cwd=os.path.join(os.path.dirname(__file__), ".."))


@measure("S16", "a million entries behind it")
def long_log(bench):
    """Ours alone: the peer keeps no history that could grow."""
    data = os.path.join(bench.root, "s16")
    entries = 20_000 if bench.smoke else 1_000_000
    long_log_in(bench, data, entries)
    env = loops.clean_env(data)
    samples = interleave(
        bench.count(10),
        status=lambda: loops.timed([os.path.abspath(bench.looop), "status"], env),
        why=lambda: loops.timed([os.path.abspath(bench.looop), "why"], env),
    )
    replay = statistics.median(
        loops.timed([os.path.abspath(bench.looop), "events", "--since", str(entries)], env) for _ in range(bench.count(3))
    )
    what = f"{entries:,} log entries"
    return [
        Row("S16", f"{what}: open (status)", "ms", middle(samples, "status"), None, None, "≤ 50"),
        Row("S16", f"{what}: why", "ms", middle(samples, "why"), None, None, "≤ 50"),
        Row("S16", f"{what}: replay of all that is kept", "ms", replay, None, None, "≤ 3000"),
    ]


@measure("S13", "start of --version and status")
def starts(bench):
    ours, peer = bench.pair("s13")
    if peer:
        peer.close()  # as ours has none: what counts is the verb, not what a stopped pulse makes it wait for
    rows = []
    for verb, theirs, goal in (("--version", "--version", "≤ 1"), ("status", "state", "≤ 2")):
        samples = interleave(
            bench.count(100),
            ours=lambda: ours.verb(verb),
            floor=lambda: loops.timed(["true"], ours.env),
            peer=peer and (lambda: peer.verb(theirs)),
        )
        rows.append(Row("S13", f"start of {verb}", "ms", middle(samples, "ours"), middle(samples, "peer"),
                        middle(samples, "floor"), f"{goal}; limit = start of `true`", samples))
    return rows
