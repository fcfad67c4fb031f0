"""The parts of a transfer: what is asked for, its checks, its receivers, and what it moves."""
