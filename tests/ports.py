"""Ports of 127.0.0.1 for what tests start: no port is given twice while a run goes on."""

from __future__ import annotations

import random
import socket

_claims: list[socket.socket] = []
"""The UDP half of each port that this process gave: another process cannot bind it meanwhile."""

_drawn = random.SystemRandom()  # no seed of a test makes two processes draw the same


def free_port() -> int:
    """A port below those that a system gives to whoever asks for any, as kernels do.

    Between the look whether it is free and the program that takes it lie seconds on a busy
    machine. The tests that run beside this one see the claim and draw another.
    """
    while True:
        port = _drawn.randrange(15_000, 32_000)
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            claim.bind(("127.0.0.1", port))
            with socket.socket() as one:
                one.bind(("127.0.0.1", port))
        except OSError:  # somebody has it
            claim.close()
            continue
        _claims.append(claim)
        return port
