"""A kernel process of a test's own, on ports that no other test has."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from ports import free_port


class StartedKernel:
    """The kernel of a Python, ready, with its manager and a client.

    Parameters
    ----------
    cwd : by default an empty folder of its own, since files of a folder are offered to the model
    """

    def __init__(
        self,
        env: dict[str, str],
        patience: float,
        cwd: Path | None = None,
        connection_file: Path | None = None,
        python: str = sys.executable,
    ) -> None:
        argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager = KernelManager(cache_ports=False)
        for channel in ("shell", "iopub", "stdin", "hb", "control"):
            setattr(self.manager, f"{channel}_port", free_port())
        if connection_file:
            self.manager.connection_file = str(connection_file)
        self.manager._kernel_spec = KernelSpec(argv=argv, display_name="t", language="python")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.manager.start_kernel(env=env, cwd=cwd or self._folder.name)
        self.client: BlockingKernelClient = self.manager.blocking_client()
        self.client.context.setsockopt(zmq.RCVHWM, 0)  # a test that reads late loses nothing
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=patience)
        except RuntimeError as error:
            ended = getattr(self.manager.provisioner, "process", None)
            self.close()  # a leak would fail the next test
            raise AssertionError(f"{error}: {ended and ended.poll()} is its exit status") from error

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self._folder.cleanup()
