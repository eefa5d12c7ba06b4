#!/usr/bin/env python3
"""R4: workers that do all they can to outlive their end, each ended many times; nothing of them may be left, nothing else touched.

Each kind of worker is started through the real binary with a mark of its own in its environment and in the name of the
processes it leaves about. Once these are there, `looop kill` has its turn, and what carries the mark and is no zombie when
it returns is a survivor. Then the same with a SIGKILL of the host and one `looop beat`. Meanwhile processes that are none
of looop's business write down every signal they get.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
import loops
import yards

LEAF = 'exec -a "$1" sleep 100000\n'
BYSTANDER = """import os, signal, sys
def note(number, _):
    with open(sys.argv[1], "a") as file:
        file.write(f"{number}\\n")
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    try:
        signal.signal(number, note)
    except OSError:
        pass  # kept by the C library for itself
open(sys.argv[1], "a").close()
while True:
    signal.pause()
"""


@dataclass
class Kind:
    """A worker's script ($1: the mark, $2: the folder of the scripts, $3: Python), and how many processes it must have before it is ended."""

    script: str
    leaves: int = 1
    gated: bool = False
    state: str = None
    by_itself: bool = False
    spared: bool = False
    unmarked: bool = False


KINDS = {
    "child": Kind('bash "$2/leaf" "$1" & wait'),
    "double-fork": Kind('( ( bash "$2/leaf" "$1" ) & ); sleep 100000'),
    "setsid": Kind('setsid bash "$2/leaf" "$1" & wait'),
    "nohup": Kind('nohup bash "$2/leaf" "$1" >/dev/null 2>&1 & wait'),
    "daemon": Kind('"$3" -S -E "$2/daemonise.py" "$1"; sleep 100000'),
    "deaf": Kind('trap "" TERM HUP INT QUIT; bash "$2/leaf" "$1" & wait; sleep 100000'),
    "burst": Kind('read -r _ <"$2/$1gate"; for n in {1..200}; do bash "$2/leaf" "$1" & done; wait', leaves=20, gated=True),
    "burst of sessions": Kind(
        'read -r _ <"$2/$1gate"; for n in {1..200}; do setsid -f bash "$2/leaf" "$1"; done; sleep 100000', leaves=20, gated=True
    ),
    "re-parented": Kind('setsid -f bash -c \'setsid -f bash "$2/leaf" "$1"\' x "$1" "$2"; sleep 100000'),
    "own terminal": Kind('script -qc "bash $2/leaf $1" /dev/null'),
    "no environment": Kind('env -i PATH="$PATH" setsid -f bash "$2/leaf" "$1"; sleep 100000', unmarked=True),
    "stopped": Kind('bash "$2/leaf" "$1" & sleep 0.1; kill -STOP $!; wait', state="T"),
    "respawns": Kind('trap \'setsid -f bash "$2/leaf" "$1"\' TERM HUP; bash "$2/leaf" "$1" & while :; do wait; sleep 0.01; done'),
    "ends by itself": Kind('setsid -f bash "$2/leaf" "$1"; nohup bash "$2/leaf" "$1" >/dev/null 2>&1 & sleep 0.3', by_itself=True),
    "spared": Kind('setsid -f "$2/ssh-agent" 100000; bash "$2/leaf" "$1" & wait', spared=True),
}


