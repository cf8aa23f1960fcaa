"""Binder's steps, from nothing: an environment, what binder/ names, and a first conversation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.long]

ROOT = Path(__file__).parents[1]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", ".cache", "node_modules", "__pycache__")
ASK = """
import json, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
try:
    for code in sys.argv[1:]:
        said = []
        def hear(message):
            content = message["content"]
            said.append(str(content.get("text", "")) + str(content.get("data", {})))
        reply = client.execute_interactive(code, output_hook=hear, allow_stdin=False, timeout=300)
        print(json.dumps([reply["content"]["status"], "".join(said)]))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


@pytest.mark.timeout(1800)
def test_a_first_conversation_needs_no_key_and_no_download(tmp_path):
    """repo2docker installs requirements.txt, runs postBuild, and starts the server by start."""
    tree = shutil.copytree(ROOT, tmp_path / "tree", ignore=NOT_COPIED)
    venv.create(tmp_path / "env", with_pip=True)
    bin = tmp_path / "env" / "bin"
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path)}
    kept = ("LANG", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE")
    env = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        **home,
        "PATH": os.pathsep.join([str(bin), *os.environ["PATH"].split(os.pathsep)]),
    }

    def run(*command: str, cwd: Path = tree) -> str:
        done = subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    run("pip", "install", "-q", "--disable-pip-version-check", "-r", "binder/requirements.txt")
    run("binder/postBuild")
    cells = json.loads((tree / "notebooks" / "01-first-conversation.ipynb").read_text("utf-8"))
    sources = ["".join(each["source"]) for each in cells["cells"] if each["cell_type"] == "code"]
    question = next(source for source in sources if source.startswith("%%lmc"))
    asked = question.replace("%%lmc", "%%lmc --auto-run", 1)
    out = run("binder/start", "python", "-c", ASK, sources[0], asked)
    loaded, answered = (json.loads(line) for line in out.splitlines() if line.startswith("["))
    assert loaded[0] == answered[0] == "ok", out
    assert re.search("Model: replay/", loaded[1])
    assert "9222500" in answered[1]
    assert "image/png" in answered[1]
