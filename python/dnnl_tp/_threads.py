"""What runs have to do with threads: tokens that end them, futures, and the thread beside the main thread."""
from __future__ import annotations

import asyncio
import concurrent.futures as futures
import contextlib
import os
import threading
from typing import Any, Callable, Dict, Generator, Iterator, Optional, Set

from . import _native


class CancelToken:
    """Ends runs: session.run(x, cancel=token) in one thread, token.cancel() in another. Any number of runs may have it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: Set[_native.Handle] = set()
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether cancel() was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Ends the runs that have the token, and later ones at once, with Cancelled. Does not wait for them."""
        with self._lock:
            self._cancelled = True
            for run in self._runs:
                _native.call("cancel_fire", run.value)

    @contextlib.contextmanager
    def _run(self) -> Iterator[int]:
        """The library's token of one run."""
        run = _native.Handle("cancel_create", "cancel_destroy")
        with self._lock:
            if self._cancelled:
                raise _native.Cancelled("the run was cancelled before it began", 0x1003)
            self._runs.add(run)
        try:
            yield run.value or 0
        finally:
            with self._lock:
                self._runs.discard(run)

    def __repr__(self) -> str:
        return f"<dnnl_tp.CancelToken, {'cancelled' if self._cancelled else 'not cancelled'}>"


class Future(futures.Future):  # type: ignore[type-arg] # Python 3.8's is no generic
    """The results of a run that goes on elsewhere: a concurrent.futures.Future, which asyncio's programs may await.

    cancel() also ends a run in progress; result() raises CancelledError then.
    """

    def __init__(self) -> None:
        super().__init__()
        self._token = CancelToken()
        self._end = threading.RLock()
        self._is_unwanted = False

    def cancel(self) -> bool:
        """Whether the results will not come: False after the end of the run."""
        if super().cancel():
            return True
        with self._end:
            if self.done():
                return False
            self._is_unwanted = True
        self._token.cancel()
        return True

    def cancelled(self) -> bool:
        return super().cancelled() or (self._is_unwanted and self.done())

    def _work(self, run: Callable[[CancelToken], Dict[str, Any]]) -> None:
        if not self.set_running_or_notify_cancel():
            return
        result, error = None, None
        try:
            result = run(self._token)
        except BaseException as e:
            error = e
        with self._end:
            if self._is_unwanted:
                self.set_exception(futures.CancelledError())
            elif error:
                self.set_exception(error)
            else:
                self.set_result(result)

    def __await__(self) -> Generator[Any, None, Dict[str, Any]]:
        return asyncio.wrap_future(self).__await__()


class Workers:
    """Threads that start with the first work; a child that the process forks has none."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._executor: Optional[futures.ThreadPoolExecutor] = None
        self._process = 0

    def submit(self, function: Callable[..., Any], *args: Any) -> futures.Future[Any]:
        with self._lock:
            if self._executor is None or self._process != os.getpid():
                self._executor = futures.ThreadPoolExecutor(self._most, "dnnl_tp")
                self._process = os.getpid()
            return self._executor.submit(function, *args)


_beside = Workers(1)


def interruptible(run: Callable[[], Any], token: CancelToken) -> Any:
    """Lets another thread run while this one, the main thread, waits: only it can handle signals, and only between
    lines of Python. If a handler raises (Ctrl-C), the run is cancelled; the exception goes on when it has ended."""
    future: Optional[futures.Future[Any]] = None
    try:
        future = _beside.submit(run)
        futures.wait([future])
    except BaseException as e:
        if future is None and isinstance(e, RuntimeError):  # the interpreter ends
            return run()
        token.cancel()
        while future is not None and not future.done():
            try:
                futures.wait([future])
            except BaseException:  # once more: the arrays are in use until the end, which is near
                continue
        raise
    return future.result()
