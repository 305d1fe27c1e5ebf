"""Who is asking for a kernel, and how a forked process becomes a process of that user for good.

Everything about the caller comes from the operating system, nothing from what the caller sends.
The new process gets the caller's user, groups, control group, resource limits and mount
namespace: what a process that the caller starts would have, and never more.
"""

import ctypes
import fcntl
import os
import resource
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Caller", "Refused", "become", "open_to_owner"]

# Linux numbers that Python 3.11 has no names for.
SO_PEERGROUPS = 59
CLONE_NEWNS = 0x00020000
NS_GET_USERNS = 0xB701
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38

# A caller that does not share all of these is in a container, where only its own processes belong.
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
        raise Refused(f"this process serves only user {server}")
    _check_still_the_caller(caller)
    for name in SHARED_NAMESPACES:
        if _namespace("self", name) != _namespace(caller.pid, name):
            raise Refused(f"the caller is in another {name} namespace")
    _check_not_confined(caller)
    try:
        _join_control_group(caller.pid)
        if _namespace("self", "mnt") != _namespace(caller.pid, "mnt"):
            _join_mounts(caller.pid)
        if server == 0:
            _drop(caller)
        _lower_limits(caller.pid)
    except (OSError, ValueError) as error:
        problem = f"cannot take on the user and limits of process {caller.pid}"
        raise Refused(f"{problem}: {error}") from error
    # In the meantime, its process id may have passed to another process.
    _check_still_the_caller(caller)


def open_to_owner() -> None:
    """Let the user look into this process, which a change of user has prevented until now.

    Call it once nothing of the warm process is open: the user can take over the descriptors.
    """
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)


def _check_still_the_caller(caller: Caller) -> None:
    """Refuse a process id that now belongs to somebody else."""
    if set(_status(caller.pid)["Uid"]) != {str(caller.uid)}:
        raise Refused("the caller has changed its user")


def _check_not_confined(caller: Caller) -> None:
    """Refuse a caller with restrictions that cannot be taken over, or it would be rid of them."""
    own, theirs = _status("self"), _status(caller.pid)
    if any(own.get(name) != theirs.get(name) for name in ("Seccomp", "Seccomp_filters")):
        raise Refused("the caller has another filter of system calls (seccomp)")
    if caller.uid == 0 and own["CapEff"] != theirs["CapEff"]:
        raise Refused("the caller is root with other capabilities")


def _status(pid: int | str) -> dict[str, list[str]]:
    """Field → values of a process's status."""
    try:
        lines = [line.partition(":") for line in _lines(f"/proc/{pid}/status")]
    except OSError:
        raise Refused("the caller has ended") from None
    return {field: values.split() for field, _, values in lines}


def _lines(path: str) -> list[str]:
    """The lines of a file in /proc.

    Users choose the names of processes, control groups and mounts. Linux keeps newlines out of such
    names, but not the other characters that Python takes for the end of a line.
    """
    return os.fsdecode(Path(path).read_bytes()).split("\n")


def _namespace(pid: int | str, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{name}")
    except OSError as error:
        raise Refused(f"cannot read the {name} namespace of process {pid}: {error}") from None


def _join_control_group(pid: int) -> None:
    """Move this process to the control group of another, where its memory is limited."""
    own, wanted = (_lines(f"/proc/{who}/cgroup") for who in ("self", pid))
    if own == wanted:
        return
    # A line with "0::" belongs to version 2, the only one in which one group holds all limits.
    differing = set(own) ^ set(wanted)
    if not all(line.startswith("0::") for line in differing):
        raise Refused("the caller is in another control group of version 1")
    (group,) = (line.removeprefix("0::") for line in differing & set(wanted))
    mounts = [line.split(" ") for line in _lines("/proc/self/mounts")]
    root = next((fields[1] for fields in mounts if fields[2:3] == ["cgroup2"]), None)
    if root is None:
        raise Refused("control groups are not mounted")
    Path(root + group, "cgroup.procs").write_text(str(os.getpid()))


def _join_mounts(pid: int) -> None:
    """See the files that another process sees: systemd gives each student a private /tmp."""
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        # After the check of its user namespace, the caller may have moved to one of its own, where
        # it decides which files there are.
        owner = fcntl.ioctl(namespace, NS_GET_USERNS)
        is_ours = os.path.samestat(os.fstat(owner), os.stat("/proc/self/ns/user"))
        os.close(owner)
        if not is_ours:
            raise Refused("the caller has made its own mount namespace")
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
    """Give up all privileges but the caller's, and check that none can be taken back."""
    os.setgroups(caller.groups)
    os.setresgid(caller.gid, caller.gid, caller.gid)
    os.setresuid(caller.uid, caller.uid, caller.uid)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
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
