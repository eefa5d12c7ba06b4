"""The two programs under measurement, each behind the same few calls, and the profiles they are given.

Ours is measured as one process that makes one beat, its start included. The peer (looop 1.1.0) has no such verb: it is
measured by the beat inside its pulse, which is stopped (SIGSTOP) while something else is being timed.
"""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time

CORES = os.cpu_count() or 1
PARALLEL = 2 * CORES
NOOP = '{"action":"noop","reason":"bench","journal":"bench"}'
SYNCS = ("fsync", "fdatasync", "syncfs", "sync_file_range", "msync", "sync")


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def profile(root, name, sensors=0, goals=1):
    """A data directory with so many sensors of one `echo` each, and so many goals that ask for nothing."""
    data = os.path.join(root, name)
    os.makedirs(data, mode=0o700)
    os.makedirs(os.path.join(data, "sensors"), mode=0o700)
    write(os.path.join(data, "PLAYBOOK.md"), "# Playbook\n\nKeep calm.\n")
    for number in range(goals):
        write(f"{data}/goals/g{number}.md", f"---\ngoal: Things are well, number {number}\n---\n")
    for number in range(sensors):
        script = '#!/bin/sh\necho \'{"signal":{"n":%d}}\'\n' % number
        write(f"{data}/sensors/s{number}.sh", script, mode=0o700)
    return data


def clean_env(data, **more):
    """The environment of a measured program: nothing of the caller's but PATH, and a home of its own."""
    home = os.path.join(data, "home")
    os.makedirs(home, exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LOOOP_DATA_DIR": data, **more}


def timed(argv, env, ok=(0,)):
    """Milliseconds from before the fork to after the wait, through posix_spawn, which copies no page tables."""
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
    start = time.perf_counter_ns()
    pid = os.posix_spawnp(argv[0], argv, env, file_actions=null)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter_ns() - start) / 1e6
    code = os.waitstatus_to_exitcode(status)
    if code not in ok:
        raise RuntimeError(f"{' '.join(argv)} ended with {code}")
    return took


def count_calls(lines):
    """System calls, and those of them that force data to disk, in lines of `strace -f`."""
    calls = [found.group(1) for line in lines if (found := re.match(r"\d+ +(\w+)\(", line))]
    return len(calls), sum(call in SYNCS for call in calls)


