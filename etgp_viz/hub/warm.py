"""The warm process: loads TensorFlow, GPflow and the explorers once, and forks a kernel on request.

Run ``python -I -m etgp_viz.hub.warm SOCKET``, as root if each student is a separate user. The
kernels share its memory until they change it, and start without importing anything. This process
reads nothing that a caller sends: it asks the operating system who is calling, and forks. The rest
happens in the new process, after it has become the caller's.
"""

import argparse
import contextlib
import gc
import os
import signal
import socket
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from etgp_viz.hub import kernel
from etgp_viz.hub.privileges import Caller, Refused, become

__all__ = ["KERNELS_PER_USER", "main", "serve"]

# More than anybody needs; it keeps one user from filling the machine with processes.
KERNELS_PER_USER = 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Load everything, listen, and serve until SIGTERM."""
    parser = argparse.ArgumentParser(prog="etgp_viz.hub.warm", description=__doc__)
    parser.add_argument("socket", type=Path, help="where to listen; its folder must exist")
    path: Path = parser.parse_args(arguments).socket.absolute()
    # Libraries also look for settings in the home folder.
    os.environ.update(kernel.ENVIRONMENT, HOME=str(path.parent))
    os.chdir(path.parent)
    kernel.preload()
    if (threads := len(os.listdir("/proc/self/task"))) != 1:
        print(f"etgp-viz: {threads} threads after loading; a fork needs just one.", file=sys.stderr)
        return 1
    gc.collect()
    gc.freeze()  # otherwise the garbage collector writes to the shared pages
    with listen(path) as listener:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
        print(f"etgp-viz: warm kernels at {path}", flush=True)
        serve(listener)
    return 0


@contextlib.contextmanager
def listen(path: Path) -> Iterator[socket.socket]:
    """A socket that any user may connect to, removed at the end."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(128)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def serve(listener: socket.socket) -> None:
    """Fork a process for every caller."""
    users: dict[int, int] = {}  # process → user
    # A process may end before it is in `users`, so the signal only notes its number.
    ended: list[int] = []
    signal.signal(signal.SIGCHLD, lambda number, frame: ended.extend(_bury()))
    while True:
        connection, _ = listener.accept()
        while ended:
            users.pop(ended.pop(), None)
        with connection:
            try:
                caller = Caller.of(connection)
                if Counter(users.values())[caller.uid] >= KERNELS_PER_USER:
                    continue
                process = os.fork()
            except OSError as error:  # this caller starts an ordinary kernel; the next may succeed
                print(f"etgp-viz: {error}", file=sys.stderr, flush=True)
                continue
            if process == 0:
                listener.close()  # first of all: whoever holds it could answer for this process
                _be_a_kernel(caller, connection)
            users[process] = caller.uid


def _bury() -> list[int]:
    """Release the processes that have ended, and return their numbers."""
    ended = []
    with contextlib.suppress(ChildProcessError):
        while (process := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            ended.append(process)
    return ended


def _be_a_kernel(caller: Caller, connection: socket.socket) -> None:
    """What the forked process does; it never returns."""
    status = 1
    try:
        os.setsid()
        become(caller)
        kernel.run(kernel.receive(connection), connection)
        status = 0
    except Refused as refusal:
        with contextlib.suppress(OSError):
            connection.send(str(refusal).encode())
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        # Not sys.exit: cleaning up after the warm process is not this one's job.
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
