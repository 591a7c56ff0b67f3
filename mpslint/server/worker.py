"""The thread that checks, one piece of work after the other; it ends with the process, whatever it is doing."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Worker(Executor):
    """An executor of one thread that nobody waits for: Python waits at its end for those of ThreadPoolExecutor."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="mpslint", daemon=True).start()

    def submit(self, function: Callable[Arguments, Result], /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Future[Result]:
        """Have a function called behind those before; return where its result or exception comes to be."""
        future: Future[Result] = Future()

        def call() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments, **named))
                except BaseException as error:
                    future.set_exception(error)

        self._waiting.put(call)
        return future

    def _work(self) -> None:
        while True:
            self._waiting.get()()