@dataclass
class Tally:
    """What became of one kind of worker ended in one way."""

    what: str
    times: int = 0
    processes: int = 0
    survivors: int = 0
    unknowable: int = 0
    wrong: int = 0
    ms: list = field(default_factory=list)
    first: str = ""

    def note(self, processes, left, wrong, ms):
        self.times += 1
        self.processes += processes
        self.survivors += len(left)
        self.wrong += len(wrong)
        self.ms.append(ms)
        self.first = self.first or "; ".join(wrong + [yards.describe(pid) for pid in left[:3]])

    def excuse(self, left):
        """Takes survivors out of the count that nothing could have known: see README."""
        self.survivors -= len(left)
        self.unknowable += len(left)
        self.first = f"{self.unknowable} without a mark, a parent and a control group" if left else self.first

    def holds(self):
        return self.survivors == 0 and self.wrong == 0

    def line(self):
        middle = sorted(self.ms)[len(self.ms) // 2] if self.ms else 0
        text = f"{self.what:<36} {self.times:>5} {self.processes:>9} {self.survivors:>9} {self.wrong:>5} {middle:>8.1f}"
        return f"{text}  {self.first}".rstrip()


class Yard:
    """The profile under torture, its scripts, and those who must not be touched."""

    def __init__(self, binary, root):
        self.root, self.mark = root, os.path.basename(root)
        self.scripts = os.path.join(root, "scripts")
        self.ours = yards.Ours(binary, loops.profile(root, "data"))
        self.data, self.binary, self.env = self.ours.data, self.ours.binary, self.ours.env
        self.bystanders = {}
        self.number = 0
        self.write_scripts()
        self.place_bystanders()

    def write_scripts(self):
        for name, kind in KINDS.items():
            loops.write(os.path.join(self.scripts, name), kind.script + "\n")
        loops.write(os.path.join(self.scripts, "leaf"), LEAF)
        loops.write(os.path.join(self.scripts, "bystander"), BYSTANDER)
        daemon = 'import ctypes, os, sys\nctypes.CDLL(None).daemon(0, 0)\nos.execvp("sleep", [sys.argv[1], "100000"])\n'
        loops.write(os.path.join(self.scripts, "daemonise.py"), daemon)
        # Spared are daemons that many share, by the name of their program.
        shutil.copy(os.path.realpath(shutil.which("sleep")), os.path.join(self.scripts, "ssh-agent"))

    def place_bystanders(self):
        """A stranger, the person's own shell in the profile, what runs beside the verb in its group, and another worker."""
        here = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        away = {"PATH": os.environ["PATH"]}
        for name, how in (
            ("a stranger", dict(env=away, start_new_session=True)),
            ("the person's shell", dict(env=self.env, cwd=self.data, start_new_session=True)),
            ("beside the verb", dict(env=self.env)),
        ):
            file = os.path.join(self.root, f"signals of {name}")
            child = subprocess.Popen([sys.executable, os.path.join(self.scripts, "bystander"), file], **how, **here)
            self.bystanders[name] = (child.pid, file)
        file = os.path.join(self.root, "signals of a worker")
        loops.timed(self.ours.start("witness", f"exec '{sys.executable}' '{self.scripts}/bystander' '{file}'"), self.env)
        self.bystanders["another worker"] = (self.ours.child("witness"), file)
        for pid, file in self.bystanders.values():
            yards.until("a bystander listens", lambda: os.path.exists(file))

    def touched(self):
        """What happened to the bystanders, and whether they would have noticed: each is sent SIGUSR1 at the end."""
        said = []
        for name, (pid, file) in self.bystanders.items():
            if yards.is_dead(pid):
                said.append(f"{name} was killed")
                continue
            said += [f"{name} got signal {number}" for number in words(file)]
            os.kill(pid, signal.SIGUSR1)
            yards.until(f"{name} writes down a signal", lambda: str(int(signal.SIGUSR1)) in words(file))
        return said

    def begin(self, kind, name):
        """Starts a worker of a kind and waits until its processes are there: its id and its mark."""
        self.number += 1
        id = f"w{self.number}"
        mark = f"{self.mark}.{id}."
        command = f"exec bash '{self.scripts}/{name}' {mark} '{self.scripts}' '{sys.executable}'"
        gate = os.path.join(self.scripts, f"{mark}gate")
        if kind.gated:  # begins only now, so that it is ended in the midst of it
            os.mkfifo(gate)
        loops.timed(self.ours.start(id, command), {**self.env, "TORTURE": mark})
        if kind.gated:
            with open(gate, "w", encoding="ascii") as file:
                file.write("go\n")
        yards.until(f"processes of {name}", lambda: self.is_ready(kind, id, mark), 0.002)
        return id, mark

    def is_ready(self, kind, id, mark):
        leaves = yards.marked(mark, leaf=True)
        if kind.by_itself and self.ours.has_ended(id):
            return True
        return len(leaves) >= kind.leaves and (kind.state is None or all(yards.state(pid) == kind.state for pid in leaves))

    def row(self, id):
        listed = subprocess.run([*self.ours.list(), "--json"], env=self.env, stdout=subprocess.PIPE, check=True).stdout
        return next(row for row in json.loads(listed) if row["id"] == id)

    def run(self, argv):
        """(exit code, standard error, milliseconds) of a verb."""
        start = time.perf_counter_ns()
        done = subprocess.run(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stderr.strip(), (time.perf_counter_ns() - start) / 1e6


def words(path):
    with open(path, encoding="ascii") as file:
        return file.read().split()


def by_kill(yard, name, chance):
    """One worker ended by `looop kill`: (processes before, survivors, what was wrong, milliseconds)."""
    kind = KINDS[name]
    id, mark = yard.begin(kind, name)
    time.sleep(chance.uniform(0, 0.02))
    before = len(yards.marked(mark))
    if kind.by_itself:
        code, error, took = yard.run([yard.binary, "wait", id])
    else:
        code, error, took = yard.run(yard.ours.kill(id))
    left = yards.marked(mark)
    wrong = [f"{id}: exit code {code}: {error}"] if code != 0 else []
    if kind.spared:
        left, wrong = without_spared(left, wrong)
    return before, left, wrong + left_behind(yard, id), took


def by_host(yard, name, chance):
    """One worker whose host is killed with SIGKILL; then one beat."""
    kind = KINDS[name]
    id, mark = yard.begin(kind, name)
    host = yard.ours.host(id)
    time.sleep(chance.uniform(0, 0.02))
    before = len(yards.marked(mark))
    os.kill(host, signal.SIGKILL)
    yards.until("the host is dead", lambda: yards.is_dead(host), 0.001)
    code, error, took = yard.run([yard.binary, "beat"])
    left = yards.marked(mark)
    wrong = [f"{id}: beat: exit code {code}: {error}"] if code != 0 else []
    if (row := yard.row(id))["state"] != "lost":
        wrong.append(f"{id} is {row['state']}, not lost")
    code, error, _ = yard.run([yard.binary, "log", id])
    wrong += [f"{id}: log: exit code {code}: {error}"] if code != 0 else []
    if kind.spared:
        left, wrong = without_spared(left, wrong)
    return before, left, wrong + left_behind(yard, id), took


def without_spared(left, wrong):
    """The survivors that should be dead, and what is wrong if the one that should live does not."""
    spared = [pid for pid in left if "ssh-agent" in yards.describe(pid)]
    return [pid for pid in left if pid not in spared], wrong + ([] if spared else ["what is to be spared was killed"])


def left_behind(yard, id):
    """A control group that is still there, since nothing else remembers it."""
    path = os.path.join(yard.ours.folder(id), "cgroup")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        group = file.read().strip()
    return [f"{id}: {group} is left"] if os.path.isdir(group) and not spared_in(group) else []


def has_group(yard, id):
    return os.path.exists(os.path.join(yard.ours.folder(id), "cgroup"))


def spared_in(group):
    with open(os.path.join(group, "cgroup.procs"), encoding="ascii") as file:
        return any("ssh-agent" in yards.describe(pid) for pid in file.read().split())


def torture(yard, way, end, names, times, chance):
    tallies = []
    for name in names:
        tally = Tally(f"{name}: {way}")
        for _ in range(times):
            before, left, wrong, took = end(yard, name, chance)
            tally.note(before, left, wrong, took)
            if end is by_host and KINDS[name].unmarked and not has_group(yard, f"w{yard.number}"):
                tally.excuse(left)
            yards.sweep(f"{yard.mark}.w{yard.number}.")  # what survived must not disturb the next one
        print(tally.line(), flush=True)
        tallies.append(tally)
    return tallies


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--n", type=int, default=100, help="how many kills of each kind")
    parser.add_argument("--hosts", type=int, default=None, help="how many hosts of each kind are killed (default: n / 5, at least 1)")
    parser.add_argument("--only", default="", help=f"kinds, separated by commas: {', '.join(KINDS)}")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--looop", default=os.path.join(here, "..", "target", "release", "looop"))
    return parser.parse_args()


def main():
    args = arguments()
    names = [name for name in args.only.split(",") if name] or list(KINDS)
    unknown = [name for name in names if name not in KINDS]
    if unknown or not os.access(args.looop, os.X_OK):
        sys.exit(f"kills: no {', '.join(unknown) or args.looop}")
    seed = args.seed if args.seed is not None else random.randrange(2**32)
    chance = random.Random(seed)
    print(f"kills: seed {seed}, {'root' if os.geteuid() == 0 else 'an ordinary user'}", file=sys.stderr)
    yards.end_on_signals()
    with tempfile.TemporaryDirectory(prefix="looop-kills-") as root:
        try:
            yard = Yard(args.looop, root)
            print(f"{'worker: how it ends':<36} {'times':>5} {'processes':>9} {'survivors':>9} {'wrong':>5} {'ms':>8}")
            tallies = torture(yard, "kill", by_kill, names, args.n, chance)
            lost = [name for name in names if not KINDS[name].by_itself]
            hosts = args.hosts if args.hosts is not None else max(1, args.n // 5)
            tallies += torture(yard, "host -9", by_host, lost, hosts, chance)
            touched = yard.touched()
        finally:
            yards.end_all(root)
    survivors = sum(tally.survivors for tally in tallies)
    print(f"{sum(tally.times for tally in tallies)} ends, {sum(tally.processes for tally in tallies)} processes, "
          f"{survivors} survivors, {sum(tally.wrong for tally in tallies)} wrong, {len(touched)} touches of {len(yard.bystanders)} bystanders")
    for said in touched[:20]:
        print(f"touched: {said}")
    return 0 if all(tally.holds() for tally in tallies) and not touched else 1


if __name__ == "__main__":
    sys.exit(main())
