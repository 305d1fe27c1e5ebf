"""Real kernels from a real warm process: alive after the fork, kept apart, ended in time."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from etgp_viz.hub import client
from etgp_viz.hub.warm import KERNELS_PER_USER

if sys.platform != "linux":
    pytest.skip("warm kernels need Linux", allow_module_level=True)

pytestmark = pytest.mark.slow
PATIENCE = 120
STRANGER = 20009


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def path(public_folder):
    """The socket of a warm process."""
    path = public_folder / "kernels.sock"
    with subprocess.Popen([sys.executable, "-I", "-m", "etgp_viz.hub.warm", str(path)]) as process:
        wait_until(path.exists)
        yield path
        process.terminate()


class Kernel:
    """A kernel as Jupyter starts it."""

    def __init__(self, path, **options):
        self.manager = KernelManager()
        self.manager._kernel_spec = KernelSpec(
            argv=[sys.executable, "-IS", client.__file__, str(path), "{connection_file}"]
        )
        self.manager.start_kernel(**options)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(PATIENCE)

    def __call__(self, code):
        """What a cell prints."""
        texts = []
        self.client.execute_interactive(
            code, output_hook=lambda m: texts.append(m["content"].get("text", "")), timeout=PATIENCE
        )
        return "".join(texts).strip()


@pytest.fixture
def start(path):
    kernels = []

    def start(path=path, **options):
        kernels.append(Kernel(path, **options))
        return kernels[-1]

    yield start
    for kernel in kernels:
        kernel.client.stop_channels()
        kernel.manager.shutdown_kernel(now=True)


def is_running(pid):
    with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


def test_tensorflow_trains_after_the_fork(start):
    kernel = start()
    assert kernel("import sys; print('tensorflow' in sys.modules, sys.flags.isolated)") == "True 1"
    assert kernel("from etgp_viz.cli.doctor import training; print(training().ok)") == "True"


def test_kernels_draw_different_random_numbers(start):
    code = """
import random
import numpy as np
from etgp_viz.backend import tf
print(random.random(), np.random.rand(), float(tf.random.normal([])))
"""
    first, second = (start()(code).split() for _ in range(2))
    assert len(first) == 3
    assert all(one != other for one, other in zip(first, second, strict=True))


def test_a_kernel_has_the_callers_folder_and_environment(start, tmp_path):
    hostile = {"LD_PRELOAD": "", "PYTHONPATH": "/evil", "BASH_ENV": "/evil"}
    environment = {**os.environ, **hostile, "HOME": str(tmp_path), "ETGP_VIZ_DATA": "/data"}
    kernel = start(cwd=str(tmp_path), env=environment)
    names = ("HOME", "ETGP_VIZ_DATA", *hostile)
    found = kernel(f"import os; print(os.getcwd(), *map(os.environ.get, {names}))")
    assert found.split() == [str(tmp_path), str(tmp_path), "/data", "None", "None", "None"]
    assert kernel("print(os.environ['CUDA_VISIBLE_DEVICES'])") == "-1"


def test_a_kernel_cannot_answer_for_the_warm_process(start):
    """The listening socket is closed in it."""
    code = """
import os, socket
for name in os.listdir("/proc/self/fd"):
    try:
        other = socket.socket(fileno=os.dup(int(name)))
    except OSError:
        continue
    with other:
        if other.family == socket.AF_UNIX:
            print(other.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
"""
    assert set(start()(code).split()) == {"0"}


def test_a_kernel_is_interrupted_restarted_and_ended(start):
    kernel = start()
    first = int(kernel("import os; print(os.getpid())"))
    kernel.client.execute("import time; time.sleep(60)")
    time.sleep(0.5)
    kernel.manager.interrupt_kernel()
    assert kernel.client.get_shell_msg(timeout=30)["content"]["ename"] == "KeyboardInterrupt"
    kernel.manager.restart_kernel()
    kernel.client.wait_for_ready(PATIENCE)
    second = int(kernel("import os; print(os.getpid())"))
    assert second != first
    assert not is_running(first)
    # Whatever ends the client, even at once, ends the kernel.
    os.kill(kernel.manager.provisioner.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(second))


def test_a_kernel_ends_with_the_server_that_started_it(path, tmp_path):
    spec = [sys.executable, "-IS", client.__file__, str(path), str(tmp_path / "kernel.json")]
    code = f"""
import os, subprocess, time
environment = {{**os.environ, "JPY_PARENT_PID": str(os.getpid())}}
subprocess.Popen({spec!r}, env=environment, start_new_session=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) as server:
        # A kernel writes the connection file if there is none.
        wait_until((tmp_path / "kernel.json").exists)
        processes = [pid for pid in os.listdir("/proc") if works_in(pid, tmp_path)]
        server.kill()
    assert len(processes) == 3  # the server, the client and the kernel
    wait_until(lambda: not any(map(is_running, processes)))


def works_in(pid, folder):
    """Whether a process has a folder as its working folder."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd") == str(folder)
    return False


def test_an_ordinary_kernel_starts_where_nobody_listens(start, tmp_path):
    kernel = start(path=tmp_path / "nobody.sock")
    assert kernel("import sys; print('tensorflow' in sys.modules)") == "False"


def test_silent_callers_and_greedy_ones_do_not_stop_the_others(path, start):
    with contextlib.ExitStack() as stack:
        for _ in range(KERNELS_PER_USER + 3):
            idle = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            idle.connect(str(path))  # and says nothing
        kernel = start()  # this user has too many: an ordinary kernel
        assert kernel("import sys; print(sys.flags.isolated)") == "0"
    wait_until(lambda: start()("import sys; print(sys.flags.isolated)") == "1")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_the_connection_file_of_somebody_else_stays_closed(path, public_folder):
    file = public_folder / "kernel.json"
    file.write_text(json.dumps({"key": "secret of root"}))
    file.chmod(0o600)
    code = (
        "import os, select, socket\n"
        f"exec(open({client.__file__!r}).read().rpartition('if __name__')[0])\n"
        f"os.chdir('/'); os.setgroups([]); os.setresgid(*[{STRANGER}] * 3)\n"
        f"os.setresuid(*[{STRANGER}] * 3)\n"
        "connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        f"pid = ask(connection, {str(path)!r}, {str(file)!r})\n"
        "owner = os.stat(f'/proc/{pid}').st_uid\n"
        "select.select([os.pidfd_open(pid)], [], [], 60)\n"
        "print('owner', owner)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    assert f"owner {STRANGER}" in done.stdout, done.stderr
    assert f"Permission denied: '{file}'" in done.stderr
    assert json.loads(file.read_text()) == {"key": "secret of root"}
