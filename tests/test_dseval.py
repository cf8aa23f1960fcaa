"""DSEval's problems: only the code that was measured, and what a model sees of a cell that failed.
Its own solutions go through the whole by `make bench-dseval BENCH_ARGS=--check`, where it is."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import bench_dseval
import dseval_cells

CODE = "a = [\n    1,\n]\n\nb = a[3]\n\nb\n"
TEMPORARY = "0123456789abcdef0123456789abcdef"


def test_another_dseval_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="There is no DSEval"):
        bench_dseval.home(tmp_path)
    (tmp_path / "dseval").mkdir()
    (tmp_path / "dseval" / "match.py").write_text("def match(): return True\n")
    with pytest.raises(SystemExit, match="SHA-256"):
        bench_dseval.home(tmp_path)


def test_every_name_and_content_counts(tmp_path):
    (tmp_path / "dseval").mkdir()
    file = tmp_path / "dseval" / "match.py"
    seen = set()
    for content in ("a", "b"):
        file.write_text(content)
        seen.add(bench_dseval.digest(tmp_path))
    file.rename(file.with_name("other.py"))
    seen.add(bench_dseval.digest(tmp_path))
    assert len(seen) == 3


def test_only_what_is_used_is_unpacked(tmp_path):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name in ("d-1/dseval/match.py", "d-1/benchmarks/so/a.py", "d-1/setup.cfg", "../b.py"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"1"))
    place = tmp_path / "place"
    bench_dseval._unpack(data.getvalue(), place)
    found = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")]
    assert sorted(found) == ["place/benchmarks/so/a.py", "place/dseval/match.py"]


@pytest.mark.parametrize(
    ("traceback", "line"),
    [
        (f'File "/tmp/x/submission-{TEMPORARY}.py", line 2, in <module>', 5),
        (f'File "/tmp/x/submission-last-line-{TEMPORARY}.py", line 1, in <module>', 7),
    ],
)
def test_the_line_that_failed_is_one_of_the_cell(traceback, line):
    assert dseval_cells._line(CODE, traceback) == f'  File "<cell>", line {line}\n'


@pytest.mark.parametrize(("code", "traceback"), [(CODE, "no file"), ("a = (", "line 1"), ("", "")])
def test_no_line_is_made_up(code, traceback):
    assert dseval_cells._line(code, traceback) == ""
