"""Workers of the two programs behind the same few calls, and the end of everything that a bench left running."""

import ctypes
import json
import os
import select
import signal
import sys
import threading
import time

import loops

DEADLINE_S = 60
MANY = {"LOOOP_MAX_WORKERS": "0", "LOOOP_WORKER_STUCK_SECS": "1000000"}
IN_MODIFY, IN_MOVED_TO, IN_CREATE = 0x2, 0x80, 0x100


class Ours:
    """Workers of ours: session `<id>~1`, since no id is used twice."""

    name = "ours"
    kill_codes = (0,)

    def __init__(self, binary, data, **more):
        self.binary, self.data = os.path.abspath(binary), data
        self.loop = loops.Ours(binary, data, **{**MANY, **more})
        self.env = self.loop.env

    def start(self, id, command):
        return [self.binary, "worker", "start", id, "--command", command]

    def list(self):
        return [self.binary, "worker", "list"]

    def kill(self, id):
        return [self.binary, "kill", id]

    def kill_all(self):
        return [self.binary, "kill", "--all"]

    def shot(self, id):
        return [self.binary, "shot", id]

    def folder(self, id):
        return os.path.join(self.data, "sessions", f"{id}~1")

    def host(self, id):
        return read_json(f"{self.data}/sessions/status/{id}~1.json")["host"]

    def child(self, id):
        return read_json(f"{self.data}/sessions/status/{id}~1.json")["child"]

    def has_ended(self, id):
        return os.path.exists(os.path.join(self.folder(id), "receipt.json"))

    def output_bytes(self, id):
        return read_json(os.path.join(self.folder(id), "receipt.json"))["output_bytes"]


class Peer:
    """Workers of looop 1.1.0. Its pulse runs only where beats are measured: `pulse` starts one."""

    name = "peer"
    # Its kill often says that it failed although the worker has ended.
    kill_codes = (0, 1)

    def __init__(self, binary, data, **more):
        self.binary, self.data = os.path.abspath(binary), data
        self.env = loops.peer_env(data, **{**MANY, **more})
        loops.peer_config(data)

    def pulse(self, patience=60):
        return loops.Peer(self.binary, self.data, patience=patience, **MANY)

    def start(self, id, command):
        return [self.binary, "worker", "start", id, "work", "--command", command + "; : {{prompt_file}}"]

    def list(self):
        return [self.binary, "worker", "list"]

    def kill(self, id):
        return [self.binary, "kill", id]

    def kill_all(self):
        return [self.binary, "down"]

    def shot(self, id):
        return [self.binary, "screenshot", id]

    def folder(self, id):
        return os.path.join(self.data, "sessions", id)

    def host(self, id):
        return read_json(os.path.join(self.folder(id), "meta.json"))["babysit_pid"]

    def child(self, id):
        return read_json(os.path.join(self.folder(id), "status.json"))["child_pid"]

    def has_ended(self, id):
        path = os.path.join(self.folder(id), "status.json")
        try:
            return read_json(path)["state"] not in ("starting", "running")
        except (FileNotFoundError, ValueError):  # not written yet, or being written
            return False

    def output_bytes(self, id):
        return os.stat(os.path.join(self.folder(id), "output.log")).st_size


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def until(what, look, step=0.005, most=DEADLINE_S):
    """Looks again and again until it sees something, and returns that."""
    deadline = time.monotonic() + most
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {most} s: {what}")
        time.sleep(step)
    return seen


def all_of(argvs, env, parallel=1, ok=(0,)):
    """Milliseconds for these calls, so many at a time."""
    rest = iter(argvs)
    lock, failures = threading.Lock(), []

    def work():
        while not failures:
            with lock:
                argv = next(rest, None)
            if argv is None:
                return
            try:
                loops.timed(argv, env, ok)
            except Exception as error:  # raised again below, in the thread that can be seen
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(parallel)]
    start = time.perf_counter_ns()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return (time.perf_counter_ns() - start) / 1e6


class Waker:
    """Sleeps until a folder's files are written (inotify), so that waiting takes no processor from what is timed."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def watch(self, path, mask):
        """Whether it is watched from now on; False if it is not there."""
        return self.libc.inotify_add_watch(self.fd, os.fsencode(path), ctypes.c_uint32(mask)) >= 0

    def wait(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            os.read(self.fd, 65536)

    def close(self):
        os.close(self.fd)


def first_output(path, begin):
    """Calls `begin` and returns when the file at `path` (whose folder is yet to be made) has its first byte."""
    folder = os.path.dirname(path)
    waker = Waker()
    try:
        # Creation of the folder, then of the file in it, then what is written to that. Each look comes after its watch.
        waker.watch(os.path.dirname(folder), IN_CREATE | IN_MOVED_TO)
        begun = begin()
        deadline = time.monotonic() + DEADLINE_S
        watched = [False, False]
        while not has_bytes(path):
            watched = [watched[0] or waker.watch(folder, IN_CREATE | IN_MOVED_TO), watched[1] or waker.watch(path, IN_MODIFY)]
            if has_bytes(path):
                break
            waker.wait(0.005)
            if time.monotonic() > deadline:
                raise RuntimeError(f"no output in {path}")
        return time.perf_counter_ns(), begun
    finally:
        waker.close()


def has_bytes(path):
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


def spawn(argv, env):
    """Starts a program without its streams, through posix_spawn, which copies no page tables."""
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
    return os.posix_spawnp(argv[0], argv, env, file_actions=null)


def reap(pid, argv, ok=(0,)):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in ok:
        raise RuntimeError(f"{' '.join(argv)} ended with {code}")


def state(pid):
    """The kernel's letter for a process, such as S or Z; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_dead(pid):
    return state(pid) in (None, "Z", "X")


def marked(mark, leaf=False):
    """Living processes with these words in their arguments or their environment; `leaf`: as their very name."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and carries(int(name), mark.encode(), leaf) and not is_dead(int(name)):
            found.append(int(name))
    return found


def carries(pid, mark, leaf):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = file.read()
        if leaf:
            return arguments.startswith(mark)
        if mark in arguments:
            return True
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid} {file.read().replace(bytes(1), b' ').decode(errors='replace')[:100].strip()}"
    except (FileNotFoundError, ProcessLookupError):
        return f"{pid}"


def sweep(mark):
    """Ends, by SIGKILL, every process that carries the mark, until there is none; how many there were."""
    ended = 0
    for _ in range(100):
        found = marked(mark)
        if not found:
            return ended
        for pid in found:
            ended += strike(pid, mark.encode())
        time.sleep(0.02)
    raise RuntimeError(f"processes with {mark} go on after 100 rounds of SIGKILL: {[describe(pid) for pid in marked(mark)]}")


def end_all(root):
    """Ends all that was begun under a scratch folder; with it go the control groups that killed hosts leave."""
    sweep(os.path.basename(root))
    for folder, _, files in os.walk(root):
        if "cgroup" in files:
            with open(os.path.join(folder, "cgroup"), encoding="utf-8") as file:
                remove_group(file.read().strip())


def remove_group(path):
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass


def strike(pid, mark):
    """Kills one process, if it is still the one that carries the mark when it is held."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not carries(pid, mark, False):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(held)


def end_on_signals():
    """Lets SIGTERM and SIGHUP unwind, so that what was started is ended; further ones do not disturb that."""

    def unwind(number, _):
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, unwind)
