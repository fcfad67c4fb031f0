"""The processes that run on this machine."""

import psutil

try:
    from setproctitle import setproctitle
except ImportError:
    # It is not for systems on which a copy of a process may not set its title: macOS.
    setproctitle = None


def title(role: str) -> str | None:
    """Return the title that `ps` shows for a process of a role such as "web worker"; None if none can be set.

    It has no spaces: Python 3.12 and later count the threads of a process by the words of /proc/self/stat,
    which has the first 15 bytes of the title.
    """
    return f"mirror/{role.replace(' ', '-')}" if setproctitle else None


def set_process_name(role: str) -> None:
    if name := title(role):
        setproctitle(name)


def command(pid: int) -> str:
    """Return the command line of a process; empty if it has ended, even if not reaped yet."""
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def identity(pid: int) -> str | None:
    """Return a number for a process that no later one with the same pid has; None if it does not run."""
    try:
        process = psutil.Process(pid)
        # A hash of the pid and the time of its start, which does not move when the clock is set.
        return None if process.status() == psutil.STATUS_ZOMBIE else str(hash(process))
    except psutil.Error:
        return None
