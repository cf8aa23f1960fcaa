"""Every language of the computer, and snippets that say the same in each: one row a language.

One rule: a snippet that waits, waits for a file that the test makes, or for ever; none sleeps for
a time that somebody measures.
"""

from __future__ import annotations

import contextlib
import re
import stat
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmc_jupyter.computer import default_computer
from lmc_jupyter.computer.languages.html import Browser, Html
from lmc_jupyter.computer.languages.oneshot import TABLE
from lmc_jupyter.computer.languages.python import LivePython
from lmc_jupyter.computer.languages.r import R
from lmc_jupyter.computer.languages.sql import SQL
from lmc_jupyter.computer.languages.subkernel import SubKernel
from lmc_jupyter.computer.screen import Page

GATE = "GATE"
"""In a snippet: the path of the file that it waits for."""
FLOOD = 10_000
"""Lines of 1,000 characters that a flood has."""
LINE = "x" * 999


@dataclass(frozen=True)
class Row:
    """A language and its snippets.

    Parameters
    ----------
    id : the name of the row; a language may have two engines
    make : gives the language
    echo : prints hello
    stream : prints one, waits for the file `GATE`, prints two
    error, says : fails; and what the output must then hold
    busy : prints begun, and never ends
    unicode : prints ß 漢字 😀
    flood : prints `FLOOD` lines and then "the end"
    set, get : keeps 42, and prints it in another block; "" where blocks are programs of their own
    kept : whether `close` leaves what was set
    processes : whether it starts processes of ours
    """

    id: str
    make: Callable[[], Any]
    echo: str
    stream: str
    error: str
    says: str
    busy: str
    unicode: str
    flood: str
    set: str = ""
    get: str = ""
    kept: bool = False
    processes: bool = True

    def missing(self) -> str:
        """Why it cannot run here; "" when it can."""
        if self.id in STAND_INS:
            return ""
        there = self.make().availability()
        return "" if there else there.missing


# What stands in where the real thing is not to be had ---------------------------------------------


class Pages:
    """A front end whose pages say what they log: what is between log(' and ')."""

    def expect(self, code: str) -> Pages.Waits:
        return self.Waits(code)

    class Waits:
        def __init__(self, code: str) -> None:
            self.code, self.stopped = code, threading.Event()

        def wait(self, seconds: float) -> Page | None:
            if "never" in self.code:
                self.stopped.wait(600)
                return None
            logged = re.findall(r"log\('(.*?)'\)", self.code)
            return Page(tuple(LINE if each == "LINE" else each for each in logged))

        def stop(self) -> None:
            self.stopped.set()


class Shown:
    """A language of the page, with a front end that is such."""

    def __init__(self, language: Any) -> None:
        self.language = language
        language.screen = Pages()

    def run(self, code: str) -> Generator[Any, None, None]:
        return self.language.run(code)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.language, name)


class Together:
    """A language that works in the process of another one, which ends with it."""

    def __init__(self, languages: Any, name: str, within: str) -> None:
        self.language, self.within = languages[name], languages[within]

    def close(self) -> None:
        self.within.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.language, name)


class SqlThatWaits(SQL):
    """SQL with a function that waits for a file and then says two."""

    def run(self, code: str) -> Generator[Any, None, None]:
        if "wait_for" in code:
            import duckdb

            with contextlib.suppress(duckdb.NotImplementedException):  # it is there already
                duckdb.create_function("wait_for", self.wait_for, ["VARCHAR"], "VARCHAR")
        return super().run(code)

    @staticmethod
    def wait_for(path: str) -> str:
        while not Path(path).exists():
            time.sleep(0.02)
        return "two"


