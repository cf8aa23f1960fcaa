"""`%%lmc` and `%lmc`: the magics, the commands that they take, and what Tab completes.

One rule: what a command does stands in `commands` alone; `magics` and the panel only call it.
"""
