"""R: state, plots, errors, and that it can always be stopped; by R itself and by IRkernel."""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from PIL import Image
from stopping import stopped_after

from lmc_jupyter.computer.languages import subkernel
from lmc_jupyter.computer.languages.r import PlainR, R
from lmc_jupyter.computer.process import framed
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.errors import ComputerError

pytestmark = pytest.mark.skipif(
    os.name != "posix" or shutil.which("R") is None, reason="there is no R to test with"
)
with_irkernel = pytest.mark.skipif(
    subkernel.kernelspec_for("r") is None, reason="there is no IRkernel to test with"
)


@pytest.fixture
def patience():
    return Patience(polite=60.0)  # only what fails waits so long


@pytest.fixture
def r(patience):
    it = PlainR(patience)
    yield it
    it.close()


@pytest.fixture(scope="module")
def kept():
    """An R for tests that leave nothing behind."""
    it = PlainR(Patience(polite=60.0))
    yield it
    it.close()


def pieces(language, code):
    return [piece for piece in language.run(code) if piece.format != "active_line"]


def said(language, code):
    return "".join(piece.content for piece in pieces(language, code) if piece.type == "console")


def images(language, code):
    """The size of every image, in pixels."""
    found = [piece for piece in pieces(language, code) if piece.type == "image"]
    assert {piece.format for piece in found} <= {"base64.png"}
    return [Image.open(io.BytesIO(base64.b64decode(piece.content))).size for piece in found]


# State and output ---------------------------------------------------------------------------------


def test_variables_functions_and_the_directory_are_kept(r, tmp_path):
    assert said(r, f"x <- 5; f <- function(y) x + y; setwd('{tmp_path}')") == ""
    assert said(r, "f(1)\nbasename(getwd())") == f'[1] 6\n[1] "{tmp_path.name}"\n'
    assert "with status 4;" in said(r, "q('no', status = 4)")
    assert said(r, "exists('x'); basename(getwd())") == f'[1] FALSE\n[1] "{tmp_path.name}"\n'


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("1 + 1", "[1] 2\n"),
        ("invisible(1)", ""),
        ("y <- 3", ""),
        ("NULL", "NULL\n"),
        ("# a comment", ""),
        ("", ""),
        ('"é日🎉"', '[1] "é日🎉"\n'),
        ('cat("é日🎉\\n")', "é日🎉\n"),
        ('cat("é", fill = TRUE); message("mé")', "é\nmé\n"),
        ("print(function(x) x + 1)", "function(x) x + 1\n"),
        ('data.frame(a = 1:2, b = c("é", "日本"))', "  a    b\n1 1    é\n2 2 日本\n"),
        ('setClass("P", representation(n = "numeric")); new("P", n = 3)',
         'An object of class "P"\nSlot "n":\n[1] 3\n\n'),
        ('structure(1, class = "own")', '[1] 1\nattr(,"class")\n[1] "own"\n'),
        ('system("cat; echo out; echo err >&2")', "out\nerr\n"),
        ('system("echo a", intern = TRUE)', '[1] "a"\n'),
        ('system2("echo", "b")', "b\n"),
    ],
)  # fmt: skip
def test_what_is_printed(kept, code, shown):
    assert said(kept, code) == shown


def test_output_comes_while_the_code_runs(r):
    running = r.run('cat("one\\n"); Sys.sleep(600)')
    assert next(piece for piece in running if piece.format == "output").content == "one\n"
    running.close()


def test_the_line_that_runs_is_told(kept):
    code = "x <- 1\n\ny <- {\n  2\n}\nfor (i in 1:3) {\n  i\n}\nx"
    got = [piece.content for piece in kept.run(code) if piece.format == "active_line"]
    assert got[-1] == 9
    assert set(got) <= {1, 3, 6, 9}
    running = kept.run("x <- 1\nSys.sleep(600)")
    assert next(piece for piece in running if piece.content == 2).format == "active_line"
    running.close()


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ('readline("name? ")', 'name? \n[1] ""\n'),
        ("scan(quiet = TRUE)", "numeric(0)\n"),
        ('readLines("stdin")', "character(0)\n"),
        (
            'browser(); "behind"',
            '[browser() does nothing here: nobody is at a keyboard]\n[1] "behind"\n',
        ),
    ],
)
def test_a_block_has_no_keyboard_and_does_not_wait_for_one(kept, code, shown):
    for _ in range(2):
        assert said(kept, code) == shown


