"""The second forms of statements, for tables that are distributed over several machines.

A function here has the name of that whose statement it replaces, which calls it where tables are distributed.
The rules are the same everywhere: keys first, with the column that tables are distributed by, and rows by
these keys second; joins and sub-selects only of rows that are together on one machine.
"""
