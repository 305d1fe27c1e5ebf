"""Workers: results arrive in the thread of the page, one at a time, and nothing is left running."""

import asyncio
import threading
import time

import pytest

from etgp_viz.explorers import background
from etgp_viz.explorers.background import Worker


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(background, "PAUSE", 0.02)


class Page:
    """What a page does with a worker, on record."""

    def __init__(self, pieces=10**9, fail_at=None):
        self.count, self.pieces, self.fail_at = 0, pieces, fail_at
        self.seen, self.threads, self.lasts, self.ends = [], set(), [], []

    def work(self):
        time.sleep(0.002)
        self.count += 1
        if self.count == self.fail_at:
            raise ArithmeticError("no way on")
        return self.count < self.pieces

    def look(self, last):
        self.lasts.append(last)
        return self.count

    def show(self, seen):
        self.threads.add(threading.get_ident())
        self.seen.append(seen)

    def done(self, error):
        self.threads.add(threading.get_ident())
        self.ends.append(error)

    def worker(self):
        return Worker(self.work, self.look, self.show, self.done).start()


async def until(condition):
    end = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def test_results_arrive_in_the_thread_of_the_loop_and_it_goes_on_meanwhile():
    page = Page(pieces=100)

    async def main():
        ticks = 0
        page.worker()
        while not page.ends:
            await asyncio.sleep(0.002)
            ticks += 1
        return ticks

    assert asyncio.run(main()) > 20
    assert page.threads == {threading.get_ident()}
    assert len(page.seen) > 2
    assert page.seen == sorted(page.seen)
    assert page.seen[-1] == 100
    assert page.ends == [None]
    assert page.lasts.count(True) == 1
    assert page.lasts[-1]


def test_stop_ends_with_a_last_look():
    page = Page()

    async def main():
        worker = page.worker()
        await until(lambda: len(page.seen) > 1)
        worker.stop()
        await until(lambda: page.ends)

    asyncio.run(main())
    assert page.seen[-1] == page.count
    assert page.lasts[-1]


def test_an_abandoned_worker_says_nothing_more():
    page = Page()

    async def main():
        worker = page.worker()
        await until(lambda: page.seen)
        worker.abandon()
        said = len(page.seen)
        worker.join(10.0)
        await asyncio.sleep(0.05)
        assert len(page.seen) == said
        assert not worker._thread.is_alive()

    asyncio.run(main())
    assert page.ends == []
    assert True not in page.lasts


def test_an_error_is_handed_on():
    page = Page(fail_at=5)

    async def main():
        page.worker()
        await until(lambda: page.ends)

    asyncio.run(main())
    assert str(page.ends[0]) == "no way on"


def test_a_busy_loop_gets_one_result_and_no_backlog():
    page = Page()

    async def main():
        worker = page.worker()
        await until(lambda: page.seen)
        said, looks = len(page.seen), len(page.lasts)
        time.sleep(0.4)  # a cell that runs: the loop cannot show anything, the work goes on
        assert len(page.lasts) <= looks + 1
        await asyncio.sleep(0)
        assert len(page.seen) <= said + 1
        worker.stop()
        await until(lambda: page.ends)

    asyncio.run(main())


def test_without_a_loop_results_come_at_once():
    page = Page(pieces=5)
    page.worker().join(10.0)
    assert page.ends == [None]
    assert page.seen[-1] == 5


def test_all_workers_can_be_stopped_and_leave_with_the_interpreter():
    pages = Page(), Page()
    workers = [page.worker() for page in pages]
    background.stop_all()
    for worker in workers:
        worker.join(10.0)
    assert [page.ends for page in pages] == [[None], [None]]
    page = Page()
    worker = page.worker()
    background._leave()
    assert not worker._thread.is_alive()
    assert page.ends == []
