"""The measures of sessions and workers: S5, S7 to S11. Imported by `run` so that they stand in ALL."""

import os
import random
import re
import statistics
import subprocess
import time

import loops
import measures
import yards
from measures import Row, interleave, measure, middle

IDLE = "sleep 100000"
LINE = 80  # bytes of a line of the flood, its newline included; the terminal adds a carriage return


def both(ours, peer):
    return [yard for yard in (ours, peer) if yard]


def begin(yard, id, command=IDLE):
    loops.timed(yard.start(id, command), yard.env)


@measure("S5", "answer → blocked ask goes on")
def answer(bench):
    ours, peer = bench.yards("s5")
    long = yards.Ours(bench.looop, long_profile(bench))
    for yard in both(ours, peer) + [long]:
        begin(yard, "w")
    times = bench.count(40)
    samples = interleave(
        times,
        ours=lambda: answered(ours, 0.02),
        long=lambda: answered(long, 0.02),
        limit=lambda: loops.timed(["true"], ours.env),
        # It looks once a second: at which moment of that second it is answered must be left to chance.
        peer=peer and (lambda: answered(peer, random.uniform(0, 0.05 if bench.smoke else 1))),
    )
    for yard in both(ours, peer) + [long]:
        loops.timed(yard.kill("w"), yard.env, yard.kill_codes)
    what, goal = "answer → the blocked ask has ended", "≤ 3; limit = start of `true`"
    return [
        Row("S5", what, "ms", middle(samples, "ours"), middle(samples, "peer"), middle(samples, "limit"), goal, samples),
        Row("S5", f"{what}, a log of 5 MB", "ms", middle(samples, "long"), None, middle(samples, "limit"), goal),
    ]


def long_profile(bench):
    """A profile whose newest log file has nearly 5 MB."""
    data = os.path.join(bench.root, "s5-long")
    measures.long_log_in(bench, data, 1_000 if bench.smoke else 15_000)
    loops.write(os.path.join(data, "PLAYBOOK.md"), "# Playbook\n\nKeep calm.\n")
    return data