class Ours:
    """One profile of ours; a beat is a process."""

    def __init__(self, binary, data, **more):
        self.binary = os.path.abspath(binary)
        self.data = data
        self.env = clean_env(data, **more)
        write(os.path.join(data, "config.toml"), 'default = "builtin"\n')
        self.settle()
        if self.log_bytes() == 0:
            raise RuntimeError(f"beats in {data} left no log: is this looop?")

    def settle(self, most=10):
        """Makes the first beats until two in a row write nothing to the log; an error if so many do not get there."""
        quiet = 0
        for _ in range(most):
            before = self.log_bytes()
            self.beat()
            quiet = quiet + 1 if self.log_bytes() == before else 0
            if quiet == 2:
                return
        raise RuntimeError(f"a beat in {self.data} is not idle: it wrote to the log")

    def beat(self):
        return timed([self.binary, "beat"], self.env)

    def log_bytes(self):
        folder = os.path.join(self.data, "log")
        return sum(entry.stat().st_size for entry in os.scandir(folder)) if os.path.isdir(folder) else 0

    def verb(self, *words):
        return timed([self.binary, *words], self.env)

    def calls(self):
        """(system calls, syncs) of an idle beat, from exec to exit, children included."""
        with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
            subprocess.run(
                ["strace", "-f", "-o", trace.name, self.binary, "beat"],
                env=self.env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            return count_calls(trace)


def in_loop(binary, data, seconds, **more):
    """Milliseconds of processor time of one idle beat inside the running loop."""
    env = clean_env(data, LOOOP_INTERVAL="1", **more)
    with foreground([os.path.abspath(binary)], binary, env) as loop:
        time.sleep(2)
        before, start = cpu_ns(loop.pid), time.monotonic()
        time.sleep(seconds)
        spent, beats = cpu_ns(loop.pid) - before, round(time.monotonic() - start)
    return spent / beats / 1e6


def beat_in_loop(binary, data, seconds, **more):
    """(system calls, syncs) of one idle beat inside the running loop, all processes, from one wait to the next."""
    env = clean_env(data, LOOOP_INTERVAL="1", **more)
    trace = data + ".strace"
    with foreground(["strace", "-f", "-o", trace, os.path.abspath(binary)], binary, env):
        # In the first seconds the sandbox is tried out, and files are too young to be known by their times.
        time.sleep(3.5 + seconds)
    with open(trace, encoding="utf-8", errors="replace") as file:
        beats = [count_calls(beat) for beat in waits(list(file)) if any('"PLAYBOOK.md"' in line for line in beat)]
    return tuple(statistics.median(beat[of] for beat in beats[3:] or beats) for of in (0, 1))


def waits(lines):
    """The lines of a trace, cut where its first process begins to wait."""
    first = lines[0].split()[0]
    cuts = [at for at, line in enumerate(lines) if re.match(rf"{first} +(p?poll|epoll_p?wait)\(", line)]
    return [lines[start:end] for start, end in zip(cuts, cuts[1:])]


@contextlib.contextmanager
def foreground(argv, binary, env):
    """Our loop in the foreground, ended at last, but not the workers, which other measures still need."""
    loop = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield loop
        timed([os.path.abspath(binary), "down", "--keep-workers"], env)
        loop.wait(60)
    finally:
        loop.kill()
        loop.wait()


def cpu_ns(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def peer_env(data, **more):
    return clean_env(data, LOOOP_INTERVAL="1", LOOOP_FAIRNESS_MAX_WAIT_SECS="0", LOOOP_NOOP_TTL="0", **more)


def peer_config(data):
    tick = f"cat >/dev/null; echo '{NOOP}' >.decision.json"
    write(os.path.join(data, "config.json"), json.dumps({"tick_command": tick, "worker_command": "true {{prompt_file}}"}))


class Peer:
    """One profile of looop 1.1.0 with its pulse in the foreground; a beat is read off its own event file."""

    def __init__(self, binary, data, trace=None, patience=60, **more):
        self.binary = os.path.abspath(binary)
        self.data = data
        self.patience = patience
        self.env = peer_env(data, **more)
        peer_config(data)
        argv = ["strace", "-f", "-o", trace, self.binary, "pulse"] if trace else [self.binary, "pulse"]
        null = subprocess.DEVNULL
        self.pulse = subprocess.Popen(argv, env=self.env, stdin=null, stdout=null, stderr=null, start_new_session=True)
        self.seen = 0
        self.events = []
        try:
            self.beat()
            self.pause()
        except BaseException:
            self.close()
            raise

    def _read(self):
        path = os.path.join(self.data, "events.jsonl")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                whole = file.read()
            self.events = [json.loads(line) for line in whole[: whole.rfind("\n") + 1].splitlines()]

    def pause(self):
        time.sleep(0.03)  # what a beat does after its last event must not be cut in half
        os.killpg(self.pulse.pid, signal.SIGSTOP)

    def beat(self):
        """Lets the pulse run until it has made one more idle beat; milliseconds by its own clock (1 ms steps)."""
        os.killpg(self.pulse.pid, signal.SIGCONT)
        deadline = time.monotonic() + self.patience
        while time.monotonic() < deadline:
            self._read()
            ends = [n for n, event in enumerate(self.events) if event["event"] == "world_unchanged" and n >= self.seen]
            if ends:
                self.seen = len(self.events)
                return stamp(self.events[ends[0]]) - stamp(self.events[last_start(self.events, ends[0])])
            if self.pulse.poll() is not None:
                raise RuntimeError("the peer's pulse ended")
            time.sleep(0.01)
        raise RuntimeError(f"the peer made no idle beat in {self.patience} s")

    def paused_beat(self):
        took = self.beat()
        self.pause()
        return took

    def verb(self, *words):
        return timed([self.binary, *words], self.env, ok=(0, 1))

    def close(self):
        if self.pulse.poll() is None:
            os.killpg(self.pulse.pid, signal.SIGKILL)
            self.pulse.wait()


def last_start(events, end):
    return max(n for n in range(end) if events[n]["event"] == "tick_start")


def stamp(event):
    """Milliseconds of the day of an event."""
    hours, minutes, seconds = event["ts"].split("T")[1].rstrip("Z").split(":")
    return (int(hours) * 60 + int(minutes)) * 60000 + round(float(seconds) * 1000)


def peer_calls(binary, data):
    """(system calls, syncs) of one idle beat of the peer: what lies between the starts of two beats."""
    with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
        peer = Peer(binary, data, trace=trace.name)
        try:
            for _ in range(3):
                peer.beat()
        finally:
            peer.close()
        lines = trace.readlines()
    starts = [n for n, line in enumerate(lines) if "tick_start" in line and " write(" in line]
    return count_calls(lines[starts[-2] : starts[-1]])
