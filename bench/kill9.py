#!/usr/bin/env python3
"""R1: the loop is killed with SIGKILL at random moments while its shell moves run; then each must have run exactly once.

Every goal holds once its own line is in the file `ran`, and its recipe appends that line after a short wait. The decider
is level-triggered in both programs (ours: the built-in rules; the peer: a script that names the first line missing), so a
loop that forgets what it had started, or starts it anew, shows as a line that is there twice.

Then the long-running loop (ours only), whose decider takes turns: a command, a worker, a goal, nothing. Each decide, command
and worker leaves a line of its own; after the kills and one life in peace each must be there exactly once, each decision be
used at most once, every move have an end in the log, and no process be left.
"""

import argparse
import collections
import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import loops

SETTLE_S = 60
RECIPE = "sleep 0.06; echo {id} >> {file}"
# The first number without a line, as a move of the peer.
PEER_DECIDER = r"""cat >/dev/null
n=$(awk '{{ seen[$1] = 1 }} END {{ while (("g" n + 0) in seen) n++; print n + 0 }}' {file})
echo "{{\"action\":\"run_shell\",\"cmd\":\"{recipe}\",\"journal\":\"g$n\"}}" >.decision.json
"""


# Each decide changes a goal meanwhile, so that there is always something to decide upon.
CHAOS_DECIDER = r"""n=$LOOOP_RUN_ID; i=$(expr $n + 0); echo $n >> {home}/decides; echo $n > "$LOOOP_DATA_DIR/goals/other.md"
case $(expr $i % 4) in
0) echo "{{\"action\":\"run_shell\",\"cmd\":\"sleep 0.05; echo m$n >> {home}/commands\"}}";;
1) echo "{{\"action\":\"start_worker\",\"id\":\"w$n\",\"prompt\":\"p\",\"runner\":\"fake\"}}";;
2) echo "{{\"action\":\"write_goal\",\"id\":\"g\",\"body\":\"Number $n.\"}}";;
3) echo "{{\"action\":\"noop\"}}";;
esac"""


class Ours:
    """`looop beat` on a profile whose goals carry check and recipe, three of them open at any time."""

    name = "ours"

    def __init__(self, binary, data):
        self.argv = [os.path.abspath(binary), "beat"]
        self.data = data
        self.env = loops.clean_env(data)
        self.ran = os.path.join(data, "scratch", "ran")
        self.goals = []
        self.made = 0
        loops.write(self.ran, "")
        loops.write(os.path.join(data, "config.toml"), 'default = "builtin"\n')
        loops.write(os.path.join(data, "PLAYBOOK.md"), "# Playbook\n\nMake every goal hold.\n")
        self.within = 1.2 * max(self.peaceful() for _ in range(3))

    def peaceful(self):
        """Seconds of one beat that nobody disturbs."""
        self.prepare()
        return loops.timed(self.argv, self.env) / 1000

    def prepare(self):
        """Takes away the goals whose line is there and adds new ones: a beat should not be spent on checks."""
        done = lines(self)
        for goal in [goal for goal in self.goals if goal in done]:
            os.remove(f"{self.data}/goals/{goal}.md")
            self.goals.remove(goal)
        while len(self.goals) < 3:
            goal, self.made = f"g{self.made}", self.made + 1
            recipe = RECIPE.format(id=goal, file=self.ran)
            loops.write(f"{self.data}/goals/{goal}.md", f"---\ncheck: grep -qx {goal} {self.ran}\nrun: {recipe}\n---\nLine {goal} is there.\n")
            self.goals.append(goal)

    def has_run(self):
        return bool(lines(self))

    def settled(self):
        """One beat in peace; whether every move that was begun has now an end in the log."""
        loops.timed(self.argv, self.env)
        begun = {entry["beat"] for entry in self.entries("intended")}
        return begun <= {entry["beat"] for entry in self.entries("finished")}

    def entries(self, kind):
        for path in sorted(glob.glob(os.path.join(self.data, "log", "*.jsonl"))):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    yield from (entry[kind] for entry in json.loads(line).get("entries", []) if kind in entry)

    def intended(self):
        """How often each line was meant to be written, by the log."""
        return collections.Counter(entry["plan"]["goal"] for entry in self.entries("intended"))


