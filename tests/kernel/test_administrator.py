"""An `lmc.yaml` in Jupyter's configuration of the system: nobody makes it looser by settings."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]

OF_SYSTEM = """\
model: openai/of-the-school
api_base: http://127.0.0.1:9/v1
max_cost: 0.5
context: names
deny: [bash]
agents: "off"
tutor: hints
auto_run: false
max_session_cost: 2
"""
LOOSER = "max_cost: 5\ncontext: notebook\nagents: ask\ntutor: ''\nmodel: openai/other\n"
WAYS = {
    "max_cost": "%config LMC.max_cost = 5",
    "no max_cost": "%config LMC.max_cost = None",
    "context": "%config LMC.context = 'notebook'",
    "deny": "%config LMC.deny = []",
    "agents": "%config LMC.agents = 'ask'",
    "what is the default": "%config LMC.auto_run = True",
    "a language": "%config LMC.auto_run = ['python']",
    "tutor": "%config LMC.tutor = ''",
    "model": "%config LMC.model = 'openai/other'",
    "api_base": "%config LMC.api_base = 'http://127.0.0.1:10/v1'",
    "a command": "%lmc model openai/other",
    "a command without its address": "%lmc model openai/of-the-school",
    "a cell": "%%lmc --model openai/other\nGo.",
    "a cell with an address": "%%lmc --api-base http://127.0.0.1:10/v1\nGo.",
    "a command of settings": "%lmc config max_cost 5",
    "a profile": "%config LMC.profile = 'loose'",
}


@pytest.fixture(scope="module")
def lab(frontend, tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("system")
    (folder / "lmc.yaml").write_text(OF_SYSTEM)
    here = tmp_path_factory.mktemp("here")
    (here / "lmc.yaml").write_text(LOOSER)
    profiles = here / "config" / "lmc-jupyter" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "loose.yaml").write_text("max_cost: 5\n")
    frontend.run(
        f"import os\nos.chdir({str(here)!r})\n"
        f"os.environ['XDG_CONFIG_HOME'] = {str(here / 'config')!r}\n"
        f"from jupyter_core import paths\npaths.SYSTEM_CONFIG_PATH[:] = [{str(folder)!r}]"
    )
    frontend.run("%load_ext lmc_jupyter")
    frontend.run("from lmc_jupyter import current_session\nfrom traitlets.config import Config")
    return frontend


def options(lab: Any) -> Any:
    return lab.value(
        "(lambda o, c: [c.spec, c.api_base, o.max_cost, o.context, list(o.deny), o.agents, "
        "o.tutor])(current_session().options, current_session().choice)"
    )


SET = ["openai/of-the-school", "http://127.0.0.1:9/v1", 0.5, "names", ["bash"], "off", "hints"]


def test_it_counts_and_the_folder_makes_nothing_looser(lab):
    assert options(lab) == SET
    remarks = lab.value("get_ipython().find_magic('lmc').__self__.remarks")
    assert "Your administrator's lmc.yaml sets" in " ".join(remarks)


@pytest.mark.parametrize("code", WAYS.values(), ids=WAYS)
def test_no_setting_and_no_command_makes_it_looser(lab, code):
    messages = lab.finish(lab.start(code))
    said = " ".join(str(each["content"]) for each in messages)
    assert "has set" in said
    assert options(lab) == SET


def test_it_may_be_made_stricter(lab):
    lab.run("%config LMC.max_cost = 0.1")
    assert lab.value("current_session().options.max_cost") == 0.1
    lab.run("%config LMC.max_cost = 0.5")
    assert options(lab) == SET
    lab.run("%config LMC.max_session_cost = 1")
    assert lab.value("current_session().options.max_session_cost") == 1