def test_code_may_have_any_size_and_quotes(kept):
    big = "é" * 500_000
    assert said(kept, f"nchar('{big}\"')") == "[1] 500001\n"


def test_a_nul_character_is_refused(kept):
    with pytest.raises(ComputerError, match="NUL"):
        next(kept.run("1\0"))


def test_a_flood_is_bounded(kept):
    text = said(kept, 'for (i in 1:50000) cat(strrep("x", 99), "\\n"); cat("the end")')
    assert len(text) < 1_200_000
    assert "characters were shown and not saved" in text
    assert text.endswith("the end")


def test_a_locale_that_knows_no_letters_does_not_matter(monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    it = PlainR()
    try:
        assert said(it, '"é日"') == '[1] "é日"\n'
    finally:
        it.close()


def test_output_that_the_code_sends_elsewhere_hides_nothing_of_ours(r, tmp_path):
    assert said(r, f"sink('{tmp_path}/sunk'); cat('sunk')") == ""
    assert said(r, "stop('seen')") == "Error: seen\n    at line 1\n"
    assert images(r, "plot(1)") == [(700, 500)]
    assert said(r, "sink(); cat('back')") == "back"
    assert (tmp_path / "sunk").read_text() == "sunk"


def test_code_that_closes_our_connections_too_ends_nothing(r):
    assert said(r, "x <- 1; closeAllConnections(); cat('a')") == "a"
    assert said(r, "x") == "[1] 1\n"


# Plots and pages ----------------------------------------------------------------------------------


def test_every_page_is_an_image_where_it_was_drawn(r):
    got = pieces(r, "plot(1:3); lines(3:1)\nplot(2:4)\ncat('between\\n')\nhist(c(1, 2, 2))")
    assert [piece.type for piece in got] == ["image", "console", "image", "image"]


def test_a_plot_has_the_size_that_was_asked_for(r):
    assert images(r, "plot(1)") == [(700, 500)]
    code = "options(repr.plot.width = 4, repr.plot.height = 2); plot(1)"
    assert images(r, code) == [(400, 200)]


def test_what_was_drawn_before_an_error_or_a_stop_is_shown(r):
    assert len(images(r, "plot(1); stop('x')")) == 1
    text, told = stopped_after(r, "plot(1); cat('on'); Sys.sleep(600)")
    assert told
    assert base64.b64encode(b"\x89PNG\r\n").decode()[:8] in text


def test_a_device_of_the_codes_own_stays_its_own(r, tmp_path):
    file = tmp_path / "own.png"
    assert images(r, f"png('{file}'); plot(1)") == []
    assert images(r, "dev.off()") == []
    assert file.stat().st_size > 0


def test_plots_need_no_folder_that_the_code_may_remove(r):
    assert images(r, "unlink(tempdir(), recursive = TRUE); plot(1)") == [(700, 500)]


def test_closing_leaves_no_folder_behind(r, monkeypatch):
    monkeypatch.setattr(framed, "_LEAVE_SECONDS", 60.0)
    folder = Path(said(r, "cat(tempdir())"))
    assert folder.is_dir()
    r.close()
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["pipe", "large"])
def test_a_page_that_would_never_end_is_said_and_not_read(r, tmp_path, monkeypatch, kind):
    page = tmp_path / "index.html"
    if kind == "pipe":
        os.mkfifo(page)
    else:
        monkeypatch.setattr(framed, "MAX_FRAME", 1000)
        page.write_text("x" * 1001)
    (said,) = pieces(r, f"getOption('viewer')('{page}')")
    why = {"pipe": "no plain file", "large": "larger than 1,000 bytes"}[kind]
    assert "index.html was to be shown and cannot be read" in said.content
    assert why in said.content


def test_what_a_page_links_is_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr(framed, "MAX_FRAME", 100)
    (tmp_path / "a.js").write_text("x" * 30)
    (tmp_path / "index.html").write_text("<script src='a.js'></script>" * 3)
    assert framed.page(tmp_path / "index.html").count("x" * 30) == 0
    monkeypatch.setattr(framed, "MAX_FRAME", 150)
    assert framed.page(tmp_path / "index.html").count("x" * 30) == 2


