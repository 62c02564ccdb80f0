# SPDX-License-Identifier: Apache-2.0
"""Threads that run a model for an event loop."""

import asyncio
import queue
import threading
from collections.abc import Callable


class Workers:
    """A fixed number of threads. A call takes half the time of loop.run_in_executor."""

    def __init__(self, count: int):
        self._count = count
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        # calls that have not been settled, counted on the event loop
        self._pending = 0
        for i in range(count):
            threading.Thread(target=self._work, name=f"gantry-{i}", daemon=True).start()

    @property
    def are_idle(self) -> bool:
        """True if no call waits or is under way. Read on the event loop."""
        return self._pending == 0

    def call(self, function: Callable, *arguments) -> asyncio.Future:
        """Call a function on a thread. Not called if the future is cancelled before."""
        future = asyncio.get_running_loop().create_future()
        self._pending += 1
        self._calls.put((future, function, arguments))
        return future

    def stop(self) -> None:
        """End the threads after the calls that wait."""
        for _ in range(self._count):
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function, arguments = call
            result, error = None, None
            if not future.cancelled():
                try:
                    result = function(*arguments)
                except BaseException as raised:  # it is the caller's
                    error = raised
            try:
                future.get_loop().call_soon_threadsafe(self._settle, future, result, error)
            except RuntimeError:  # the loop is closed: nobody waits
                pass
            del call, future, function, arguments, result, error  # not kept until the next call

    def _settle(
        self, future: asyncio.Future, result: object, error: BaseException | None
    ) -> None:
        self._pending -= 1
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
