"""The processes that run on this machine, from /proc."""

from pathlib import Path

from setproctitle import setproctitle


def set_process_name(role: str) -> None:
    setproctitle(f"mirror: {role}")


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command(pid: int) -> str:
    """Return the command line of a process; empty if it has ended, even if not reaped yet."""
    try:
        shown = Path("/proc", str(pid), "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return shown.replace(b"\0", b" ").decode(errors="replace")
