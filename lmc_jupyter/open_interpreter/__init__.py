"""The face of Open Interpreter's migration guide: `OpenInterpreter`, and `chat` with plain dicts.

One rule: it is only a face. Whatever it does is done by a `Session`, which alone holds the
conversation, asks before code runs and knows the model; the list of dicts that an app gets is
another form of the session's messages, and what the app changes in it is handed back to the
session before the next answer.

Source: the migration guide of the seed documents. Where Open Interpreter itself does not do what
the guide says, this does what the guide says (docs/open-interpreter.md).
"""

from __future__ import annotations

from lmc_jupyter.open_interpreter.interpreter import LOOP_BREAKERS, LOOP_MESSAGE, OpenInterpreter

__all__ = ["LOOP_BREAKERS", "LOOP_MESSAGE", "OpenInterpreter"]
