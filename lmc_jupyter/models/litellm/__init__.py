"""Any model that LiteLLM reaches.

One rule: `worker` alone imports litellm, in a process of its own; the other modules run in the
kernel and import neither. From the conversation to that process: `model` (request and
reply), `window` (what fits), `completion` (one call), `worker_process` (the process). Beside them:
`catalogue` (what LiteLLM knows of a model by its name), `access` (which key may go where),
`prices`.
"""

from lmc_jupyter.models.litellm.access import key_name
from lmc_jupyter.models.litellm.catalogue import close, prepare
from lmc_jupyter.models.litellm.model import LiteLLMModel
from lmc_jupyter.models.litellm.worker_process import load
from lmc_jupyter.models.values import NetworkLimits

__all__ = ["LiteLLMModel", "NetworkLimits", "close", "key_name", "load", "prepare"]