def test_html_is_for_the_person_as_a_page(r, tmp_path):
    (tmp_path / "a.js").write_text("let a = 1")
    (tmp_path / "index.html").write_text("<script src='a.js'></script><b>bold</b>")
    (got,) = pieces(r, f"getOption('viewer')('{tmp_path}/index.html')")
    assert (got.type, got.format) == ("code", "html")
    assert got.content == "<script>let a = 1</script><b>bold</b>"
    (got,) = pieces(r, "display_html(c('<i>', 'x</i>'))")
    assert got.content == "<i>\nx</i>"
    (got,) = pieces(r, "structure('<u>x</u>', class = c('html', 'character'), html = TRUE)")
    assert got.content == "<u>x</u>"


# Errors -------------------------------------------------------------------------------------------

ERRORS = [
    ("stop('top')", "Error: top\n    at line 1\n"),
    (
        "f <- function(x) {\n  stop('deep')\n}\ng <- function() f(1)\n\ng()",
        "Error in f(1): deep\n    at line 2\n    at line 4\n    at line 6\n",
    ),
    ("x <- (\n1 +* 2", "Error: line 2:4: unexpected '*'\n1: x <- (\n2: 1 +*\n      ^\n"),
    ("cat('open'); stop('x')", "open\nError: x\n    at line 1\n"),
    ("stop('a \"b\" \\\\ \\t é')", 'Error: a "b" \\ \t é\n    at line 1\n'),
    ("library(notthere)",
     "Error in library(notthere): there is no package called 'notthere'\n    at line 1\n"),
    ("stop(structure(class = c('my', 'error', 'condition'), list(message = 'own', call = NULL)))",
     "Error: own\n    at line 1\n"),
    ("warning('w'); 1", "Warning: w\n[1] 1\n"),
    ("f <- function() warning('w'); f()", "Warning in f(): w\n"),
    ("as.integer('a')", "Warning: NAs introduced by coercion\n[1] NA\n"),
    ("suppressWarnings(as.integer('a'))", "[1] NA\n"),
    ("tryCatch(as.integer('a'), warning = function(w) 'caught')", '[1] "caught"\n'),
    ("tryCatch(stop('a'), error = function(e) cat('caught\\n'), finally = cat('last\\n'))",
     "caught\nlast\n"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text"), ERRORS)
def test_errors_and_warnings_are_short_and_tell_their_lines(kept, code, text):
    assert said(kept, code) == text


def test_warnings_may_be_made_errors(r):
    text = said(r, "options(warn = 2); as.integer('a')")
    assert text.startswith("Error: (converted from warning) NAs introduced by coercion\n")
    assert said(r, "options(warn = -1); as.integer('a')") == "[1] NA\n"


def test_endless_recursion_is_an_error(kept):
    assert said(kept, "f <- function() f(); f()").startswith("Error")
    assert said(kept, "1") == "[1] 1\n"


# Stop ---------------------------------------------------------------------------------------------

CASES = [
    "cat('on'); Sys.sleep(600); cat('NOT')",
    "cat('on'); repeat {}",
    "repeat cat('on\\n')",
    "cat('on'); system('sleep 600'); cat('NOT')",
    "cat('on'); repeat system('sleep 600')",
    "cat('on'); f <- function() { system2('sleep', '600'); cat('NOT') }; f()",
    "cat('on'); while (TRUE) try(stop('x'), silent = TRUE)",
    "cat('on'); x <- sapply(1:1e9, function(i) i)",
    "cat('on'); parallel::mclapply(1:2, function(i) Sys.sleep(600), mc.cores = 2); cat('NOT')",
    "cat('on'); tryCatch(Sys.sleep(600), error = function(e) cat('NOT'), finally = cat(''))",
    "cat('on'); x <- numeric(); repeat x <- sort(runif(1e5))",
]


@pytest.mark.parametrize("code", CASES)
def test_everything_can_be_stopped_and_the_state_is_kept(kept, code):
    said(kept, "state <- 'yes'")
    text, told = stopped_after(kept, code)
    assert told
    assert "NOT" not in text
    assert said(kept, "state") == '[1] "yes"\n'


def test_many_stops_at_any_moment_leave_r_in_step(r):
    for number in range(40):
        stopped_after(r, "cat('on'); for (i in 1:20000) i")
        assert said(r, f"{number} + 0.5") == f"[1] {number}.5\n"


@pytest.mark.long
@pytest.mark.parametrize("patience", [Patience(polite=0.3)])
def test_an_r_that_hears_no_interrupts_is_ended_and_that_is_said(r):
    said(r, "x <- 1")
    code = "suspendInterrupts({ cat('on'); repeat {} })"
    text, told = stopped_after(r, code)
    assert told
    assert "[R did not react to Stop and was killed: its variables are lost]" in text
    assert said(r, "exists('x')") == "[1] FALSE\n"


# Ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("q()", "[R ended with status 0; its variables are lost"),
        ("f <- function() quit('no', status = 3); f()", "[R ended with status 3; "),
        ("tools::pskill(Sys.getpid(), 9)", "[R was ended by signal 9; "),
    ],
)
def test_the_end_of_r_is_said_and_the_next_block_starts_a_new_one(r, code, how):
    text = said(r, f"x <- 1; cat('last words\\n'); {code}")
    assert text.startswith("last words\n")
    assert how in text
    assert said(r, "exists('x')") == "[1] FALSE\n"