class Chaos:
    """The long-running loop, with decides, commands and workers under way at any time."""

    name = "pulse"
    within = 0.4
    entries = Ours.entries

    def __init__(self, binary, data):
        self.argv = [os.path.abspath(binary), "--json"]
        self.data = data
        self.env = loops.clean_env(data)
        self.made = 0
        os.mkdir(os.path.join(data, "goals"), 0o700)
        loops.write(os.path.join(data, "PLAYBOOK.md"), "# Playbook\n")
        self.configure("fake")

    def configure(self, default):
        home = os.path.join(self.data, "home")
        worker = f"echo $LOOOP_SESSION_ID >> {home}/workers; : {{{{prompt_file}}}}"
        loops.write(
            os.path.join(self.data, "config.toml"),
            # What is counted lies where a confined command cannot write; who may do what is measured elsewhere.
            f'default = "{default}"\npolicy = "open"\nsandbox = "off"\nmax_decides_per_hour = 100000\nmax_workers = 0\ninterval = 1\nbusy_interval = 1\nactive_interval = 1\n'
            f'[runners.fake]\ncost = "free"\ntick = {json.dumps(CHAOS_DECIDER.format(home=home))}\ninteractive = {json.dumps(worker)}\n',
        )

    def prepare(self):
        """Something to decide upon, whatever the last life saw."""
        self.made += 1
        loops.write(os.path.join(self.data, "goals", "world.md"), f"Round {self.made}.\n")

    def lines(self, name):
        path = os.path.join(self.data, "home", name)
        if not os.path.exists(path):
            return collections.Counter()
        with open(path, encoding="utf-8") as file:
            return collections.Counter(file.read().split())

    def has_run(self):
        return all(self.lines(name) for name in ("commands", "workers", "decides"))

    def open_moves(self):
        return {entry["beat"] for entry in self.entries("intended")} - {entry["beat"] for entry in self.entries("finished")}

    def rest(self):
        """One life in peace, in which nothing new is decided, until all that was begun has its end."""
        self.configure("builtin")
        null = subprocess.DEVNULL
        child = subprocess.Popen(self.argv, env=self.env, stdin=null, stdout=null, stderr=null)
        deadline = time.monotonic() + SETTLE_S
        while self.open_moves() or self.deciding():
            if time.monotonic() > deadline or child.poll() is not None:
                child.kill()
                raise RuntimeError(f"moves without an end: {self.open_moves()}, decides: {self.deciding()}")
            time.sleep(0.05)
        time.sleep(0.5)
        child.terminate()
        return child.wait(10)

    def deciding(self):
        ended = {entry["beat"] for kind in ("decided", "failed", "overtaken") for entry in self.entries(kind)}
        return {entry["beat"] for entry in self.entries("decide_started")} - ended

    def left(self):
        """Processes that still name the profile, zombies aside."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    found += [pid] if os.fsencode(self.data) in file.read() and int(pid) != os.getpid() else []
            except OSError:
                continue
        return found

    def result(self, kills, cut):
        code = self.rest()
        commands, workers, decides = (self.lines(name) for name in ("commands", "workers", "decides"))
        acts = collections.Counter(entry["plan"]["act"]["how"] for entry in self.entries("intended"))
        used = collections.Counter(entry["run"] for kind in ("decided", "failed") for entry in self.entries(kind))
        undone = [entry for entry in self.entries("finished") if entry["outcome"]["result"] != "done"]
        twice = lambda counted: sum(count > 1 for count in counted.values())
        return {
            "loop": self.name, "kills": kills, "killed_alive": cut, "decides": len(decides), "commands": len(commands), "workers": len(workers),
            "twice_or_more": twice(commands) + twice(workers) + twice(decides), "used_twice": twice(used),
            "lost": acts["hosted"] - len(commands) + acts["worker"] - len(workers), "unlogged": 0, "undone": len(undone),
            "left": len(self.left()), "exit": code,
        }


class Peer:
    """The pulse of looop 1.1.0, whose first beat always decides."""

    name = "peer"

    within = 0.12  # a first beat with its shell move takes about this long

    def __init__(self, binary, data):
        self.argv = [os.path.abspath(binary), "pulse"]
        self.data = data
        self.env = loops.clean_env(data, LOOOP_INTERVAL="1", LOOOP_FAIRNESS_MAX_WAIT_SECS="0", LOOOP_MAX_DECIDES_PER_HOUR="0")
        self.ran = os.path.join(data, "ran")
        loops.write(self.ran, "")
        loops.write(os.path.join(data, "PLAYBOOK.md"), "# Playbook\n")
        decider = PEER_DECIDER.format(file=self.ran, recipe=RECIPE.format(id="g$n", file=self.ran))
        loops.write(os.path.join(data, "decide.sh"), decider)
        tick = f"sh {data}/decide.sh"
        loops.write(os.path.join(data, "config.json"), json.dumps({"tick_command": tick, "worker_command": "true {{prompt_file}}"}))

    def prepare(self):
        pass

    def settled(self):
        return True

    def has_run(self):
        return True

    def intended(self):
        return None  # its write-ahead record carries no command


def lines(loop):
    with open(loop.ran, encoding="utf-8") as file:
        return collections.Counter(file.read().split())


def one_kill(loop, chance, stretch):
    """Starts the loop, kills it (and nothing else) at a random moment, at once starts the next one."""
    loop.prepare()
    null = subprocess.DEVNULL
    child = subprocess.Popen(loop.argv, env=loop.env, stdin=null, stdout=null, stderr=null, start_new_session=True)
    time.sleep(chance.uniform(0, loop.within * stretch))
    alive = child.poll() is None
    child.kill()
    child.wait()
    return alive


def torture(loop, kills, chance):
    cut = rounds = 0
    # More kills, ever later ones, where the machine is so slow that nothing was done between them.
    while rounds < kills or not loop.has_run() and rounds < 10 * kills:
        cut += one_kill(loop, chance, max(1, rounds / kills))
        rounds += 1
    if loop.name == "pulse":
        return loop.result(rounds, cut)
    deadline = time.monotonic() + SETTLE_S
    while not loop.settled():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{loop.name}: a move has no end in the log after {SETTLE_S} s of peace")
    time.sleep(0.2)  # a recipe that was started last takes 60 ms
    found, meant = lines(loop), loop.intended()
    result = {
        "loop": loop.name, "kills": rounds, "killed_alive": cut, "commands": len(found),
        "twice_or_more": sum(count > 1 for count in found.values()), "worst": max(found.values(), default=0),
    }
    if meant is not None:
        result["intended"] = sum(meant.values())
        result["lost"] = sum((meant - found).values())
        result["unlogged"] = sum((found - meant).values())
    return result


def holds(result):
    """Whether the promise was kept, and put to the test at all: something ran, and something was killed meanwhile."""
    if result["loop"] == "peer":
        return True
    counts = ("twice_or_more", "lost", "unlogged", "used_twice", "undone", "left", "exit")
    broken = any(result.get(name) for name in counts)
    return not broken and result["commands"] > 0 and result["killed_alive"] > 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--n", type=int, default=300, help="how many kills")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--looop", default=os.path.join(here, "..", "target", "release", "looop"))
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    seed = args.seed if args.seed is not None else random.randrange(2**32)
    print(f"kill9: seed {seed}", file=sys.stderr)
    todo = [(Ours, args.looop), (Chaos, args.looop)] if os.access(args.looop, os.X_OK) else []
    if not todo:
        print(f"kill9: no {args.looop}: cargo build --release, or --looop PATH", file=sys.stderr)
    peer = os.environ.get("LOOOP_PEER", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "target", "peer", "bin", "looop"))
    if not args.no_peer and os.access(peer, os.X_OK):
        todo.append((Peer, peer))
    results = []
    with tempfile.TemporaryDirectory(prefix="looop-kill9-") as root:
        for kind, binary in todo:
            data = os.path.join(root, kind.name)
            os.mkdir(data, 0o700)
            results.append(torture(kind(binary, data), args.n, random.Random(seed)))
    for result in results:
        print(json.dumps(result) if args.json else "  ".join(f"{key} {value}" for key, value in result.items()))
    bad = [result["loop"] for result in results if not holds(result)]
    return 1 if bad or not results else 0


if __name__ == "__main__":
    sys.exit(main())
