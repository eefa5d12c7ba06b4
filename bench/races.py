#!/usr/bin/env python3
"""R8: many at once want what only one may have: a claim, an answer, a worker's name, a place under the cap.

Everything goes through the real binary, one process a call, all of a round started as fast as they can be.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import loops
import yards

MANY = 30
CAP = 8


def at_once(calls):
    """Starts (argv, env) all together; their (exit code, standard output, standard error) in the same order."""
    pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = [subprocess.Popen(argv, env=env, **pipes) for argv, env in calls]
    spoken = [child.communicate() for child in children]
    return [(child.returncode, *said) for child, said in zip(children, spoken)]


def living(yard):
    """The live workers' ids."""
    text = subprocess.run([*yard.list(), "--json", "--all"], env=yard.env, stdout=subprocess.PIPE, check=True).stdout
    return [row["id"] for row in json.loads(text) if row["alive"]]


class Race:
    """One kind of race: how often, and what went wrong."""

    def __init__(self, name):
        self.name, self.rounds, self.wrong = name, 0, []

    def round(self, *complaints):
        self.rounds += 1
        self.wrong += [said for said in complaints if said]

    def line(self):
        return f"{self.name:<62} {self.rounds:>6} {len(self.wrong):>6}  {'; '.join(self.wrong[:3])}".rstrip()


