"""The measures of the long-running loop: S4 and S12. Imported by `run` so that they stand in ALL."""

import json
import os
import random
import signal
import statistics
import subprocess
import time

import loops
import yards
from measures import Row, measure

STAMP = "date +%s.%N >> {file}"
REST_S = 0.3  # a decide that is over, and the looks that it brings about
PEER_INTERVAL_S = 60


class Pulse:
    """The loop of one program over a profile whose decider stamps the time and does nothing."""

    def __init__(self, argv, env, data):
        self.data, self.env = data, env
        self.binary = argv[0]
        self.stamps = os.path.join(data, "home", "stamps")
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(argv, env=env, stdin=null, stdout=null, stderr=null, start_new_session=True)

    def decides(self):
        """When each decide was begun, in seconds since the epoch."""
        if not os.path.exists(self.stamps):
            return []
        with open(self.stamps, encoding="ascii") as file:
            return [float(line) for line in file if line.endswith("\n")]

    def reaction(self, cause, most=30):
        """Milliseconds from the moment that `cause` returns to the start of the decide that it brings about."""
        before = len(self.decides())
        begun = cause()
        stamps = yards.until("a decide", lambda: self.decides()[before:], step=0.002, most=most)
        time.sleep(REST_S)
        return (stamps[0] - begun) * 1000

    def verb(self, *words, ok=(0,)):
        return loops.timed([self.binary, *words], self.env, ok)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def ours(bench, name, decides=True):
    """Our loop in the foreground, at its default interval, once it has decided for the first time."""
    data = loops.profile(bench.root, name)
    env = loops.clean_env(data)
    stamp = STAMP.format(file=os.path.join(data, "home", "stamps"))
    tick = json.dumps(f"{stamp}; cat >/dev/null; echo '{loops.NOOP}'")
    fake = f'default = "fake"\nmax_decides_per_hour = 100000\n[runners.fake]\ncost = "free"\ntick = {tick}\n'
    loops.write(os.path.join(data, "config.toml"), fake if decides else 'default = "builtin"\n')
    pulse = Pulse([os.path.abspath(bench.looop), "--json"], env, data)
    return settled(bench, pulse, decides)


def peer(bench, name):
    """The peer's pulse, as it is shipped but for its hourly cap."""
    data = loops.profile(bench.root, name)
    env = loops.clean_env(data, LOOOP_MAX_DECIDES_PER_HOUR="0")
    stamp = STAMP.format(file=os.path.join(data, "home", "stamps"))
    tick = f"{stamp}; cat >/dev/null; echo '{loops.NOOP}' >.decision.json"
    loops.write(os.path.join(data, "config.json"), json.dumps({"tick_command": tick, "worker_command": "true {{prompt_file}}"}))
    return settled(bench, Pulse([os.path.abspath(bench.peer), "pulse"], env, data), True)


def settled(bench, pulse, decides):
    bench.peers.append(pulse)  # closed with the bench, also when a measure fails
    if decides:
        yards.until("the first decide", pulse.decides)
    time.sleep(1)
    return pulse


def edit(pulse):
    loops.write(os.path.join(pulse.data, "goals", "g0.md"), f"Things are well, {random.random()}\n")
    return time.time()


def worker_end(pulse):
    """A worker that waits for a line, and ends with it."""
    id, gate = f"w{random.randrange(10**9)}", os.path.join(pulse.data, "home", f"gate{random.randrange(10**9)}")
    os.mkfifo(gate)
    pulse.reaction(lambda: (pulse.verb("worker", "start", id, "--command", f"read -r _ < {gate}"), time.time())[1])

    def cause():
        with open(gate, "w", encoding="ascii") as file:
            begun = time.time()
            file.write("go\n")
        return begun

    return pulse.reaction(cause)


def due(pulse):
    """A schedule that becomes due in a second; its file alone changes nothing."""
    at = int(time.time() * 1000) + 1000
    name = f"s{random.randrange(10**9)}"
    text = json.dumps({"v": 1, "name": name, "when": {"at": at}, "created": at})
    loops.write(f"{pulse.data}/schedules/.{name}", text)
    os.rename(f"{pulse.data}/schedules/.{name}", f"{pulse.data}/schedules/{name}.json")
    took = pulse.reaction(lambda: at / 1000)
    # That it is gone is a change too, and must not be taken for the next one's.
    pulse.reaction(lambda: (os.remove(f"{pulse.data}/schedules/{name}.json"), time.time())[1])
    return took


def p99(samples):
    return sorted(samples)[min(len(samples) - 1, round(0.99 * len(samples)))]


