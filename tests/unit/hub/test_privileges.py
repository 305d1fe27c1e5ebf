"""A forked process becomes the caller for good, and nothing that a caller sends changes that."""

import ctypes
import json
import os
import resource
import socket
import sys
import time
import traceback

import pytest

from etgp_viz.hub import kernel, privileges
from etgp_viz.hub.client import REQUEST_LIMIT, ask
from etgp_viz.hub.privileges import Caller, Refused, become

if sys.platform != "linux":
    pytest.skip("warm kernels need Linux", allow_module_level=True)

PRIVATE, RECURSIVE = 1 << 18, 1 << 14  # of a mount
USER, GROUP, EXTRA = 20001, 20002, 20003
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")


def in_child(work, user=None):
    """Run a function in a forked process, as a user if one is given; return what it returns."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if user is not None:
                os.setgroups([EXTRA])
                os.setresgid(GROUP, GROUP, GROUP)
                os.setresuid(user, user, user)
            answer = work()
        except BaseException:
            answer = traceback.format_exc()
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = json.load(pipe)
    os.waitpid(child, 0)
    return answer


@pytest.fixture
def student():
    """A process of another user, which waits."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.setgroups([EXTRA])
        os.setresgid(GROUP, GROUP, GROUP)
        os.setresuid(USER, USER, USER)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    while f"Uid:\t{USER}\t" not in status(child):
        time.sleep(0.01)
    yield Caller(child, USER, GROUP, (EXTRA,))
    os.close(writing)
    os.waitpid(child, 0)


def status(pid="self"):
    with open(f"/proc/{pid}/status") as file:
        return file.read()


