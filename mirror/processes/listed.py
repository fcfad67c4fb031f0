"""The processes of this machine, as Linux lists them in /proc."""

from pathlib import Path


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command(pid: int) -> str:
    """Return the command line a process shows; empty if it has ended, even if nobody has reaped it yet."""
    try:
        shown = Path("/proc", str(pid), "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return shown.replace(b"\0", b" ").decode(errors="replace")
