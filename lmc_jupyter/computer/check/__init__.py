"""Will a notebook run again? It runs in a fresh kernel, and each cell is compared with the saved
one.

One rule: the notebook's file is only read, and no model is asked: cells and lines of `%%lmc` and
`%lmc` are left out.
"""

from lmc_jupyter.computer.check.judge import CellReport, State
from lmc_jupyter.computer.check.process import Report, check

__all__ = ["CellReport", "Report", "State", "check"]