def osascript(folder: Path) -> Path:
    """Put an `osascript` into the folder that is a shell: it too reads its script from stdin."""
    program = folder / "osascript"
    program.write_text("#!/bin/sh\nexec sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


STAND_INS = {"applescript"}

WITHOUT_SNIPPETS = ("fortran", "julia", "octave", "swift", "powershell", "cmd")
UNTRIED = {
    "applescript itself": "it is run by a stand-in only",
    **{
        name: TABLE[name]().availability().missing
        or "there are no snippets of it in tests/languages.py"
        for name in WITHOUT_SNIPPETS
    },
}
"""What no machine of ours has -> what a reader of the tests is told of it."""

# The rows -----------------------------------------------------------------------------------------


def _python(id: str, make: Callable[[], Any], **more: Any) -> Row:
    return Row(
        id,
        make,
        echo="print('hello')",
        stream=(
            "import os, time\nprint('one', flush=True)\n"
            f"while not os.path.exists('{GATE}'):\n    time.sleep(0.02)\nprint('two')"
        ),
        error="1/0",
        says="ZeroDivisionError",
        busy="print('begun', flush=True)\nwhile True:\n    pass",
        unicode="print('ß 漢字 😀')",
        flood=f"for _ in range({FLOOD}):\n    print('{LINE}')\nprint('the end')",
        set="x = 42",
        get="print(x)",
        **more,
    )


SHELL = Row(
    "shell",
    lambda: default_computer().languages["shell"],
    echo="echo hello",
    stream=f"echo one; until [ -e '{GATE}' ]; do sleep 0.02; done; echo two",
    error="no_such_command",
    says="no_such_command",
    busy="echo begun; while :; do :; done",
    unicode="echo 'ß 漢字 😀'",
    flood=f"yes {LINE} | head -n {FLOOD}; echo the end",
    set="x=42",
    get="echo $x",
)

JAVASCRIPT = Row(
    "javascript",
    lambda: default_computer().languages["javascript"],
    echo="console.log('hello')",
    stream=(
        "const fs = require('fs')\nconsole.log('one')\n"
        f"while (!fs.existsSync('{GATE}')) await new Promise(go => setTimeout(go, 20))\n"
        "console.log('two')"
    ),
    error="null.name",
    says="TypeError",
    busy="console.log('begun'); while (true) {}",
    unicode="console.log('ß 漢字 😀')",
    flood=(
        f"for (let i = 0; i < {FLOOD}; i++) console.log('x'.repeat(999))\nconsole.log('the end')"
    ),
    set="const x = 42",
    get="console.log(x)",
)

IRKERNEL = Row(
    "R by IRkernel",
    lambda: R(kernel=True),
    echo='cat("hello\\n")',
    stream=(
        f'cat("one\\n"); flush.console(); while (!file.exists("{GATE}")) Sys.sleep(0.02)\n'
        'cat("two\\n")'
    ),
    error='stop("went wrong")',
    says="went wrong",
    busy='cat("begun\\n"); flush.console(); repeat {}',
    unicode='cat("ß 漢字 😀\\n")',
    flood=f'for (i in 1:{FLOOD}) cat(strrep("x", 999), "\\n", sep = "")\ncat("the end\\n")',
    set="x <- 42",
    get="cat(x)",
)


RUBY = Row(
    "ruby",
    TABLE["ruby"],
    echo="puts 'hello'",
    stream=f"puts 'one'\nsleep 0.02 until File.exist?('{GATE}')\nputs 'two'",
    error="raise 'went wrong'",
    says="went wrong",
    busy="puts 'begun'\nloop {}",
    unicode="puts 'ß 漢字 😀'",
    flood=f"{FLOOD}.times {{ puts 'x' * 999 }}\nputs 'the end'",
)


def _page(id: str, make: Callable[[], Any], code: str) -> Row:
    return Row(
        id,
        lambda: Shown(make()),
        echo=code.replace("CODE", "log('hello')"),
        stream="",
        error=code.replace("CODE", "log('Error: went wrong')"),
        says="went wrong",
        busy=code.replace("CODE", "begun(never)"),
        unicode=code.replace("CODE", "log('ß 漢字 😀')"),
        flood="",
        processes=False,
    )


ROWS = [
    _python("python", LivePython, kept=True, processes=False),
    SHELL,
    JAVASCRIPT,
    replace(
        JAVASCRIPT,
        id="typescript",
        make=lambda: Together(default_computer().languages, "typescript", "javascript"),
        set="const x: number = 42",
    ),
    IRKERNEL,
    replace(IRKERNEL, id="R itself", make=lambda: R(kernel=False)),
    Row(
        "sql",
        lambda: SqlThatWaits(LivePython()),
        echo="select 'hello' as word",
        stream=f"select 'one'; select wait_for('{GATE}');",
        error="select nothing_there",
        says="nothing_there",
        busy="select 'begun'; select count(*) from range(10_000_000_000_000) t(i) where i % 7 = 3",
        unicode="select 'ß 漢字 😀'",
        flood="",
        set="create or replace table answer as select 42",
        get="from answer",
        kept=True,
        processes=False,
    ),
    _page("html", Html, "<script>CODE</script>"),
    _page("browser", Browser, "CODE"),
    _python("python3 as a sub-kernel", lambda: SubKernel("", "python")),
    # osascript is a shell here, see above
    replace(SHELL, id="applescript", make=TABLE["applescript"], set="", get=""),
    RUBY,
    Row(
        "perl",
        TABLE["perl"],
        echo='print "hello\\n";',
        stream=f'print "one\\n"; select(undef, undef, undef, 0.02) until -e "{GATE}"; print "two";',
        error='die "went wrong";',
        says="went wrong",
        busy='print "begun\\n"; while (1) {}',
        unicode='print "ß 漢字 😀\\n";',
        flood=f'print "x" x 999, "\\n" for 1..{FLOOD}; print "the end\\n";',
    ),
    Row(
        "lua",
        TABLE["lua"],
        echo="print('hello')",
        stream=f"print('one') repeat local f = io.open('{GATE}') until f print('two')",
        error="error('went wrong')",
        says="went wrong",
        busy="print('begun') while true do end",
        unicode="print('ß 漢字 😀')",
        flood=f"for i = 1, {FLOOD} do print(('x'):rep(999)) end print('the end')",
    ),
    Row(
        "php",
        TABLE["php"],
        echo='echo "hello\\n";',
        stream=(
            f'echo "one\\n"; while (!file_exists("{GATE}")) {{ clearstatcache(); usleep(20000); }} '
            'echo "two\\n";'
        ),
        error='throw new Exception("went wrong");',
        says="went wrong",
        busy='echo "begun\\n"; while (true) {}',
        unicode='echo "ß 漢字 😀\\n";',
        flood=(
            f'for ($i = 0; $i < {FLOOD}; $i++) echo str_repeat("x", 999), "\\n"; echo "the end\\n";'
        ),
    ),
    Row(
        "java",
        TABLE["java"],
        echo='System.out.println("hello");',
        stream=(
            f'System.out.println("one"); while (!new java.io.File("{GATE}").exists()) '
            'Thread.sleep(20); System.out.println("two");'
        ),
        error='if (true) throw new RuntimeException("went wrong");',
        says="went wrong",
        busy='System.out.println("begun"); while (true) {}',
        unicode='System.out.println("ß 漢字 😀");',
        flood=(
            f'for (int i = 0; i < {FLOOD}; i++) System.out.println("x".repeat(999)); '
            'System.out.println("the end");'
        ),
    ),
    Row(
        "go",
        TABLE["go"],
        echo='import "fmt"\nfunc main() { fmt.Println("hello") }',
        stream=(
            'import ("fmt"; "os"; "time")\nfunc main() {\n\tfmt.Println("one")\n\tfor {\n'
            f'\t\tif _, err := os.Stat("{GATE}"); err == nil {{ break }}\n'
            '\t\ttime.Sleep(20 * time.Millisecond)\n\t}\n\tfmt.Println("two")\n}'
        ),
        error='func main() { panic("went wrong") }',
        says="went wrong",
        busy='import "fmt"\nfunc main() { fmt.Println("begun"); for {} }',
        unicode='import "fmt"\nfunc main() { fmt.Println("ß 漢字 😀") }',
        flood=(
            'import ("fmt"; "strings")\nfunc main() {\n'
            f'\tfor i := 0; i < {FLOOD}; i++ {{ fmt.Println(strings.Repeat("x", 999)) }}\n'
            '\tfmt.Println("the end")\n}'
        ),
    ),
]

_C = "#include <stdio.h>\n#include <unistd.h>\nint main(void) { CODE }"


def _c(id: str, includes: str = "") -> Row:
    def main(code: str) -> str:
        return includes + _C.replace("CODE", f"{code} return 0;")

    return Row(
        id,
        TABLE[id],
        echo=main('puts("hello");'),
        stream=main(
            f'puts("one"); while (access("{GATE}", F_OK) != 0) usleep(20000); puts("two");'
        ),
        error=main("undeclared;"),
        says="undeclared",
        busy=main('puts("begun"); fflush(stdout); for (volatile int i = 0;; i = 1) {}'),
        unicode=main('puts("ß 漢字 😀");'),
        flood=main(f'for (int i = 0; i < {FLOOD}; i++) puts("{LINE}"); puts("the end");'),
    )


ROWS += [
    _c("c"),
    _c("cpp", "#include <vector>\n"),
    Row(
        "rust",
        TABLE["rust"],
        echo='println!("hello");',
        stream=(
            f'println!("one"); while !std::path::Path::new("{GATE}").exists() '
            '{ std::thread::sleep(std::time::Duration::from_millis(20)); } println!("two");'
        ),
        error='panic!("went wrong");',
        says="went wrong",
        busy='println!("begun"); loop { std::hint::spin_loop(); }',
        unicode='println!("ß 漢字 😀");',
        flood=f'for _ in 0..{FLOOD} {{ println!("{{}}", "x".repeat(999)); }} println!("the end");',
    ),
]