def answered(yard, later):
    """Milliseconds from the start of `answer` to the end of the `ask` that it lets go on."""
    folder = os.path.join(yard.data, "asks")
    before = letters(folder)
    ask = subprocess.Popen([yard.binary, "ask", "w", "--prompt", f"what now, number {random.random()}?"], env=yard.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        name = yards.until("an ask", lambda: letters(folder) - before).pop()
        yards.until("ask waits", lambda: all(yards.state(ask.pid) == "S" or time.sleep(0.001) for _ in range(3)))
        time.sleep(later)
        argv = [yard.binary, "answer", name.removesuffix(".json"), "go on"]
        start = time.perf_counter_ns()
        child = yards.spawn(argv, yard.env)
        code = ask.wait()
        took = (time.perf_counter_ns() - start) / 1e6
        yards.reap(child, argv)
        if code != 0 or ask.stdout.read() != b"go on\n":
            raise RuntimeError(f"{yard.name}: ask ended with {code} or without its answer")
        return took
    finally:
        ask.kill()
        ask.wait()
        ask.stdout.close()


def letters(folder):
    return {name for name in os.listdir(folder) if re.fullmatch(r"w-\d+\.json", name)} if os.path.isdir(folder) else set()


@measure("S7", "worker start → first output")
def first_output(bench):
    ours, peer = bench.yards("s7")
    for yard in both(ours, peer):
        output_of(yard, "warm")
    number = iter(range(100000))
    samples = interleave(
        bench.count(40),
        ours=lambda: output_of(ours, f"w{next(number)}"),
        limit=lambda: loops.timed(["sh", "-c", "bash -c 'echo x'; :"], ours.env),
        peer=peer and (lambda: output_of(peer, f"w{next(number)}")),
    )
    rows = []
    for n, name in enumerate(("first byte in output.log", "the verb itself")):
        part = {who: [sample[n] if who != "limit" else sample for sample in taken] for who, taken in samples.items()}
        rows.append(Row("S7", f"worker start → {name}", "ms", middle(part, "ours"), middle(part, "peer"),
                        middle(part, "limit"), "≤ 8; limit = two fork + exec" if n == 0 else "", part))
    return rows


def output_of(yard, id):
    """(Milliseconds to the first byte of output, to the end of the verb) of a start; the worker is killed."""
    argv = yard.start(id, "echo x; sleep 1000")
    os.makedirs(os.path.join(yard.data, "sessions"), mode=0o700, exist_ok=True)
    start = time.perf_counter_ns()
    seen, child = yards.first_output(os.path.join(yard.folder(id), "output.log"), lambda: yards.spawn(argv, yard.env))
    yards.reap(child, argv)
    ended = time.perf_counter_ns()
    loops.timed(yard.kill(id), yard.env, yard.kill_codes)
    return (seen - start) / 1e6, (ended - start) / 1e6


def ids(bench, full, round=""):
    return [f"w{round}{n}" for n in range(bench.size(full, 5))]


def start_all(yard, names, parallel=1, command=IDLE):
    return yards.all_of([yard.start(id, command) for id in names], yard.env, parallel)


@measure("S8", "200 idle workers")
def fleet(bench):
    ours, peer = bench.yards("s8")
    none = yards.Ours(bench.looop, loops.profile(bench.root, "s8-none"))
    names = ids(bench, 200)
    many = f"{len(names)} idle workers"
    started = {yard.name: start_all(yard, names) for yard in both(ours, peer)}
    yield Row("S8", f"{many}: start all, one after the other", "ms", started["ours"], started.get("peer"), None, "≤ 3000")
    yield from lists_and_beats(bench, "S8", many, (ours, none, peer), ("≤ 30", "≤ 20"))
    killed = {yard.name: ended_by([yard.kill_all()], yard, names) for yard in both(ours, peer)}
    yield Row("S8", f"{many}: kill all, one verb (peer: down)", "ms", killed["ours"], killed.get("peer"), None, "≤ 1500")
    again = ids(bench, 200, round="p")
    started = {yard.name: start_all(yard, again, loops.PARALLEL) for yard in both(ours, peer)}
    yield Row("S8", f"{many}: start all, {loops.PARALLEL} at a time", "ms", started["ours"], started.get("peer"))
    killed = {yard.name: ended_by([yard.kill(id) for id in again], yard, again) for yard in both(ours, peer)}
    yield Row("S8", f"{many}: kill all, a verb for each", "ms", killed["ours"], killed.get("peer"))


def ended_by(argvs, yard, names):
    """Milliseconds for these verbs, until the last worker has ended. With ours its host must have ended as well by then."""
    children, hosts = [yard.child(id) for id in names], [yard.host(id) for id in names]
    start = time.perf_counter_ns()
    yards.all_of(argvs, yard.env, ok=yard.kill_codes)
    for pid in children:
        yards.until("the worker has ended", lambda: yards.is_dead(pid), 0.001)
    took = (time.perf_counter_ns() - start) / 1e6
    left = [pid for pid in hosts if not yards.is_dead(pid)]
    if left and yard.name == "ours":
        raise RuntimeError(f"{len(left)} hosts live after kill, such as {left[0]}")
    for pid in left:
        yards.until("the host has ended", lambda: yards.is_dead(pid))
    return took


def lists_and_beats(bench, id, many, trio, goals, most=3, patience=120):
    """Rows for `worker list` and for a beat, with workers and with none, in one run."""
    ours, none, peer = trio
    ours.loop.settle()
    listed = interleave(
        bench.count(20), {"peer": most},
        ours=lambda: loops.timed(ours.list(), ours.env),
        none=lambda: loops.timed(none.list(), none.env),
        peer=peer and (lambda: loops.timed(peer.list(), peer.env)),
    )
    pulse = bench.pulse(peer, patience) if peer else None
    beats = interleave(
        bench.count(20), {"peer": most},
        ours=ours.loop.beat, none=none.loop.beat, peer=pulse and pulse.paused_beat,
    )
    if pulse:
        pulse.close()
    extra = middle(beats, "ours") - middle(beats, "none")
    rows = [
        Row(id, f"{many}: worker list (limit: of none)", "ms", middle(listed, "ours"), middle(listed, "peer"),
            middle(listed, "none"), goals[0], listed),
        Row(id, f"{many}: a beat (limit: of none)", "ms", middle(beats, "ours"), middle(beats, "peer"),
            middle(beats, "none"), "", beats),
        Row(id, f"{many}: a beat, more than with none", "ms", extra, middle(beats, "peer"), None, goals[1]),
    ]
    if not bench.smoke or id == "S8":
        inside = [loops.in_loop(bench.looop, yard.data, bench.seconds(5), **yards.MANY) for yard in (ours, none)]
        rows.append(Row(id, f"{many}: a beat inside the loop, processor", "ms", inside[0], None, inside[1], "limit: of none"))
    return rows


@measure("S8b", "600 ended sessions kept")
def ended(bench):
    ours, peer = bench.yards("s8b")
    none = yards.Ours(bench.looop, loops.profile(bench.root, "s8b-none"))
    names = ids(bench, 600)
    for yard in both(ours, peer):
        start_all(yard, names, loops.PARALLEL, "sleep 1")
        yards.until("all have ended", lambda: all(yard.has_ended(id) for id in names))
    return lists_and_beats(bench, "S8b", f"{len(names)} ended sessions", (ours, none, peer),
                           ("as with none, + 0.05 each",) * 2, most=1, patience=400)


@measure("S9", "the host of an idle worker")
def hosts(bench):
    """One program after the other, so that neither shares pages with, or is woken by, the other's hosts."""
    names = ids(bench, 200)
    seconds = 1 if bench.smoke else 5
    found = {}
    for which in ("ours", "peer"):
        yard = next(iter(both(*bench.yards("s9", (which,)))), None)
        if yard is None:
            continue
        start_all(yard, names)
        time.sleep(seconds / 5)  # what a host does after its start is not what it costs to keep it
        pids = [yard.host(id) for id in names]
        before = sum(switches(pid) for pid in pids)
        time.sleep(seconds)
        woken = sum(switches(pid) for pid in pids) - before
        found[which] = ([proportional(pid) for pid in pids], [len(os.listdir(f"/proc/{pid}/task")) for pid in pids], woken)
        ended_by([yard.kill_all()], yard, names)
    ours, peer = found["ours"], found.get("peer")
    what = f"host at N = {len(names)}"
    return [
        Row("S9", f"{what}: PSS, median", "KB", statistics.median(ours[0]), peer and statistics.median(peer[0]), None,
            "≤ 400", {who: part[0] for who, part in found.items()}),
        Row("S9", f"{what}: PSS, worst", "KB", max(ours[0]), peer and max(peer[0])),
        Row("S9", f"{what}: threads, worst", "threads", max(ours[1]), peer and max(peer[1]), None, "1"),
        Row("S9", f"{what}: wake-ups of all in {seconds} s", "wake-ups", ours[2], peer and peer[2], None, "0"),
    ]


def proportional(pid):
    """KB of memory of a process, shared pages counted in proportion."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"^Pss: +(\d+) kB", file.read(), re.M).group(1))


def switches(pid):
    """How often the threads of a process have gone to sleep by themselves."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M).group(1))
    return total


def flooded(bench):
    """Profiles with an ended worker `w0` each that printed the flood, and the rates; made once a run."""
    if "flood" not in bench.kept:
        megabytes = bench.size(200, 1)
        source = os.path.join(bench.root, "flood")
        lines = megabytes * 1_000_000 // LINE
        with open(source, "w", encoding="ascii") as file:
            file.writelines(f"{n:012d} {'x' * (LINE - 14)}\n" for n in range(lines))
        ours, peer = bench.yards("s10")
        turns = {yard.name: iter(range(100000)) for yard in both(ours, peer)}
        samples = interleave(
            bench.count(3),
            ours=lambda: poured(ours, f"w{next(turns['ours'])}", source, lines),
            limit=lambda: loops.timed(["script", "-qc", f"cat {source}", "/dev/null"], ours.env),
            peer=peer and (lambda: poured(peer, f"w{next(turns['peer'])}", source, lines)),
        )
        rates = {who: [megabytes / (took / 1000) for took in taken] for who, taken in samples.items()}
        bench.kept["flood"] = (ours, peer, rates, megabytes)
    return bench.kept["flood"]


def poured(yard, id, source, lines):
    """Milliseconds from the start of a worker that prints the flood to its end; an error if anything was lost."""
    start = time.perf_counter_ns()
    begin(yard, id, f"cat {source}")
    yards.until("the flood has ended", lambda: yard.has_ended(id), 0.002, 600)
    took = (time.perf_counter_ns() - start) / 1e6
    whole = lines * (LINE + 1)
    if yard.output_bytes(id) != whole:
        raise RuntimeError(f"{yard.name}: {yard.output_bytes(id)} bytes of {whole} were counted")
    last_kept(yard.folder(id), whole)
    return took


def last_kept(folder, whole):
    """Fails unless what is kept of the flood is its end, without a gap and in order."""
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"output(-\d+)?\.log", name))
    parts = [os.path.join(folder, name) for name in sorted(names, key=lambda name: (name == "output.log", name))]
    at = whole - sum(os.stat(part).st_size for part in parts)
    for part in parts:
        with open(part, "rb") as file:
            kept = file.read()
        first = at // (LINE + 1)
        count = len(kept) // (LINE + 1) + 2
        text = "".join(f"{n:012d} {'x' * (LINE - 14)}\r\n" for n in range(first, first + count)).encode()
        skip = at - first * (LINE + 1)
        if kept != text[skip : skip + len(kept)]:
            raise RuntimeError(f"{part} does not hold the bytes from {at} on")
        at += len(kept)


