"""Stages of work, each in a thread of its own, that hand things on to each other.

What comes out, and in which order, does not depend on whether there are threads. Whether they pay is a question of the
machine and of the work: where all stages compute on the same cores they may cost a third of the time, where one waits
for a disk or a device they hide that. `Tried` finds out.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from statistics import median
from typing import Any, Self

from tgraph.kernels.cpu.team import interrupts_postponed, work_alone

IN_TURN, NOT_COUNTED = 16, 2  # items that one way is tried on at a time; the first of them are slower
TRIES = 2 * (IN_TURN - NOT_COUNTED)

Stage = Callable[[Any, Callable[[Any], None]], None]  # stage(item, hand_on)


class Closed(Exception):  # noqa: N818 - not an error: work is no longer wanted
    """Raised in a stage that gives or takes when nobody wants its work any more."""


class Channel:
    """A queue between two threads that can be closed from either side."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = deque(items)
        self._changed = threading.Condition()
        self._is_closed = False

    def put(self, item: Any) -> None:
        """Add an item, or raise `Closed`."""
        with self._changed:
            if self._is_closed:
                raise Closed
            self._items.append(item)
            self._changed.notify()

    def get(self) -> Any:
        """Wait for an item and return it, or raise `Closed`."""
        with self._changed:
            while not self._items and not self._is_closed:
                self._changed.wait()
            if self._is_closed:
                raise Closed
            return self._items.popleft()

    def close(self) -> None:
        """Wake everyone who waits, and forget what was not taken."""
        with self._changed:
            self._is_closed = True
            self._items.clear()
            self._changed.notify_all()


class _End:
    """The last thing in a channel; `error` is what ended the work too early."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class Staged:
    """An iterator over what the last of some stages hands on; the stages work in threads.

    At most `ahead` items are in the making or ready. The threads end when all is done, when a stage raises (the error
    is raised by `next`), at `close`, when the iterator is forgotten, and when Ctrl-C interrupts `next`.
    """

    def __init__(self, items: Iterable[Any], stages: Sequence[Stage], ahead: int) -> None:
        self._permits = Channel([None] * ahead)
        channels = [Channel() for _ in stages]
        self._finished = channels[-1]
        sources = [_permitted(items, self._permits), *(_content(channel) for channel in channels[:-1])]
        threads = [
            threading.Thread(target=_work, args=one, daemon=True, name=f"tgraph-stage-{i}")
            for i, one in enumerate(zip(sources, stages, channels, strict=True))
        ]
        self._stop = weakref.finalize(self, _stop, [self._permits, *channels], threads)
        with interrupts_postponed():
            for thread in threads:
                thread.start()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            item = self._finished.get()
            self._permits.put(None)
        except Closed:
            raise StopIteration from None
        except BaseException:  # Ctrl-C while waiting
            self.close()
            raise
        if isinstance(item, _End):
            self.close()
            if item.error is not None:
                raise item.error
            raise StopIteration
        return item

    def close(self) -> None:
        """End the threads and wait for them."""
        with interrupts_postponed():
            self._stop()


class _Made:
    """An iterator over what a generator yields, in the thread of the caller."""

    def __init__(self, results: Generator[Any]) -> None:
        self._results = results

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._results)

    def close(self) -> None:
        """Make nothing more, and end what was begun."""
        self._results.close()


class Unstaged(_Made):
    """An iterator over the same, with all stages in the thread of the caller."""

    def __init__(self, items: Iterable[Any], stages: Sequence[Stage]) -> None:
        super().__init__(_run_stages(items, stages))


class Choice:
    """Whether threads pay: both ways are tried in turn, and the one with the shorter time between items is taken.

    >>> choice = Choice()
    >>> while not choice.is_made:
    ...     choice.note(choice.has_threads, 0.1 if choice.has_threads else 0.2)
    >>> choice.has_threads
    True
    """

    def __init__(self) -> None:
        self._seconds: dict[bool, list[float]] = {False: [], True: []}

    @property
    def is_made(self) -> bool:
        """Whether both ways were tried often enough."""
        return min(map(len, self._seconds.values())) >= TRIES

    @property
    def has_threads(self) -> bool:
        """Which way to take now."""
        without, with_threads = self._seconds[False], self._seconds[True]
        if self.is_made:
            return median(with_threads) < median(without)
        return len(with_threads) < len(without)

    def note(self, has_threads: bool, seconds: float) -> None:
        """Say how long it took from one item to the next."""
        if not self.is_made:
            self._seconds[has_threads].append(seconds)


class Tried(_Made):
    """An iterator over the same that takes the faster way; until it is known which, both for some items in turn.

    `begin(items, has_threads)` returns a `Staged` or an `Unstaged`. The time between two items is that of whoever
    computes on them, too.
    """

    def __init__(self, items: Sequence[Any], begin: Callable[[Sequence[Any], bool], Any], choice: Choice) -> None:
        super().__init__(_try_ways(items, begin, choice))


def _try_ways(items: Sequence[Any], begin: Callable[[Sequence[Any], bool], Any], choice: Choice) -> Generator[Any]:
    first = 0
    while first < len(items):
        has_threads = choice.has_threads
        last = len(items) if choice.is_made else min(first + IN_TURN, len(items))
        running = begin(items[first:last], has_threads)
        try:
            noted_at = time.perf_counter()
            for number, item in enumerate(running):
                yield item
                now = time.perf_counter()
                if number >= NOT_COUNTED:
                    choice.note(has_threads, now - noted_at)
                noted_at = now
        finally:
            running.close()
        first = last


def _run_stages(items: Iterable[Any], stages: Sequence[Stage]) -> Generator[Any]:
    for item in items:
        results = [item]
        for stage in stages:
            handed_on: list[Any] = []
            for result in results:
                stage(result, handed_on.append)
            results = handed_on
        yield from results


def _permitted(items: Iterable[Any], permits: Channel) -> Iterator[Any]:
    for item in items:
        permits.get()
        yield item


def _content(channel: Channel) -> Iterator[Any]:
    while True:
        item = channel.get()
        if isinstance(item, _End):
            if item.error is not None:
                raise item.error
            return
        yield item


def _work(source: Iterator[Any], stage: Stage, sink: Channel) -> None:
    work_alone()
    try:
        for item in source:
            stage(item, sink.put)
        sink.put(_End())
    except Closed:
        pass
    except BaseException as error:
        with suppress(Closed):
            sink.put(_End(error))


def _stop(channels: list[Channel], threads: list[threading.Thread]) -> None:
    for channel in channels:
        channel.close()
    if threading.current_thread() in threads:  # where garbage was collected; the others may wait for a lock held here
        return
    for thread in threads:
        if thread.is_alive():
            thread.join()
