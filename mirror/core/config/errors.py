"""The error that an operator can understand and cure."""


class OperatorError(Exception):
    """Ends a command with its message: what is wrong and what would be right, in a few plain sentences.

    `manage.py` prints it without a traceback and exits with `exit_code` (1 failed, 2 wrong use).
    """

    exit_code = 1
