"""A kernel of a language that is not Python: it says what it is given."""

from __future__ import annotations

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel


class Echo(Kernel):
    implementation = "echo"
    implementation_version = "1"
    banner = "echo"
    language_info = {"name": "echo", "mimetype": "text/plain", "file_extension": ".txt"}  # noqa: RUF012

    async def do_execute(
        self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_more
    ):
        if not silent:
            content = {"name": "stdout", "text": code}
            self.send_response(self.iopub_socket, "stream", content)
        return {
            "status": "ok",
            "execution_count": self.execution_count,
            "payload": [],
            "user_expressions": {},
        }


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=Echo)
