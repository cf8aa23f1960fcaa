"""No key in what a notebook's kernel sends: cell outputs, comms, replies; all shapes at once."""

from __future__ import annotations

import json

import pytest
from model_server import ModelServer, Refusal, Turn, text, tool
from test_keys import SHAPES, forms, needle

pytestmark = pytest.mark.kernel

SET_UP = """
%load_ext lmc_jupyter
import lmc_jupyter
from lmc_jupyter import current_session
session = current_session()
model_id = lmc_jupyter.panel_model_id()
"""


def test_no_key_of_the_environment_is_in_what_a_kernel_sends(make_frontend, tmp_path):
    names = {f"SERVICE_{number}_API_KEY": key for number, key in enumerate(SHAPES.values())}
    leak = tmp_path / "leak.txt"
    leak.write_text("\n".join(form for key in SHAPES.values() for form in forms(key)), "utf-8")
    with ModelServer() as server:
        env = {**names, "LMC_API_BASE": server.base, "LMC_MODEL": "openai/m",
               "LMC_API_KEY": SHAPES["openai"]}  # fmt: skip
        lab = make_frontend(env=env)
        lab.run(SET_UP)
        server.turns = [Turn(tool("shell", f"cat {leak}; env")), Turn(text("Done."))]
        lab.run("%%lmc --auto-run\nShow me.")
        for key in SHAPES.values():
            server.first.append(Refusal(401, f"Incorrect API key provided: {key.strip()}"))
        lab.run("%xmode Verbose")
        for _ in SHAPES:
            lab.finish(lab.start("%%lmc\nAgain."))
        lab.finish(lab.start("%tb"))
        lab.run("import os; mine = dict(os.environ)")
        server.turns = [Turn(text("Done."))] * 4
        lab.finish(lab.start("%lmc ask What is in @mine?"))
        lab.run("%config LMC")
        lab.run("%lmc config")
        lab.value("[repr(session), str(vars(session)), str(vars(session.model))]")
        bodies = json.dumps([each.body for each in server.requests])
        headers = [each.headers.get("authorization") for each in server.requests]
    sent = json.dumps(lab.messages, default=str) + json.dumps(
        [each["content"] for each in lab.replies.values()], default=str
    )
    assert f"Bearer {SHAPES['openai']}" in headers, "the key was used"
    assert "[redacted: SERVICE_" in sent
    assert "[redacted: SERVICE_" in bodies
    for shape, key in SHAPES.items():
        assert needle(key) not in sent, shape
        assert needle(key) not in bodies, shape
