"""The chat panel: what it shows of a session, and what it is asked.

One rule: it reads events and answers messages of one widget; `protocol.ts` is its other side.
"""
