"""Ask the warm process of this machine for a kernel, and stand in for that kernel while it runs.

A kernelspec runs this file by its path, ``python -IS client.py SOCKET CONNECTION_FILE``, and it
imports only the standard library, because every kernel of a class has one such process. If the
warm process does not answer or refuses, this process becomes an ordinary kernel.
"""

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from types import FrameType

__all__ = ["PATIENCE", "REQUEST_LIMIT", "ask", "main"]

# Seconds to wait for the other side: a fork can take a while on a busy machine.
PATIENCE = 20
# Bytes; a request holds an environment and two paths.
REQUEST_LIMIT = 64 * 1024
# The signals that Jupyter sends to a kernel.
RELAYED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def main(arguments: Sequence[str]) -> int:
    """Run a kernel for a connection file until it ends.

    Parameters
    ----------
    arguments : path of the warm process's socket, and of the connection file

    Returns
    -------
    the exit status
    """
    path, connection_file = arguments
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        kernel = ask(connection, path, connection_file)
    except (OSError, ValueError) as error:
        print(f"etgp-viz: no warm kernel ({error}); starting an ordinary one.", file=sys.stderr)
        connection.close()
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", connection_file]
        os.execv(sys.executable, command)
    # The kernel ends when this process does, because it watches the other end of `connection`.
    return _stand_in_for(kernel)


def ask(connection: socket.socket, path: str, connection_file: str) -> int:
    """The process id of a new kernel, which runs as the user who asked.

    Parameters
    ----------
    connection : a new socket; the kernel ends when it is closed
    path : where the warm process listens
    connection_file : the kernel's, written by Jupyter
    """
    connection.settimeout(PATIENCE)
    connection.connect(path)
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    server = struct.unpack("3i", credentials)[1]
    if server not in (0, os.getuid()):  # otherwise anybody could listen there and serve others
        raise ValueError(f"{path} belongs to user {server}")
    umask = os.umask(0)
    os.umask(umask)
    request = json.dumps(
        {
            "connection_file": os.path.abspath(connection_file),
            "folder": os.getcwd(),
            "environment": dict(os.environ),
            "umask": umask,
        }
    ).encode()
    # The kernel writes where this process would write: to the log of the Jupyter server.
    socket.send_fds(connection, [request], [0, 1, 2])
    answer = connection.recv(REQUEST_LIMIT).decode()
    if not answer.isdecimal():
        raise ValueError(answer or "refused")
    connection.settimeout(None)
    return int(answer)


def _stand_in_for(kernel: int) -> int:
    """Relay signals to a kernel and its children until it ends, or the Jupyter server does."""

    def relay(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.killpg(kernel, number)

    try:
        # Jupyter gives its own process id: by now, this process may have another parent.
        server = os.pidfd_open(int(os.environ.get("JPY_PARENT_PID") or os.getppid()))
        ended = os.pidfd_open(kernel)
    except ProcessLookupError:
        return 1
    for number in RELAYED:
        signal.signal(number, relay)
    if server in select.select([ended, server], [], [])[0]:
        # At once, because a kernel that is busy in C code does not notice that this process ends.
        relay(signal.SIGKILL, None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
