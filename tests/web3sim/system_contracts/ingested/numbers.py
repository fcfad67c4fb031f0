"""Who and what is there for each case, by the numbers that cases use; each case has its own of all."""

#: People: the treasury of the tokens, two who hold some, one who is not associated, one who takes anything.
OWNER, HOLDER, OTHER, STRANGER, OPEN = 1001, 1002, 1003, 1004, 1005
#: A contract, which signs by its id.
CALLER = 1006
UNITS, SERIALS, PLAIN, FRESH = 5000, 5001, 5002, 5003
#: What a transaction creates, and a schedule that is there before.
NEW, SCHEDULE = 6001, 7001

NUMBERS = frozenset(
    {OWNER, HOLDER, OTHER, STRANGER, OPEN, CALLER, UNITS, SERIALS, PLAIN, FRESH, NEW, SCHEDULE}
)
#: Between the numbers of one case and the next.
DISTANCE = 10_000
