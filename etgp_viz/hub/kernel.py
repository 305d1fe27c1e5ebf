"""A kernel in a forked process: what it does differently from one started on its own."""

import atexit
import json
import os
import random
import re
import select
import signal
import site
import socket
import sys
import tempfile
import threading
from importlib import import_module
from typing import Any

from etgp_viz.hub.client import PATIENCE, REQUEST_LIMIT
from etgp_viz.hub.privileges import Refused, open_to_owner

__all__ = ["ENVIRONMENT", "preload", "receive", "run", "safe_environment"]

# What a kernel imports while it starts; sqlite3 holds IPython's history.
KERNEL_MODULES = (
    *("ipykernel.debugger", "ipykernel.ipkernel", "ipykernel.kernelapp", "ipykernel.zmqshell"),
    *("sqlite3", "tornado.queues"),
)
# What libraries read, some while they are imported and some when they are used for the first time.
ENVIRONMENT = {
    # A fork keeps only one thread, and a class shares the cores.
    "OPENBLAS_NUM_THREADS": "1",
    # TensorFlow would take all the memory of a GPU for the first student who uses it.
    "CUDA_VISIBLE_DEVICES": "-1",
    # The debugger would warn about Python's frozen modules, where nobody sets breakpoints.
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
# What a kernel may take over from the caller's environment. The process is already running, so
# settings for a loader (LD_PRELOAD, PYTHONPATH …) could only surprise its children.
PASSED_ON = re.compile(
    r"HOME|USER|LOGNAME|SHELL|PATH|LANG|LANGUAGE|TZ|TERM|TMPDIR|VIRTUAL_ENV|(https?|no)_proxy"
    r"|(LC|XDG|JUPYTER|JUPYTERHUB|JUPYTERLAB|JPY|IPYTHON|MPL|ETGP_VIZ|DASK|TF_NUM|MEM|CPU)_?[A-Z_]*",
    re.IGNORECASE,
)


def preload() -> None:
    """Import what every lesson needs.

    No TensorFlow operation runs, because it would start threads, which do not survive a fork.
    Matplotlib is left out, because it remembers the home folder of the user who imports it.
    """
    for module in KERNEL_MODULES:
        import_module(module)

    from etgp_viz.backend import decorating

    with decorating():
        from etgp_viz import explorers

        import_module("etgp_viz.course.checking")
        for name in explorers.__all__:
            getattr(explorers, name)


def receive(connection: socket.socket) -> dict[str, Any]:
    """Read the caller's request, with the caller's privileges, and take over its standard streams.

    Parameters
    ----------
    connection : to the client, see `etgp_viz.hub.client.ask`

    Returns
    -------
    the request: "connection_file", "folder", "environment", "umask"
    """
    connection.settimeout(PATIENCE)
    try:
        message, streams, flags, _ = socket.recv_fds(connection, REQUEST_LIMIT, 3)
    except OSError as error:  # nothing for the log of root: any caller can keep silent
        raise Refused(f"no request: {error}") from None
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) or len(streams) != 3:
        raise Refused(f"expected at most {REQUEST_LIMIT} bytes and three streams")
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    open_to_owner()
    try:
        request = json.loads(message)
        texts = request["connection_file"], request["folder"], *request["environment"].values()
        is_valid = all(isinstance(text, str) and "\0" not in text for text in texts)
        is_valid = is_valid and isinstance(request["umask"], int)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_valid = False
    if not is_valid:
        raise Refused("not a request for a kernel")
    return request


def safe_environment(environment: dict[str, str]) -> dict[str, str]:
    """The part of the caller's environment that its kernel takes over.

    >>> safe_environment({"HOME": "/home/ann", "LD_PRELOAD": "x.so", "JUPYTERHUB_USER": "ann"})
    {'HOME': '/home/ann', 'JUPYTERHUB_USER': 'ann'}
    """
    return {name: value for name, value in environment.items() if PASSED_ON.fullmatch(name)}


def run(request: dict[str, Any], connection: socket.socket) -> None:
    """Set up this process as the request says, tell the client, and run a kernel until it ends."""
    os.umask(request["umask"] & 0o777)
    os.environ.clear()
    os.environ.update(safe_environment(request["environment"]) | ENVIRONMENT)
    try:
        os.chdir(request["folder"])
    except OSError as error:
        raise Refused(f"{request['folder']}: {error.strerror}") from None
    _forget_the_warm_process()
    connection.sendall(str(os.getpid()).encode())
    connection.settimeout(None)
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()

    from ipykernel.kernelapp import IPKernelApp

    # ipykernel must not watch its parent, the warm process; `_end_with` watches the client.
    no_parent = "--IPKernelApp.parent_handle=1"
    IPKernelApp.launch_instance(["-f", request["connection_file"], no_parent])
    atexit._run_exitfuncs()


def _forget_the_warm_process() -> None:
    """Drop what came from another user's environment, or would be the same in all kernels."""
    import numpy as np

    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    np.random.seed()  # noqa: NPY002 (students' code may use the global generator)
    tempfile.tempdir = None
    # Where `pip install` puts students' own packages; an isolated interpreter leaves it out.
    site.USER_BASE = site.USER_SITE = None
    if os.path.isdir(folder := site.getusersitepackages()):
        site.addsitedir(folder)
    sys.argv = ["ipykernel_launcher.py"]


def _end_with(connection: socket.socket) -> None:
    """End this kernel and its children as soon as the client has ended."""
    watch = select.poll()
    watch.register(connection, select.POLLRDHUP)
    watch.poll()
    os.killpg(0, signal.SIGKILL)
