"""`python -m lmc_jupyter`: the command `lmc-jupyter`, where that is not on the path."""

from __future__ import annotations

import sys

from lmc_jupyter.frontends.command import main

if __name__ == "__main__":
    sys.exit(main())