def claims(binary, root, rounds, chance):
    """Two workers race for a claim: a new one, one that was given back, and one whose holder is dead."""
    yard = yards.Ours(binary, loops.profile(root, "claims"))
    for id in ("a", "b", "dead"):
        loops.timed(yard.start(id, "sleep 100000"), yard.env)
    orphaned = [f"orphan{n}" for n in range(max(1, rounds // 20))]
    for name in orphaned:
        loops.timed([yard.binary, "claim", name, "--session", "dead~1"], yard.env)
    loops.timed(yard.kill("dead"), yard.env)
    race = Race("two workers race for a claim")
    for n in range(rounds):
        name = orphaned[n] if n < len(orphaned) else f"name{n % 10}"
        pair = chance.sample(("a~1", "b~1"), 2)
        ends = at_once([([yard.binary, "claim", name, "--session", session], yard.env) for session in pair])
        winners = [session for session, (code, _, _) in zip(pair, ends) if code == 0]
        holder = yards.read_json(f"{yard.data}/claims/{name}.json")["session"]
        one = winners == [holder] and sorted(code for code, _, _ in ends) == [0, 1]
        race.round(None if one else f"{name}: {winners} won, {holder} holds it, {[end[2] for end in ends]}")
        loops.timed([yard.binary, "unclaim", name, "--session", holder], yard.env)
    loops.timed(yard.kill_all(), yard.env)
    return race


def answers(binary, root, rounds, chance):
    """Ten asks wait; ten clients answer all of them at once, in an order of their own."""
    yard = yards.Ours(binary, loops.profile(root, "answers"))
    race = Race("ten asks are answered at once by ten clients")
    names = [f"w{n}" for n in range(10)]
    for id in names:
        loops.timed(yard.start(id, "sleep 100000"), yard.env)
    pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for turn in range(rounds):
        asks = {id: subprocess.Popen([yard.binary, "ask", id, "--prompt", f"round {turn}?"], env=yard.env, **pipes) for id in names}
        pending = yards.until("ten asks", lambda: ten(yard))
        calls = [(ask, f"client {client} on {ask}") for client in range(10) for ask in pending]
        chance.shuffle(calls)
        ends = at_once([([yard.binary, "answer", ask, text], yard.env) for ask, text in calls])
        won = collections.defaultdict(list)
        for (ask, text), (code, _, error) in zip(calls, ends):
            if code == 0:
                won[ask].append(text)
            elif code != 1:
                race.wrong.append(f"{ask}: exit code {code}: {error.strip()}")
        heard = {id: child.communicate(timeout=60)[0].strip() for id, child in asks.items()}
        for ask, id in pending.items():
            race.round(None if won[ask] == [heard[id]] else f"{ask}: {won[ask]} were taken, {heard[id]!r} was heard")
    loops.timed(yard.kill_all(), yard.env)
    return race


def ten(yard):
    """Ask → worker, once all ten ask."""
    text = subprocess.run([yard.binary, "asks", "--json"], env=yard.env, stdout=subprocess.PIPE, check=True).stdout
    asks = {ask["id"]: ask["from"].partition("~")[0] for ask in json.loads(text)}
    return asks if len(asks) == 10 else None


def recipes(yard, root, ids):
    """Goals whose recipe is a worker of that name, so that a beat wants to start it too."""
    ran = os.path.join(root, "ran")
    command = f"echo $LOOOP_SESSION_ID >> '{ran}'; exec sleep 100000"
    loops.write(os.path.join(yard.data, "config.toml"), f'default = "builtin"\n[runners.hand]\ninteractive = "{command} # {{{{prompt_file}}}}"\n')
    for id in ids:
        loops.write(f"{yard.data}/goals/{id}.md", f"---\ncheck: false\nworker: Be there.\n---\n{id} is there.\n")
    return ran, command


def one_name(binary, root, rounds, chance):
    """Thirty starts of one worker, by verbs and by beats."""
    race = Race(f"{MANY} starts at once with one id, a third of them beats")
    for turn in range(rounds):
        yard = yards.Ours(binary, loops.profile(root, f"name{turn}"))
        ran, command = recipes(yard, yard.data, ["one"])
        calls = [([yard.binary, "beat"], yard.env) if n % 3 == 2 else (yard.start("one", command), yard.env) for n in range(MANY)]
        chance.shuffle(calls)
        ends = at_once(calls)
        started = sum(code == 0 for (argv, _), (code, _, _) in zip(calls, ends) if argv[1] == "worker")
        live = living(yard)
        begun = len(lines(ran))
        strange = odd(calls, ends, "lives already")
        race.round(None if live == ["one"] else f"live: {live}", None if begun == 1 else f"{begun} were begun",
                   None if started <= 1 else f"{started} verbs say that they started it", strange)
        loops.timed([*yard.kill_all(), "--force"], yard.env)
    return race


def under_cap(binary, root, rounds, chance):
    """Thirty workers where eight may live; beats want to start the same ones."""
    race = Race(f"{MANY} ids at once with a cap of {CAP}, and beats meanwhile")
    for turn in range(rounds):
        yard = yards.Ours(binary, loops.profile(root, f"cap{turn}"), LOOOP_MAX_WORKERS=str(CAP))
        ids = [f"w{n}" for n in range(MANY)]
        ran, command = recipes(yard, yard.data, ids)
        calls = [(yard.start(id, command), yard.env) for id in ids] + [([yard.binary, "beat"], yard.env)] * 5
        chance.shuffle(calls)
        ends = at_once(calls)
        live = living(yard)
        begun = len(lines(ran))
        strange = odd(calls, ends, "max_workers", "lives already")
        race.round(None if len(live) == CAP == len(set(live)) else f"{len(live)} live", None if begun == CAP else f"{begun} were begun", strange)
        loops.timed([*yard.kill_all(), "--force"], yard.env)
    return race


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split()


def odd(calls, ends, *reasons):
    """The first call that failed without one of these reasons."""
    for (argv, _), (code, _, error) in zip(calls, ends):
        if code != 0 and (argv[1] == "beat" or not any(reason in error for reason in reasons)):
            return f"{' '.join(argv[1:3])}: exit code {code}: {error.strip()[:200]}"
    return None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--n", type=int, default=1000, help="races for a claim; a hundredth of it rounds of each of the others")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--looop", default=os.path.join(here, "..", "target", "release", "looop"))
    return parser.parse_args()


def main():
    args = arguments()
    if not os.access(args.looop, os.X_OK):
        sys.exit(f"races: no {args.looop}: cargo build --release, or --looop PATH")
    seed = args.seed if args.seed is not None else random.randrange(2**32)
    print(f"races: seed {seed}", file=sys.stderr)
    yards.end_on_signals()
    few = max(1, args.n // 100)
    races = []
    print(f"{'race':<62} {'rounds':>6} {'wrong':>6}")
    with tempfile.TemporaryDirectory(prefix="looop-races-") as root:
        try:
            for run, rounds in ((claims, args.n), (answers, few), (one_name, few), (under_cap, few)):
                races.append(run(args.looop, root, rounds, random.Random(seed)))
                print(races[-1].line(), flush=True)
        finally:
            yards.end_all(root)
    return 1 if any(race.wrong for race in races) else 0


if __name__ == "__main__":
    sys.exit(main())
