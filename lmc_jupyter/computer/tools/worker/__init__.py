"""What runs in the worker, the process that speaks the Model Context Protocol.

One rule: nothing of the kernel imports this, and nothing else imports `mcp`. `main` reads requests
and writes answers, `connection` holds one server.
"""
