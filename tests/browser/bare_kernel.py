"""A Python kernel in whose environment lmc-jupyter is not installed, until a cell says otherwise.

`install()` in a cell is what `%pip install lmc-jupyter` would do.
"""

from __future__ import annotations

import builtins
import sys
from importlib.abc import MetaPathFinder

from ipykernel.kernelapp import launch_new_instance


class _NotInstalled(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "lmc_jupyter":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _install() -> None:
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _NotInstalled)]


if __name__ == "__main__":
    sys.meta_path.insert(0, _NotInstalled())
    builtins.install = _install
    launch_new_instance()