def test_the_token_is_where_no_program_looks(kept):
    code = """
seen <- c(commandArgs(), Sys.getenv(), unlist(options(), use.names = FALSE))
seen <- c(seen, ls(globalenv(), all.names = TRUE))
if (file.exists("/proc/self/environ")) {
  seen <- c(seen, readLines("/proc/self/environ", warn = FALSE, skipNul = TRUE))
}
any(grepl("^[0-9a-f]{32}$", as.character(seen)))
"""
    assert said(kept, code) == "[1] FALSE\n"


PARENT = """
from lmc_jupyter.computer.languages.r import PlainR
language = PlainR()
for code in ("system('sleep 600 & echo pids $PPID $!')", "cat('busy\\\\n'); repeat {}"):
    for piece in language.run(code): print(piece.content, end="", flush=True)
"""


@pytest.mark.long
def test_after_the_end_of_the_process_nothing_is_left():
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    lines = iter(process.stdout.readline, "")
    words = next(line.partition("pids")[2].split() for line in lines if "pids" in line)
    started = [psutil.Process(int(word)) for word in words]
    assert next(line for line in lines if "busy" in line)
    with process:
        process.kill()
    assert psutil.wait_procs(started, timeout=60)[1] == []


# Which R ------------------------------------------------------------------------------------------


def test_without_any_r_what_to_install_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    it = R(kernel=False)
    assert "r-project.org" in it.availability().missing
    with pytest.raises(ComputerError, match=r"r-project\.org"):
        list(it.run("1"))


def test_r_itself_is_used_where_there_is_no_irkernel(monkeypatch):
    monkeypatch.setattr(subkernel, "kernelspec_for", lambda language: None)
    it = R()
    try:
        assert it.availability().how == "R"
        assert said(it, "1") == "[1] 1\n"
    finally:
        it.close()
    only = R(kernel=True)
    assert "kernel" in only.availability().missing
    with pytest.raises(ComputerError):
        list(only.run("1"))


@with_irkernel
def test_irkernel_is_used_where_there_is_one():
    it = R()
    try:
        assert "IRkernel" in it.availability().how
        assert said(it, "x <- 5; x") == "[1] 5\n"
        assert len(images(it, "plot(1)")) == 1
        assert said(it, "x; 'IRkernel' %in% loadedNamespaces()") == "[1] 5\n[1] TRUE\n"
        _, told = stopped_after(it, "cat('on'); flush.console(); Sys.sleep(600)")
        assert told
        assert said(it, "x") == "[1] 5\n"
    finally:
        it.close()


def test_an_irkernel_that_does_not_start_gives_way_to_r_itself_and_that_is_said(
    tmp_path, monkeypatch
):
    spec = tmp_path / "kernels" / "broken"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        '{"argv": ["/nonexistent/program", "{connection_file}"], "language": "R",'
        ' "display_name": "broken"}'
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setattr(subkernel, "kernelspec_for", lambda language: "broken")
    it = R()
    try:
        text = said(it, "x <- 2; x")
        assert text.startswith("[IRkernel cannot be used (")
        assert text.endswith("this is R itself]\n[1] 2\n")
        assert said(it, "x") == "[1] 2\n"
    finally:
        it.close()


def test_the_screen_that_is_lent_reaches_the_kernel_with_each_block(monkeypatch):
    monkeypatch.setattr(subkernel, "kernelspec_for", lambda language: "ir")
    seen = []
    monkeypatch.setattr(subkernel.SubKernel, "run", lambda self, _: seen.append(self.screen))
    it, screen = R(kernel=True), object()
    for each in (screen, None):
        it.screen = each
        it.run("1")
    assert seen == [screen, None]


def test_the_driver_is_there_as_a_file():
    assert {path.name for path in Path(framed.DRIVERS).iterdir()} >= {"driver.js", "driver.R"}
