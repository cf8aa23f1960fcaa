"""A Python kernel without subshells, as ipykernel 6 is: while a cell runs it hears nothing."""

from __future__ import annotations

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp


class PlainKernel(IPythonKernel):
    _supports_kernel_subshells = False


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=PlainKernel)
