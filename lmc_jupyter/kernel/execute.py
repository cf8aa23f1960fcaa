"""Running a block in an IPython shell, on this thread, wherever its event loop stands.

One rule: the shell's own `run_cell` runs it, without history; what differs is only who drives
top-level `await` when this thread's event loop runs already, as it does inside a cell.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lmc_jupyter.kernel.runner import poll_here
from lmc_jupyter.kernel.stop import Interruptible

if TYPE_CHECKING:
    from lmc_jupyter.kernel.spark import SparkJobs


def execute(
    shell: Any,
    code: str,
    block: Interruptible,
    breathe: Callable[[], None],
    on_name: Callable[[str], None],
) -> BaseException | None:
    """Run `code` in the user's namespace; its output is shown as that of any cell.

    Parameters
    ----------
    shell : an IPython shell
    block : takes interrupts; this is called within its `run`
    breathe : called between two steps of code that awaits
    on_name : gets the name under which the shell compiles the code, before it does

    Returns
    -------
    The exception that ended the code, shown already; None when there was none.
    """

    def run() -> BaseException | None:
        if _awaits_in_a_running_loop(code):
            result = _run_async(shell, code, block, breathe)
        else:
            result = shell.run_cell(code, store_history=False)
        if result is None:
            return None
        error: BaseException | None = result.error_before_exec or result.error_in_exec
        return error

    with _the_cell_around_us(shell, code), _reading_code_name(shell.compile, code, on_name):
        error: BaseException | None = KeyboardInterrupt()  # unless `run` returns
        jobs = _jobs_of_spark(block)
        try:
            if jobs is not None:
                jobs.begin()
            error = run()
            return error
        finally:
            if jobs := jobs or _jobs_of_spark(block):  # the code may have imported it
                jobs.end(error)


def _jobs_of_spark(block: Interruptible) -> SparkJobs | None:
    """None where nothing has imported Spark."""
    if "pyspark" not in sys.modules:
        return None
    from lmc_jupyter.kernel.spark import SparkJobs

    return SparkJobs(block)


@contextmanager
def _reading_code_name(compiler: Any, code: str, on_name: Callable[[str], None]) -> Iterator[None]:
    """Read the name as the shell makes it: asking for it would transform all code once more."""
    attributes, make = vars(compiler), compiler.get_code_name
    before = attributes.get("get_code_name")

    def restore() -> None:
        if before is None:
            attributes.pop("get_code_name", None)
        else:
            attributes["get_code_name"] = before

    def replacement(raw: str, *args: Any, **options: Any) -> str:
        name: str = make(raw, *args, **options)
        if raw == code:  # else a hook of the user's runs something first
            restore()
            on_name(name)
        return name

    attributes["get_code_name"] = replacement
    try:
        yield
    finally:
        if attributes.get("get_code_name") is replacement:
            restore()


@contextmanager
def _the_cell_around_us(shell: Any, code: str) -> Iterator[None]:
    """Leave the cell unchanged: it keeps its result, and an error of the block does not fail it."""
    hook = shell.displayhook
    members = [
        (hook, "exec_result"),
        (hook, "msg"),  # half a result, when an interrupt came as it was shown
        (shell, "_last_traceback_during_displayhook"),  # ipykernel 7: fails the whole cell
    ]
    before = [
        (owner, name, getattr(owner, name)) for owner, name in members if hasattr(owner, name)
    ]
    attributes, own = vars(hook), vars(hook).get("quiet")
    if hasattr(hook, "semicolon_at_end_of_expression"):  # else it looks at the cell's own code
        attributes["quiet"] = lambda: hook.semicolon_at_end_of_expression(code)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        if own is None:
            attributes.pop("quiet", None)
        else:
            attributes["quiet"] = own


def _awaits_in_a_running_loop(code: str) -> bool:
    return ("await" in code or "async" in code) and asyncio._get_running_loop() is not None


def _run_async(shell: Any, code: str, block: Interruptible, breathe: Callable[[], None]) -> Any:
    cell, exc_info = code, None
    try:
        cell = shell.transform_cell(code)
    except Exception:  # noqa: BLE001 - any transformer of the user's; the shell shows it
        exc_info = sys.exc_info()
    options = {"transformed_cell": cell, "preprocessing_exc_tuple": exc_info}
    if not shell.should_run_async(code, **options):
        return shell.run_cell(code, store_history=False)
    result = None
    try:
        result = _drive(shell.run_cell_async(code, store_history=False, **options), block, breathe)
    finally:  # run_cell_async leaves these to its caller
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
    return result


def _drive(
    coro: Coroutine[Any, Any, Any], block: Interruptible, breathe: Callable[[], None]
) -> Any:
    loop: Any = asyncio.get_running_loop()
    if not hasattr(loop, "_run_once"):  # uvloop: the code gets a loop of its own
        return _in_a_loop_of_its_own(coro)
    task = loop.create_task(coro)

    def wait_for() -> bool:
        """A SIGINT came: cancel what waits; False when the code itself was running."""
        if asyncio.current_task(loop) is task:
            return False
        loop.call_soon_threadsafe(task.cancel)
        return True

    block.wait_for = wait_for
    steps = 0
    backlog: list[Any] = []
    try:
        with poll_here() as poll:
            while not task.done():
                steps += 1
                _step(loop, backlog)
                poll()
                breathe()
    finally:
        block.wait_for = None
        if not task.done():
            task.cancel()
            while not task.done():
                steps += 1
                _step(loop, backlog)
        loop._ready.extendleft(reversed(backlog))  # they came before whatever waits there by now
        for _ in range(steps + 5):  # the step of the loop that we are in counted on its callbacks
            loop.call_soon(lambda: None)
    return task.result()


def _step(loop: Any, backlog: list[Any]) -> None:
    """One step of the loop that runs us: callbacks, then at most 50 ms of waiting.

    A callback whose context is that of our own cell cannot be run within it; ipykernel 7 has
    one context for all requests, so the next cell's is such a one. It goes into `backlog`.
    """
    for handle in loop._ready.copy():
        if _is_entered(handle):
            loop._ready.remove(handle)
            backlog.append(handle)
    outer = asyncio.current_task(loop)
    timer = loop.call_later(0.05, lambda: None)
    if outer is not None:
        asyncio.tasks._leave_task(loop, outer)
    try:
        loop._run_once()
    finally:
        timer.cancel()
        if outer is not None:
            asyncio.tasks._enter_task(loop, outer)


def _is_entered(handle: Any) -> bool:
    try:
        handle._context.run(lambda: None)
    except RuntimeError:
        return True
    return False


def _in_a_loop_of_its_own(coro: Coroutine[Any, Any, Any]) -> Any:
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coro)
    finally:
        loop.close()
        asyncio._set_running_loop(running)
