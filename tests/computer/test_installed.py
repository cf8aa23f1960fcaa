"""Languages of other packages: kernelspecs and entry points, sound and broken ones."""

from __future__ import annotations

import json
import sys
import textwrap

import pytest

from lmc_jupyter.computer import Computer, lookups
from lmc_jupyter.computer.installed import GROUP, InstalledLanguages
from lmc_jupyter.errors import UnknownLanguageError
from lmc_jupyter.lmc import Chunk


class Weak:
    """A language that keeps nothing, for which a kernel would be better."""

    name = "ruby"
    aliases = ("rb",)

    def run(self, code):
        yield Chunk("computer", "console", "output", "weak")

    def close(self): ...


@pytest.fixture
def kernelspecs(tmp_path, monkeypatch):
    """Install a kernelspec where only Jupyter of this test looks; its language and name."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))

    def install(name, language, text=None):
        folder = tmp_path / "kernels" / name
        folder.mkdir(parents=True)
        spec = {"argv": ["true"], "display_name": name, "language": language}
        (folder / "kernel.json").write_text(json.dumps(spec) if text is None else text)

    return install


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package with one entry point; its name in the group, and its code."""

    def install(point, code):
        module = f"pack_{point}"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(code))
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{point} = {module}:Own\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    monkeypatch.syspath_prepend(str(tmp_path))
    return install


OWN = """
from lmc_jupyter import Chunk

class Own:
    name = "sums"
    aliases = ("calc",)
    def run(self, code):
        yield Chunk("computer", "console", "output", str(eval(code)))
    def close(self): ...
"""


def test_a_kernel_of_a_language_that_there_is_not_is_one(kernelspecs):
    kernelspecs("julia-1.10", "Julia")
    computer = Computer(search=InstalledLanguages())
    assert computer.words()["julia"] == ("julia-1.10",)
    assert computer.languages["julia"] is computer.languages["julia"]
    assert computer.uses("JULIA", "1") == {"julia"}


def test_a_kernel_takes_the_place_of_what_gives_way_and_of_nothing_else(kernelspecs):
    kernelspecs("iruby", "ruby")
    kernelspecs("rb", "python")
    weak, strong = Weak(), Weak()
    computer, other = (
        Computer(search=InstalledLanguages()),
        Computer(strong, search=InstalledLanguages()),
    )
    computer.register(weak, gives_way=True)
    assert computer.languages["ruby"] is not weak
    assert set(computer.words()["ruby"]) == {"rb", "iruby"}
    assert other.languages["ruby"] is strong


def test_a_kernel_whose_name_means_another_language_takes_no_word_from_it(kernelspecs):
    kernelspecs("rb", "typescript")
    computer = Computer(Weak(), search=InstalledLanguages())
    assert computer.words()["typescript"] == ()
    assert computer.uses("rb", "1") == {"ruby"}


def test_a_kernel_that_is_installed_meanwhile_is_found(kernelspecs, monkeypatch):
    monkeypatch.setattr(lookups, "SECONDS", 0.0)
    computer = Computer(search=InstalledLanguages())
    with pytest.raises(UnknownLanguageError):
        computer.uses("julia", "1")
    kernelspecs("julia", "julia")
    assert computer.uses("julia", "1") == {"julia"}


@pytest.mark.parametrize("text", ["{", "[]", '{"argv": []}', '{"language": 7}'])
def test_a_kernelspec_that_is_none_is_passed_over(kernelspecs, text):
    kernelspecs("broken", "", text)
    kernelspecs("julia", "julia")
    assert "julia" in Computer(search=InstalledLanguages()).languages


def test_an_entry_point_is_a_language(package):
    package("sums", OWN)
    computer = Computer(search=InstalledLanguages())
    assert [piece.content for piece in computer.run("calc", "2380*3875")] == ["9222500"]
    assert computer.languages["sums"] is computer.languages["sums"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("Other = 1", "has no attribute 'Own'"),
        ("class Own:\n    name = 'sums'", "lacks aliases, run, close"),
        ("def Own():\n    raise ValueError('no key')", "ValueError: no key"),
    ],
)
def test_a_broken_entry_point_is_said_and_breaks_nothing_else(package, code, why):
    package("broken", code)
    package("sums", OWN)
    computer = Computer(Weak(), search=InstalledLanguages())
    with pytest.warns(RuntimeWarning, match="'broken'.*pack_broken") as warned:
        assert "sums" in computer.words()
    assert len(warned) == 1
    assert why in str(warned[0].message)
    assert why in computer.availability()["broken"].missing
    with pytest.raises(UnknownLanguageError, match="uninstall pack_broken"):
        computer.run("broken", "1")


@pytest.mark.parametrize("word", ["ruby", "RUBY"])
def test_an_entry_point_takes_nobodys_place_but_where_it_gives_way(package, word):
    package("sums", OWN.replace("sums", word))
    strong = Weak()
    computer, other = (
        Computer(strong, search=InstalledLanguages()),
        Computer(search=InstalledLanguages()),
    )
    with pytest.warns(RuntimeWarning, match="for ruby, which is there already"):
        assert computer.languages["ruby"] is strong
    other.register(Weak(), gives_way=True)
    assert type(other.languages["ruby"]).__name__ == "Own"


def test_an_entry_point_takes_no_word_of_another_language(package):
    package("sums", OWN.replace("calc", "rb"))
    strong = Weak()
    computer = Computer(strong, search=InstalledLanguages())
    assert set(computer.languages) >= {"ruby", "sums"}
    assert computer.canonical("rb") == "ruby"


def test_a_broken_entry_point_leaves_a_language_of_its_name_alone(package):
    package("ruby", "import nowhere_at_all")
    weak = Weak()
    computer = Computer(weak, search=InstalledLanguages())
    with pytest.warns(RuntimeWarning, match="ruby"):
        assert computer.languages["ruby"] is weak