@as_root
def test_the_operating_system_says_who_calls(public_folder):
    path = str(public_folder / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen()

        def call():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                connection.connect(path)
            return os.getpid()

        pid = in_child(call, USER)
        connection, _ = listener.accept()
        with connection:
            assert Caller.of(connection) == Caller(pid, USER, GROUP, (EXTRA,))


@as_root
def test_a_process_becomes_the_caller_and_cannot_come_back(student, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of root")
    secret.chmod(0o600)

    def work():
        become(student)
        refused = []
        for attempt in (
            lambda: os.setresuid(0, 0, 0),
            lambda: os.setuid(0),
            lambda: os.setgroups([0]),
            lambda: os.setresgid(0, 0, 0),
            lambda: secret.read_text(),
            lambda: os.kill(os.getppid(), 0),
            lambda: os.chroot("/"),
        ):
            try:
                attempt()
                refused.append(False)
            except PermissionError:
                refused.append(True)
        return [os.getresuid(), os.getresgid(), os.getgroups(), refused, status()]

    users, groups, extra, refused, lines = in_child(work)
    assert (users, groups, extra) == ([USER] * 3, [GROUP] * 3, [EXTRA])
    assert all(refused)
    found = dict(line.split(":\t") for line in lines.splitlines())
    assert int(found["CapEff"], 16) == int(found["CapPrm"], 16) == 0
    assert found["NoNewPrivs"] == "1"


@as_root
def test_limits_of_the_caller_hold(student):
    def work():
        os.setresgid(GROUP, GROUP, GROUP)
        os.setresuid(USER, USER, USER)
        resource.prlimit(student.pid, resource.RLIMIT_DATA, (2**30, 2**30))

    assert in_child(work) is None

    def limit():
        become(student)
        return resource.getrlimit(resource.RLIMIT_DATA)

    assert in_child(limit) == [2**30, 2**30]


@as_root
def test_a_process_number_that_belongs_to_somebody_else_is_refused(student):
    forged = Caller(os.getpid(), USER, GROUP, ())  # this process belongs to root

    def work():
        try:
            become(forged)
        except Refused as refusal:
            return str(refusal)

    assert in_child(work) == "the caller has changed its user"


@as_root
def test_a_process_without_privileges_serves_its_own_user_alone(student):
    def work():
        try:
            become(Caller(student.pid, USER + 1, GROUP, ()))
        except Refused as refusal:
            return str(refusal)

    assert in_child(work, USER) == f"this process serves only user {USER}"


@as_root
def test_another_control_group_is_joined_or_refused(student, monkeypatch):
    lines = {"self": b"4:memory:/system\n0::/\n", str(student.pid): b"4:memory:/student\n0::/\n"}
    read_bytes = privileges.Path.read_bytes

    def read(path):
        return lines[path.parts[2]] if path.name == "cgroup" else read_bytes(path)

    monkeypatch.setattr(privileges.Path, "read_bytes", read)

    def work():
        try:
            become(student)
        except Refused as refusal:
            return str(refusal)

    assert in_child(work) == "the caller is in another control group of version 1"


@as_root
def test_the_callers_mounts_and_control_group_are_joined(public_folder):
    """As under systemd, where a student has a private /tmp and a memory limit."""
    private, groups = public_folder / "tmp", public_folder / "groups"
    private.mkdir()
    groups.mkdir()

    def work():
        library = ctypes.CDLL(None)
        library.unshare(privileges.CLONE_NEWNS)
        library.mount(None, b"/", None, PRIVATE | RECURSIVE, None)
        if library.mount(b"none", bytes(groups), b"cgroup2", 0, None) != 0:
            return "no control groups"
        group = groups / f"etgp-test-{os.getpid()}"
        group.mkdir()
        ready, reading = os.pipe(), os.pipe()
        student = os.fork()
        if student == 0:
            os.close(reading[1])
            library.unshare(privileges.CLONE_NEWNS)
            library.mount(b"none", bytes(private), b"tmpfs", 0, None)
            (private / "note").write_text("of the student")
            (group / "cgroup.procs").write_text(str(os.getpid()))
            os.setgroups([EXTRA])
            os.setresgid(GROUP, GROUP, GROUP)
            os.setresuid(USER, USER, USER)
            os.write(ready[1], b".")
            os.read(reading[0], 1)
            os._exit(0)
        os.close(reading[0])
        os.read(ready[0], 1)

        def look():
            become(Caller(student, USER, GROUP, (EXTRA,)))
            lines = privileges.Path("/proc/self/cgroup").read_text().splitlines()
            return [(private / "note").read_text(), lines[-1].endswith(f"/{group.name}")]

        seen = in_child(look)
        os.close(reading[1])
        os.waitpid(student, 0)
        group.rmdir()
        return seen

    seen = in_child(work)
    if seen == "no control groups":
        pytest.skip("control groups of version 2 cannot be mounted here")
    assert seen == ["of the student", True]
    assert not (private / "note").exists()


@as_root
def test_a_mount_namespace_that_the_caller_made_is_refused():
    """Also if the caller makes it after its user namespace was compared."""
    ready, reading = os.pipe(), os.pipe()
    student = os.fork()
    if student == 0:
        os.close(reading[1])
        os.setresgid(GROUP, GROUP, GROUP)
        os.setresuid(USER, USER, USER)
        library = ctypes.CDLL(None)
        made = library.unshare(privileges.CLONE_NEWNS | 0x10000000) == 0  # and a user namespace
        os.write(ready[1], b"y" if made else b"n")
        os.read(reading[0], 1)
        os._exit(0)
    os.close(reading[0])
    made = os.read(ready[0], 1) == b"y"

    def work():
        try:
            privileges._join_mounts(student)
        except Refused as refusal:
            return str(refusal)

    answer = in_child(work)
    for descriptor in (*ready, reading[1]):
        os.close(descriptor)
    os.waitpid(student, 0)
    if not made:
        pytest.skip("users cannot make namespaces here")
    assert answer == "the caller has made its own mount namespace"


@as_root
def test_a_caller_under_a_filter_of_system_calls_is_refused(student, monkeypatch):
    read_status = privileges._status

    def status_with_filter(pid):
        return read_status(pid) | ({} if pid == "self" else {"Seccomp": ["2"]})

    monkeypatch.setattr(privileges, "_status", status_with_filter)

    def work():
        try:
            become(student)
        except Refused as refusal:
            return str(refusal)

    assert "seccomp" in in_child(work)


def test_a_process_cannot_forge_its_status_with_its_name():
    def work():
        ctypes.CDLL(None).prctl(15, b"\rUid:\t7\t7\t7\t7", 0, 0, 0)  # PR_SET_NAME
        return privileges._status("self")["Uid"]

    assert in_child(work) == [str(os.getuid())] * 4


def pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


GOOD = {"connection_file": "/f.json", "folder": "/", "environment": {"HOME": "/"}, "umask": 0o77}


def receive(message, streams=3):
    """What `kernel.receive` makes of a message, in a process whose streams may be replaced."""
    ours, theirs = pair()
    with ours, theirs, open(os.devnull) as null:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
        if streams:
            socket.send_fds(theirs, [message], [null.fileno()] * streams)
        else:
            theirs.send(message)

        def work():
            try:
                return kernel.receive(ours)
            except Refused as refusal:
                return str(refusal)

        return in_child(work)


def test_a_silent_caller_is_refused(monkeypatch):
    monkeypatch.setattr(kernel, "PATIENCE", 0.01)
    ours, theirs = pair()
    with ours, theirs, pytest.raises(Refused, match="no request"):
        kernel.receive(ours)


@as_root
def test_a_user_cannot_take_the_streams_of_the_warm_process(student):
    """They are open until the request brings others; only then may the user look inside."""

    def owner():
        return os.stat("/proc/self/fd").st_uid

    def work():
        become(student)
        before = owner()
        privileges.open_to_owner()
        return [before, owner()]

    assert in_child(work) == [0, USER]


def test_a_request_is_read():
    assert receive(json.dumps(GOOD).encode()) == GOOD


@pytest.mark.parametrize(
    "message",
    [
        b"not JSON",
        b"[]",
        b"\xff",
        b"[" * 20000,
        json.dumps({}).encode(),
        json.dumps({**GOOD, "folder": 1}).encode(),
        json.dumps({**GOOD, "folder": "/\0etc"}).encode(),
        json.dumps({**GOOD, "environment": {"HOME": ["/"]}}).encode(),
        json.dumps({**GOOD, "umask": "0"}).encode(),
    ],
    ids=range(9),
)
def test_anything_else_is_refused(message):
    assert receive(message) == "not a request for a kernel"


def test_an_oversized_request_is_refused():
    assert "expected at most" in receive(json.dumps(GOOD).encode().ljust(REQUEST_LIMIT + 1))


@pytest.mark.parametrize("streams", [0, 2, 9])
def test_a_request_brings_three_streams(streams):
    assert "three streams" in receive(json.dumps(GOOD).encode(), streams)


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "XHOME", "HOME\n"],
)
def test_what_a_loader_acts_on_is_left_out_of_the_environment(name):
    assert kernel.safe_environment({name: "x", "HOME": "/home/ann"}) == {"HOME": "/home/ann"}


@as_root
def test_a_client_trusts_only_root_and_its_own_user(public_folder):
    folder = public_folder / "of_a_student"
    folder.mkdir()
    os.chown(folder, USER, GROUP)
    path = str(folder / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:

        def listen():
            listener.bind(path)
            listener.listen()

        def call():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                try:
                    ask(connection, path, "f.json")
                except ValueError as error:
                    return str(error)

        # The listener remembers who made it listen: a user who is neither root nor the caller.
        assert in_child(listen, USER) is None
        os.chmod(path, 0o666)
        assert in_child(call, USER + 1) == f"{path} belongs to user {USER}"
