"""The log."""

from mirror.core.config.setting import Setting

SETTINGS = (
    Setting("logging.format", "text", "How the lines of the log are written: for people, or as JSON for "
            "programs, an object for each line.", choices=("text", "json")),
    Setting("logging.level", "warning", "The log has events of this level and above; info adds a line for "
            "each file that is loaded.", choices=("debug", "info", "warning", "error", "critical")),
    Setting("logging.levels", (), "Levels of single loggers, which each line names, and of those below them: "
            "mirror.web=debug,ledger.ingest=info."),
    Setting("logging.access", False, "The log has a line for each request, at any level."),
    Setting("logging.slowRequest", "1s",
            "A request that takes longer, without the time it waits for its turn, has a line in the log with "
            "its statements and a plan; 0 turns that off.", unit="duration", low=0, high=3600),
)  # fmt: skip
