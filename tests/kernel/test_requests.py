"""What is said of the requests of a kernel, when we have taken back what was put into it."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.ipykernel]


def test_nobody_says_busy_again_for_a_cell_that_ended_after_we_had_left(make_frontend):
    """As a click does whose answer is on its way while the extension is unloaded."""
    lab = make_frontend()
    lab.run(
        "from lmc_jupyter.kernel.requests import Requests\n"
        "requests = Requests.of(get_ipython().kernel)"
    )
    cell = lab.start("requests.forget()")
    lab.finish(cell)
    lab.run("requests.say_busy_again()")
    assert lab.is_idle(cell)
