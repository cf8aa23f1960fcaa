"""The files that a model may read: what was attached and what was named, and only so long."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from lmc_jupyter.context.readable import Readable


def test_nothing_may_be_read_before_a_person_says_so() -> None:
    found = Readable()
    assert (found.folders, found.files) == ((), ())


def test_the_private_folder_is_made_once_for_its_owner_and_goes_with_it() -> None:
    found = Readable()
    folder = found.folder
    assert folder.is_dir()
    assert found.folder == folder
    assert found.folders == (folder,)
    (folder / "a.txt").write_text("a")
    del found
    gc.collect()
    assert not folder.exists()


def test_a_file_that_is_named_may_be_read_where_it_really_is_until_it_is_forgotten(
    tmp_path: Path,
) -> None:
    found = Readable()
    real, link = tmp_path / "a.txt", tmp_path / "b.txt"
    real.write_text("a")
    link.symlink_to(real)
    assert found.allow(link) == real.resolve()
    found.allow(real)
    assert found.files == (real.resolve(),)
    with pytest.raises(FileNotFoundError):
        found.allow(tmp_path / "nobody.txt")
    folder = found.folder
    found.forget()
    assert found.files == ()
    assert found.folders == (folder,), "what is attached stays as long as the session"