@measure("S10", "200 MB through a worker's terminal")
def flood(bench):
    _, _, rates, megabytes = flooded(bench)
    return [Row("S10", f"{megabytes} MB through a terminal, nothing lost", "MB/s", middle(rates, "ours"), middle(rates, "peer"),
                middle(rates, "limit"), "≥ the peer, ≥ 0.6 × limit = script -qc", rates)]


@measure("S11", "screen of that ended session")
def last_screen(bench):
    ours, peer, _, megabytes = flooded(bench)
    samples = interleave(
        bench.count(20), {"peer": 3},
        ours=lambda: loops.timed(ours.shot("w0"), ours.env),
        peer=peer and (lambda: loops.timed(peer.shot("w0"), peer.env)),
    )
    memory = interleave(
        bench.count(3),
        ours=lambda: peak(ours.shot("w0"), ours.env),
        peer=peer and (lambda: peak(peer.shot("w0"), peer.env)),
    )
    what = f"shot of an ended {megabytes} MB session"
    return [
        Row("S11", what, "ms", middle(samples, "ours"), middle(samples, "peer"), None, "≤ 50", samples),
        Row("S11", f"{what}: peak memory", "MB", middle(memory, "ours"), middle(memory, "peer"), None, "≤ 16", memory),
    ]


def peak(argv, env):
    """Most resident MB of a program, which is held at its first byte of output by a pipe that is full.

    What `wait4` says would be no less than this interpreter's own memory: the figure outlives the exec.
    """
    inlet, outlet = os.pipe()
    os.set_blocking(outlet, False)
    try:
        while os.write(outlet, bytes(4096)):
            pass
    except BlockingIOError:
        os.set_blocking(outlet, True)
    child = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=outlet, stderr=subprocess.DEVNULL)
    os.close(outlet)
    try:
        yards.until("it prints", lambda: waits_to_print(child.pid), 0.01)
        with open(f"/proc/{child.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M).group(1)) / 1024
    finally:
        with open(inlet, "rb") as rest:
            rest.read()
        child.wait()


def waits_to_print(pid):
    """Whether some thread sleeps in a write to standard output and all others sleep too, or the process has ended."""
    tasks = [f"/proc/{pid}/task/{task}" for task in os.listdir(f"/proc/{pid}/task")]
    waits = []
    for task in tasks:
        with open(f"{task}/wchan", encoding="ascii") as file:
            waits.append(file.read())
    return any("pipe" in wait for wait in waits) and all(waits) and "0" not in waits
