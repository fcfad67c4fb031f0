"""What goes wrong for a reason the operator can see and cure."""


class OperatorError(Exception):
    """Ends a command with its message, one or a few plain sentences: what is wrong, and what would be right.

    `manage.py` prints the message without a traceback and exits with `exit_code` (1 failed, 2 wrong use).
    """

    exit_code = 1
