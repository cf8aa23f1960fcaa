"""The tag `lmc-off` of a notebook: no model is asked in its kernel."""

from __future__ import annotations

import json

import pytest
from test_course_mode import SET_UP, errors

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]


def test_a_notebook_sets_the_mode_by_its_tag(frontend, tmp_path):
    path = tmp_path / "exam.ipynb"
    path.write_text(json.dumps({"metadata": {"tags": ["lmc-off"]}, "cells": [], "nbformat": 4}))
    frontend.run(f"import os\nos.environ['JPY_SESSION_NAME'] = {str(path)!r}")
    frontend.run(SET_UP.replace("FOLDER", repr(str(tmp_path))))
    assert "no model is asked" in errors(frontend, "%%lmc\nWrite it.")
    assert "no hint is given" in errors(frontend, "%lmc hint")
    assert frontend.value("len(model.seen)") == 0
    notes = frontend.value(
        "[each.data for each in current_session().journal.conversation().events]"
    )
    assert [each["mode"] for each in notes if each["action"] == "refused"] == ["off"]
    assert all(each["time"] for each in notes)
