"""Runs a real JupyterHub, from the recipe of ``etgp-viz class init``, with proxy and students."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from etgp_viz.course.classroom import HUB_FOLDER
from etgp_viz.hub.plan import Plan
from etgp_viz.hub.recipe import write_recipe
from tests.browser.lab import wait_until

STUDENTS = ("ann", "bob", "eve")
FIRST_USER = 20001  # numbers that belong to nobody on an ordinary machine
PASSWORD = "only for this test"

# What the test adds to the recipe: who may log in, and a spawner that needs no system accounts.
ADDED = """
import os
from pathlib import Path
from jupyterhub.spawner import SimpleLocalProcessSpawner

load_subconfig({recipe!r})
c = get_config()

class Student(SimpleLocalProcessSpawner):
    def make_preexec_fn(self, name):
        home = Path({homes!r}, name)
        user = {users!r}[name]
        def become():
            os.chdir(home)
            if user is not None:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
        return become

Student.home_dir_template = {homes!r} + "/{{username}}"
c.JupyterHub.spawner_class = Student
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.Authenticator.allowed_users = set({users!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}/etgp/"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.JupyterHub.db_url = "sqlite:///:memory:"
c.JupyterHub.cookie_secret_file = {secret!r}
c.ConfigurableHTTPProxy.pid_file = {proxy!r}
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
c.Spawner.args.append("--LabApp.expose_app_in_browser=True")
if {as_root}:
    c.Spawner.args.append("--allow-root")
"""


@dataclass(frozen=True)
class Hub:
    """A running hub: its address with the base URL, and where the students' homes are."""

    address: str
    homes: Path

    def notebooks(self, student: str) -> Path:
        """The folder with a student's notebooks."""
        return self.homes / student / HUB_FOLDER


def others_can_run_python() -> bool:
    """Whether students can be users of their own: it takes root, and a Python that all may read."""
    if os.geteuid() != 0:
        return False
    command = [sys.executable, "-I", "-c", "import etgp_viz.files, jupyterhub"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, user=FIRST_USER, group=FIRST_USER, extra_groups=(), check=True)
        return True
    return False


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Hub]:
    """A hub with the warm process behind it, from ``write_recipe`` to the login page."""
    folder.chmod(0o755)
    homes, run = folder / "homes", folder / "run"
    run.mkdir()
    sock = run / "kernels.sock"
    apart = others_can_run_python()
    users = {name: FIRST_USER + k if apart else None for k, name in enumerate(STUDENTS)}
    for name, user in users.items():
        (homes / name).mkdir(parents=True, mode=0o700)
        if user is not None:
            os.chown(homes / name, user, user)
    write_recipe(folder / "class", Plan(students=3, memory=8), sock)
    port, hub_port, api_port = _free_ports(3)
    config = folder / "hub_config.py"
    config.write_text(
        ADDED.format(
            recipe=str(folder / "class" / "jupyterhub_config.py"),
            homes=str(homes),
            users=users,
            password=PASSWORD,
            port=port,
            hub_port=hub_port,
            api_port=api_port,
            secret=str(folder / "cookie_secret"),
            proxy=str(folder / "proxy.pid"),
            as_root=not apart and os.geteuid() == 0,
        )
    )
    warm = [sys.executable, "-I", "-m", "etgp_viz.hub.warm", str(sock)]
    hub = [sys.executable, "-m", "jupyterhub", "-f", str(config)]
    with _running(warm, folder / "warm.log"), _running(hub, folder / "hub.log"):
        wait_until(lambda: _listens(port) and _listens(hub_port), "the hub")
        wait_until(sock.exists, "the warm process")
        yield Hub(f"http://127.0.0.1:{port}/etgp", homes)


@contextlib.contextmanager
def _running(command: list[str], log: Path) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(
            command, cwd=log.parent, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def missing() -> str | None:
    """What the test cannot do without and is not installed, with how to get it."""
    try:
        import jupyterhub  # noqa: F401
        import jupyterhub_idle_culler  # noqa: F401
    except ImportError:
        return "No jupyterhub: pip install jupyterhub jupyterhub-idle-culler"
    if not shutil.which("configurable-http-proxy"):
        return "No proxy for JupyterHub: npm install --global configurable-http-proxy"
    return None


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2):
        return True
    return False
