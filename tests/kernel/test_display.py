"""Displays of a cell's own, and who is in front of the kernel."""

from __future__ import annotations

import pytest

from lmc_jupyter.errors import LMCError
from lmc_jupyter.kernel.display import CellDisplay
from lmc_jupyter.kernel.frontend import can_ask, kernel_of, kind


@pytest.mark.kernel
@pytest.mark.ipykernel
def test_a_display_lands_in_its_cell_from_any_thread_and_after_its_end(frontend):
    cell = frontend.start(
        "shown = CellDisplay.here()\n"
        "t = threading.Thread(target=shown.show, args=({'text/plain': 'one'}, 'd1'))\n"
        "t.start(); t.join()"
    )
    frontend.finish(cell)
    later = frontend.start(
        "shown.update({'text/plain': 'two'}, 'd1'); shown.show({'text/plain': 'three'})"
    )
    frontend.finish(later)

    def three():
        return [m for m in frontend.of(cell) if m["msg_type"].endswith("display_data")][2:]

    frontend.until(three, "the third display")
    displays = [m for m in frontend.of(cell) if m["msg_type"].endswith("display_data")]
    assert [
        (m["msg_type"], m["content"]["data"]["text/plain"], m["content"]["transient"])
        for m in displays
    ] == [
        ("display_data", "one", {"display_id": "d1"}),
        ("update_display_data", "two", {"display_id": "d1"}),
        ("display_data", "three", {}),
    ]


@pytest.mark.kernel
@pytest.mark.ipykernel
def test_a_display_comes_behind_what_was_printed_before_it(frontend):
    code = "page = CellDisplay.here(); print('first'); page.flush(); page.show({'text/plain': '2'})"
    messages = frontend.run(code)
    kinds = [m["msg_type"] for m in messages if m["msg_type"] in ("stream", "display_data")]
    assert (kinds[0], kinds[-1], kinds.count("display_data")) == ("stream", "display_data", 1)


@pytest.mark.kernel
@pytest.mark.ipykernel
def test_the_views_own_displays_are_not_the_codes(frontend):
    code = "CellDisplay.here().show({'text/plain': 'not mine'}); print('mine')"
    assert frontend.told(code) == ["mine\n"]


@pytest.mark.kernel
@pytest.mark.ipykernel
@pytest.mark.parametrize("allowed", [True, False])
def test_whether_a_question_can_be_asked(frontend, allowed):
    frontend.run(
        "from lmc_jupyter.kernel.frontend import can_ask, kernel_of, kind\n"
        "it = kind(), kernel_of(get_ipython()) is kernel, can_ask(kernel)",
        allow_stdin=allowed,
    )
    assert frontend.value("it") == ("kernel", True, allowed)


def test_without_a_kernel_a_display_says_so():
    with pytest.raises(LMCError, match="no Jupyter kernel"):
        CellDisplay.here()


def test_without_a_kernel_it_is_a_script():
    assert kernel_of(None) is None
    assert kind(None) == "script"
    assert can_ask(object()) is False