@measure("S4", "something happens → the decider runs, default interval")
def reactions(bench):
    pulse = ours(bench, "s4-ours")
    kinds = [("goal edit", edit, 100), ("end of a worker", worker_end, 20), ("schedule due", due, 20)]
    for name, kind, times in kinds:
        run = (lambda: pulse.reaction(lambda: edit(pulse))) if kind is edit else (lambda: kind(pulse))
        samples = [run() for _ in range(max(1, bench.count(times)))]
        theirs = peer_edits(bench) if kind is edit else []
        both = {"ours": samples, "peer": theirs}
        yield Row("S4", f"{name} → decider, median", "ms", statistics.median(samples),
                  statistics.median(theirs) if theirs else None, None, "≤ 100", both)
        yield Row("S4", f"{name} → decider, p99 of {len(samples)}", "ms", p99(samples), None, None, "≤ 250")
    pulse.close()


def peer_edits(bench):
    """Some edits at random moments of its interval; none in a short run."""
    if not bench.peer or bench.smoke:
        return []
    pulse, samples = peer(bench, "s4-peer"), []
    for _ in range(4):
        time.sleep(random.uniform(0, PEER_INTERVAL_S / 4))
        samples.append(pulse.reaction(lambda: edit(pulse), most=6 * PEER_INTERVAL_S))
    pulse.close()
    return samples


def usage(pid):
    """(ticks, nanoseconds, context switches) of all threads of a process."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    switches = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            switches += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return int(fields[11]) + int(fields[12]), loops.cpu_ns(pid), switches


def memory(pid):
    """Megabytes: resident, and resident that no file is behind."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        kib = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith(("VmRSS", "RssAnon"))}
    return kib["VmRSS"] / 1024, kib["RssAnon"] / 1024


def idles(pid, seconds):
    before = usage(pid)
    time.sleep(seconds)
    return [after - before for before, after in zip(before, usage(pid))]


@measure("S12", "the loop at rest")
def at_rest(bench):
    # A beat is due a minute after the last one: the window lies between two, and the next one holds exactly one.
    seconds, beat = (2, 0) if bench.smoke else (55, 10)
    pulse = ours(bench, "s12-ours", decides=False)
    other = peer(bench, "s12-peer") if bench.peer and not bench.smoke else None
    # A second after the last message the loop releases the code that it used.
    time.sleep(1)
    ticks, spent, switches = idles(pulse.process.pid, seconds)
    with_beat = idles(pulse.process.pid, beat) if beat else None
    theirs = idles(other.process.pid, 60) if other else (None, None, None)
    (rss, anonymous), peer_rss = memory(pulse.process.pid), memory(other.process.pid)[0] if other else None
    ms = (lambda ns: None if ns is None else ns / 1e6)
    what = f"{seconds} s between two beats"
    rows = [
        Row("S12", f"{what}: processor ticks (peer: 60 s with its beats)", "calls", ticks, theirs[0], None, "0"),
        Row("S12", f"{what}: processor", "ms", ms(spent), ms(theirs[1]), None, "0"),
        Row("S12", f"{what}: context switches", "calls", switches, theirs[2], None, "≤ 2"),
        Row("S12", "resident", "MB", rss, peer_rss, None, "≤ 6"),
        Row("S12", "resident, no file behind it", "MB", anonymous, None, None, ""),
    ]
    if with_beat:
        rows.insert(3, Row("S12", "the beat: processor", "ms", ms(with_beat[1]), None, None, ""))
        rows.insert(4, Row("S12", "the beat: context switches", "calls", with_beat[2], None, None, ""))
    pulse.close()
    if other:
        other.close()
    return rows + quick_look(bench)


def quick_look(bench):
    """A file event that changes nothing: processor time and system calls of the look that it brings about."""
    pulse, looks = ours(bench, "s12-quick", decides=False), max(3, bench.count(50))
    before = usage(pulse.process.pid)
    touch(pulse.data, looks)
    spent = usage(pulse.process.pid)[1] - before[1]
    pulse.close()
    few, many = traced(bench, pulse.data, 2), traced(bench, pulse.data, 12)
    return [
        Row("S12", "a quick look: processor", "ms", spent / looks / 1e6, None, None, ""),
        Row("S12", "a quick look: system calls", "calls", (many - few) / 10, None, None, ""),
    ]


def touch(data, times):
    for _ in range(times):
        loops.write(f"{data}/goals/g0.md", "Things are well.\n")
        time.sleep(0.15)


def traced(bench, data, looks):
    """System calls of a loop that lives through so many quick looks."""
    trace = os.path.join(bench.root, f"quick-{looks}.strace")
    argv = ["strace", "-f", "-o", trace, os.path.abspath(bench.looop), "--json"]
    pulse = Pulse(argv, loops.clean_env(data), data)
    bench.peers.append(pulse)
    time.sleep(1)
    touch(data, looks)
    time.sleep(0.3)
    pulse.close()
    with open(trace, encoding="utf-8", errors="replace") as file:
        return loops.count_calls(file)[0]
