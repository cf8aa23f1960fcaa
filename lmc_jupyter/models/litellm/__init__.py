"""Any model that LiteLLM reaches.

One rule: litellm is imported at the first call, by `loading` alone. From the conversation to the
network: `model` (request and reply), `window` (what fits), `stream` (the caller's thread), `call`
(the network's thread); what passes between these two is in `models.values`. Beside them:
`catalogue` (what LiteLLM knows of a model by its name), `access` (which key may go where),
`prices`.
"""

from lmc_jupyter.models.litellm.access import key_name
from lmc_jupyter.models.litellm.catalogue import close
from lmc_jupyter.models.litellm.loading import load
from lmc_jupyter.models.litellm.model import LiteLLMModel
from lmc_jupyter.models.litellm.stream import transcript
from lmc_jupyter.models.values import Limits

__all__ = ["Limits", "LiteLLMModel", "close", "key_name", "load", "transcript"]
