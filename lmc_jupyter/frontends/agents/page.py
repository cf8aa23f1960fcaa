"""What an agent wants of the notebook's page, beside the panel: that it calls the person, and that
it takes a new cell (js/src/lab/agents.ts).

One rule: what the page answers is checked here; where no page answers, that is said.
"""

from __future__ import annotations

import queue
import uuid
from typing import Any

from comm import create_comm

from lmc_jupyter.content.hidden import count_hidden
from lmc_jupyter.errors import SessionError
from lmc_jupyter.frontends.agents.result import Result, answer
from lmc_jupyter.kernel.mailbox import Mailbox
from lmc_jupyter.lmc import clean

TARGET = "lmc-jupyter:agents"
"""The comm that the kernel opens to the page."""
ANSWER_SECONDS = 5.0


class KernelPage:
    """The page of one kernel, for one request of an agent."""

    def __init__(self, kernel: Any, mailbox: Mailbox) -> None:
        self._kernel, self._mailbox = kernel, mailbox
        self._comm: Any = None

    def ask(self, agent: str) -> None:
        """Let the page say that code of this agent waits, until `close`."""
        self._comm = create_comm(target_name=TARGET, data={"kind": "asks", "agent": agent})

    def close(self) -> None:
        """The person is asked no longer."""
        comm, self._comm = self._comm, None
        if comm is not None:
            comm.close()

    def add(self, agent: str, source: str, kind: str) -> Result:
        """Have the page insert a cell of code, which nobody runs.

        Raises
        ------
        SessionError
            For what is no code, where the page refuses it, and where there is no page.
        """
        if kind != "code":  # Markdown is rendered at once, with what it has fetched from anywhere
            raise SessionError(
                f"an agent adds cells of code alone, not of {kind!r:.40}: Jupyter renders Markdown "
                "and fetches its pictures before anybody has looked"
            )
        if count := count_hidden(source):
            raise SessionError(
                f"the code has hidden characters ({count}), which its person would not see: write "
                "them as escapes"
            )
        answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        data = {"kind": "add", "agent": agent, "source": source}
        comm_id = uuid.uuid4().hex
        self._mailbox.open(comm_id, answers.put)  # first: the page may answer at once
        comm = create_comm(target_name=TARGET, data=data, comm_id=comm_id)
        comm.on_msg(lambda message: self._by_comm(comm_id, message))
        try:
            content = answers.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            content = {}
        finally:
            self._mailbox.close(comm_id)
            comm.close()
        if content.get("kind") == "added":
            return answer(
                "The cell was added below the active one. Nobody has run it.",
                cell=clean(str(content.get("cell")))[:100],
            )
        if content.get("kind") == "refused":
            raise SessionError(clean(str(content.get("why")))[:500])
        raise SessionError(
            "no JupyterLab page has answered: none shows this notebook, or it is slow and still "
            "adds the cell; ask the person before you add it again"
        )

    def _by_comm(self, comm_id: str, message: dict[str, Any]) -> None:
        content = message["content"]["data"].get("content")
        if isinstance(content, dict):
            self._mailbox.deliver(comm_id, content)
