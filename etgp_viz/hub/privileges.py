"""Who asks for a kernel, and how a forked process becomes a process of that user for good.

Everything about the caller comes from the operating system, nothing from what the caller sends.
The new process gets the caller's user, groups, control group, resource limits and mount
namespace: what a process that the caller starts would have, and never more.
"""

import ctypes
import os
import re
import resource
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Caller", "Refused", "become"]

# Linux numbers that Python 3.11 has no names for.
SO_PEERGROUPS = 59
CLONE_NEWNS = 0x00020000
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38

# A caller in another of these lives in a container: only its own processes belong there.
SHARED_NAMESPACES = ("user", "pid", "net", "ipc", "uts")
LIMITS = tuple(
    getattr(resource, name)
    for name in dir(resource)
    if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"  # an alias
)


class Refused(Exception):  # noqa: N818 (an answer to the caller rather than a fault)
    """The caller does not get a kernel from here, and starts an ordinary one."""


@dataclass(frozen=True)
class Caller:
    """The process at the other end of a connection.

    Attributes
    ----------
    pid, uid, gid : as the kernel noted them when the connection was made
    groups : its supplementary groups
    """

    pid: int
    uid: int
    gid: int
    groups: tuple[int, ...]

    @classmethod
    def of(cls, connection: socket.socket) -> "Caller":
        """The caller of a UNIX socket's connection."""
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        packed = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, 1024)
        groups = struct.unpack(f"{len(packed) // 4}I", packed)
        pid, uid, gid = struct.unpack("iII", credentials)
        return cls(pid, uid, gid, groups)


def become(caller: Caller) -> None:
    """Turn this process, freshly forked and single-threaded, into one of the caller's.

    Raises `Refused` if that cannot be done in full. This process must end then.
    """
    server = os.geteuid()
    if server not in (0, caller.uid):
        raise Refused(f"this process serves user {server} alone")
    _check_still_the_caller(caller)
    for name in SHARED_NAMESPACES:
        if _namespace("self", name) != _namespace(caller.pid, name):
            raise Refused(f"another {name} namespace")
    try:
        _join_control_group(caller.pid)
        if _namespace("self", "mnt") != _namespace(caller.pid, "mnt"):
            _join_mounts(caller.pid)
        if server == 0:
            _drop(caller)
        _lower_limits(caller.pid)
    except (OSError, ValueError) as error:
        raise Refused(f"process {caller.pid} cannot be followed: {error}") from error
    # Its number may have passed to another process in the meantime.
    _check_still_the_caller(caller)


def _check_still_the_caller(caller: Caller) -> None:
    """Refuse a process id that now belongs to somebody else."""
    try:
        status = Path(f"/proc/{caller.pid}/status").read_text()
    except OSError:
        raise Refused("the caller has ended") from None
    users = re.search(r"^Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$", status, re.MULTILINE)
    if users is None or {int(user) for user in users.groups()} != {caller.uid}:
        raise Refused("the caller has changed its user")


def _namespace(pid: int | str, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{name}")
    except OSError as error:
        raise Refused(f"the {name} namespace of {pid} cannot be read: {error}") from None


def _join_control_group(pid: int) -> None:
    """Move this process to the control group of another, where its memory is limited."""
    own, wanted = (Path(f"/proc/{who}/cgroup").read_text().splitlines() for who in ("self", pid))
    if own == wanted:
        return
    # A line with "0::" belongs to version 2, the only one in which one group holds all limits.
    differing = set(own) ^ set(wanted)
    if not all(line.startswith("0::") for line in differing):
        raise Refused("another control group of version 1")
    (group,) = (line.removeprefix("0::") for line in differing & set(wanted))
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    root = next((line.split()[1] for line in mounts if line.split()[2] == "cgroup2"), None)
    if root is None:
        raise Refused("control groups are not mounted")
    Path(root + group, "cgroup.procs").write_text(str(os.getpid()))


def _join_mounts(pid: int) -> None:
    """See the files that another process sees: systemd gives each student an own /tmp."""
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", namespace, CLONE_NEWNS)
    finally:
        os.close(namespace)


def _lower_limits(pid: int) -> None:
    """Take over the resource limits of another process of the same user where they are lower."""
    for limit in LIMITS:
        pairs = zip(resource.getrlimit(limit), resource.prlimit(pid, limit), strict=True)
        soft, hard = (min(pair, key=_size) for pair in pairs)
        resource.setrlimit(limit, (soft, hard))


def _size(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def _drop(caller: Caller) -> None:
    """Give up all privileges for those of the caller, and check that no way leads back."""
    os.setgroups(caller.groups)
    os.setresgid(caller.gid, caller.gid, caller.gid)
    os.setresuid(caller.uid, caller.uid, caller.uid)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Changing the user hides a process from its owner. There is nothing to hide in it.
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
    if os.getresuid() != (caller.uid,) * 3 or os.getresgid() != (caller.gid,) * 3:
        raise Refused("the user could not be changed")
    if sorted(os.getgroups()) != sorted(caller.groups):
        raise Refused("the groups could not be changed")
    if caller.uid != 0:
        try:
            os.setresuid(0, 0, 0)
        except PermissionError:
            return
        raise Refused("privileges could be taken back")


def _call(function: str, *arguments: int) -> None:
    """Call a function of the C library that returns 0 for success."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
