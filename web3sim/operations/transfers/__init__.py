"""The parts of a transfer: its body, its checks, its receivers, and what it moves."""
