"""The output of a `%%lmc` cell: the live answer, its buttons, and what a saved notebook keeps.

One rule: what a cell shows is drawn from the same chunks as everywhere.
"""
