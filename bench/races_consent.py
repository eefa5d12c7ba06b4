#!/usr/bin/env python3
"""Approvals against an editor: a file that a waiting move rests on is changed around the moment of `looop answer yes`.

For each kind of file many rounds are played with the real binary. An editor process changes the file after a random
delay that reaches from before the answer to after its end. Counted are rounds in which the move was carried out although
the file had changed before it was: the edit is lost (the file itself), or older than the act (a file it rests on).

usage: races_consent.py <looop> [rounds] [jobs]
"""
import json, os, random, shutil, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

LOOOP = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
JOBS = int(sys.argv[3]) if len(sys.argv) > 3 else 2
EDIT = "edited by the person\n"
KINDS = {
    "PLAYBOOK.md itself": ({"action": "write_playbook", "body": "# Bold\n"}, "PLAYBOOK.md", "PLAYBOOK.md"),
    "the goal it serves": ({"action": "write_playbook", "body": "# Bold\n", "goal": "g"}, "goals/g.md", "PLAYBOOK.md"),
    "a goal it rewrites": ({"action": "write_goal", "id": "g", "body": "---\ncheck: $x\n---\n# Bold\n"}, "goals/g.md", "goals/g.md"),
    "the PLAYBOOK behind a goal": ({"action": "write_goal", "id": "g", "body": "---\ncheck: $x\n---\n# Bold\n"}, "PLAYBOOK.md", "goals/g.md"),
    "a sensor it rewrites": ({"action": "write_sensor", "name": "s", "script": "#!/bin/sh\n$x\necho 2\n"}, "sensors/s.sh", "sensors/s.sh"),
}


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = path + ".editor"
    with open(temporary, "w") as file:
        file.write(text)
    os.chmod(temporary, mode)
    os.rename(temporary, path)


def play(kind, seed):
    move, edited, written = KINDS[kind]
    root = tempfile.mkdtemp(prefix="looop-race-")
    data = root + "/data"
    os.makedirs(root + "/home")
    write(data + "/PLAYBOOK.md", "# Careful\n")
    write(data + "/goals/g.md", "# Goal\n")
    write(data + "/sensors/s.sh", "#!/bin/sh\n# looop:trust=owner\necho 1\n", 0o700)
    with open(root + "/decision.json", "w") as file:
        json.dump(move, file)
    tick = json.dumps(f"cat '{root}/decision.json' > \"$LOOOP_DECISION_FILE\"")
    write(data + "/config.toml", f'default = "fake"\n[runners.fake]\ntick = {tick}\ncost = "free"\n')
    env = {"PATH": os.environ["PATH"], "HOME": root + "/home", "LOOOP_DATA_DIR": data, "TZ": "UTC", "LANG": "C.UTF-8"}
    run = lambda *args: subprocess.run([LOOOP, *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    beat = run("beat")
    if "waits for your yes" not in beat.stdout:
        return "not parked: " + beat.stdout + beat.stderr
    delay = random.Random(seed).uniform(-0.002, 0.5 if kind == "a sensor it rewrites" else 0.12)
    answer = subprocess.Popen([LOOOP, "answer", "ask-1", "yes"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if delay > 0:
        time.sleep(delay)
    write(f"{data}/{edited}", EDIT, 0o700 if edited.startswith("sensors") else 0o600)
    said = answer.communicate()[0]
    approved = "and done" in said
    with open(f"{data}/{edited}") as file:
        now = file.read()
    if edited == written:
        outcome = "kept" if now == EDIT else "LOST"
    else:
        before = os.stat(f"{data}/{edited}").st_mtime_ns < os.stat(f"{data}/{written}").st_mtime_ns
        outcome = "LATE" if approved and before else "kept"
    if os.environ.get("VERBOSE") and outcome != "kept":
        print(kind, seed, delay, said, now, sep=" | ")
    shutil.rmtree(root)
    return ("done, " if approved else "refused, ") + outcome


def main():
    print(f"{'file that changes':28} {'rounds':>6} {'done':>6} {'refused':>8} {'done after a change':>20}")
    bad = 0
    for kind in KINDS:
        share = max(1, ROUNDS // len(KINDS))
        with ThreadPoolExecutor(JOBS) as pool:
            results = list(pool.map(lambda at: play(kind, at), range(share)))
        done = sum(result.startswith("done") for result in results)
        refused = sum(result.startswith("refused") for result in results)
        late = sum(result.endswith(("LOST", "LATE")) for result in results)
        bad += late
        print(f"{kind:28} {share:6} {done:6} {refused:8} {late:20}")
        odd = {result for result in results if not result.startswith(("done", "refused"))}
        for result in odd:
            print("  odd:", result)
            bad += 1
    sys.exit(1 if bad else 0)


main()
