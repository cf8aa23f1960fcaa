"""The embedded model: a small language model that runs on this computer, with no key.

One rule: what a small model needs stays in here, so that larger ones are asked as they should
be. `turns` reads the conversation, `prompts` says what the model is asked, `draft` reads its code,
`process` and `worker` keep it in a process of its own, which is asked by OpenAI's protocol; see
docs/local-model.md.
"""

from lmc_jupyter.models.local.model import LocalModel

__all__ = ["LocalModel"]
