"""What is written past Python, to the kernel's own file descriptors, is heard in its own block."""

from __future__ import annotations

import os

import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="ipykernel reads no pipe there")


@posix
@pytest.mark.kernel
@pytest.mark.ipykernel
def test_each_block_hears_its_own(frontend):
    blocks = [
        f"import os, subprocess\nos.write(1, b'{n} ')\n"
        f"subprocess.run(['echo', 'of {n}'])\nos.write(2, b'end {n}\\n');"
        for n in range(20)
    ]
    told = frontend.told(*blocks)
    for n, text in enumerate(told):
        assert sorted(text.split()) == sorted(f"{n} of {n} end {n}".split())
