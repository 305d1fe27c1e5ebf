"""The warm process: loads TensorFlow, GPflow and the explorers once, and forks a kernel on request.

``python -I -m etgp_viz.hub.warm SOCKET``, as root for a class in which every student is another
user. The kernels share its memory until they change it, and start without importing anything.
This process reads nothing that a caller sends: it asks the operating system who calls, and forks.
The rest happens in the new process after it has become the caller's.
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

# What the libraries read while they are imported.
ENVIRONMENT = {
    # A fork takes only its own thread along, and a class shares the cores.
    "OPENBLAS_NUM_THREADS": "1",
    # A GPU that was opened before a fork cannot be used after it.
    "CUDA_VISIBLE_DEVICES": "-1",
    # The debugger would warn about frozen modules of Python, in which nobody sets breakpoints.
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
# More than anybody needs; it keeps one user from filling the machine with processes.
KERNELS_PER_USER = 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Load everything, listen, and serve until SIGTERM."""
    parser = argparse.ArgumentParser(prog="etgp_viz.hub.warm", description=__doc__)
    parser.add_argument("socket", type=Path, help="where to listen; its folder must exist")
    path: Path = parser.parse_args(arguments).socket
    # Libraries also look for settings in the home folder.
    os.environ.update(ENVIRONMENT, HOME=str(path.parent))
    os.chdir(path.parent)
    kernel.preload()
    if (threads := len(os.listdir("/proc/self/task"))) != 1:
        print(f"etgp-viz: {threads} threads after loading; a fork needs one.", file=sys.stderr)
        return 1
    gc.collect()
    gc.freeze()  # or the garbage collector writes to the pages that all kernels share
    with listen(path) as listener:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
        print(f"etgp-viz: warm kernels at {path}", flush=True)
        serve(listener)
    return 0


@contextlib.contextmanager
def listen(path: Path) -> Iterator[socket.socket]:
    """A socket that any user may connect to, removed in the end."""
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
    signal.signal(signal.SIGCHLD, lambda number, frame: _bury(users))
    while True:
        connection, _ = listener.accept()
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


def _bury(users: dict[int, int]) -> None:
    """Forget processes that have ended."""
    with contextlib.suppress(ChildProcessError):
        while (process := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            users.pop(process, None)


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
        # Not sys.exit: the end of the warm process is none of this one's business.
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
