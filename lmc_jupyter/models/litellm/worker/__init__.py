"""What runs in the worker, the process that holds LiteLLM and the network.

One rule: nothing of the kernel imports this. `main` reads requests and writes answers,
`loading` imports LiteLLM, `call` asks a model, `lookups` says what LiteLLM knows, `network` guards
what is sent.
"""
