"""What is written past Python, to the kernel's own file descriptors, is heard in its own block."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import pytest

from lmc_jupyter.kernel import capture
from lmc_jupyter.kernel.capture import _Pipe

posix = pytest.mark.skipif(os.name != "posix", reason="ipykernel reads no pipe there")


class Reader:
    """As ipykernel reads: a thread takes text from a pipe, and then writes it to the stream."""

    def __init__(self) -> None:
        self._fid, self.into = os.pipe()
        self.taken, self.let_go = threading.Event(), threading.Event()
        self.heard: list[bytes] = []
        self.watch_fd_thread = threading.Thread(target=self._read, daemon=True)
        self.watch_fd_thread.start()

    def _read(self) -> None:
        while text := os.read(self._fid, 1000):
            self.taken.set()
            assert self.let_go.wait(60)
            self.heard.append(text)

    def close(self) -> None:
        self.let_go.set()
        os.close(self.into)
        self.watch_fd_thread.join()
        os.close(self._fid)


@pytest.fixture
def reader():
    reader = Reader()
    yield reader
    reader.close()


def until_quiet(pipe: _Pipe) -> None:
    quiet = threading.Event()
    while not pipe.is_quiet(full=False):
        quiet.wait(0.001)


@posix
def test_text_that_is_taken_but_not_written_yet_is_waited_for(reader):
    if capture._is_at(threading.current_thread(), 0) is None:
        pytest.skip("this system does not tell where a thread waits")
    pipe = _Pipe(reader)
    until_quiet(pipe)  # its thread has begun to read
    os.write(reader.into, b"text")
    assert reader.taken.wait(60)
    assert [pipe.is_quiet(full=False) for _ in range(3)] == [False] * 3
    reader.let_go.set()
    until_quiet(pipe)
    assert reader.heard == [b"text"]


def test_where_nobody_can_tell_it_is_asked_twice(monkeypatch):
    monkeypatch.setattr(capture, "_is_at", lambda *_: None)
    pipe = _Pipe(SimpleNamespace(_fid=0))
    asked = [pipe.is_quiet(full) for full in (False, True, False, False)]
    assert asked == [False, False, False, True]


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
