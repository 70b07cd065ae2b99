"""Linear algebra on one thread: what the libraries are set to inside, and what is left behind."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import ThreadpoolController, threadpool_limits

from bayeskit import AutoBayes, GaussianBayes, GaussianMixture, learn_network
from bayeskit._blas import OneBlasThread, one_blas_thread


def threads() -> set[int]:
    return {found.num_threads for found in ThreadpoolController().select(user_api="blas").lib_controllers}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has no threads to set")
        yield


def test_inside_there_is_one_thread_and_afterwards_as_many_as_before() -> None:
    with one_blas_thread:
        assert threads() == {1}
        with one_blas_thread:
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_an_error_leaves_the_setting_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread:
        raise ZeroDivisionError
    assert threads() == {2}


def test_the_setting_is_restored_whichever_thread_leaves_last() -> None:
    context = OneBlasThread()
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with context:
            entered.set()
            leave.wait(60)

    other = threading.Thread(target=stay)
    with context:
        other.start()
        entered.wait(60)
    assert threads() == {1}
    leave.set()
    other.join()
    assert threads() == {2}


def test_every_thread_gets_one_thread_of_blas() -> None:
    with one_blas_thread:
        pass  # threadpoolctl would let this thread alone change the setting from now on
    seen: list[set[int]] = []

    def look() -> None:
        with one_blas_thread:
            seen.append(threads())

    for _ in range(3):
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert seen == [{1}] * 3
    assert threads() == {2}


ROWS = np.random.default_rng(0).normal(size=(120, 4))
LABELS = np.where(ROWS[:, 0] + 0.3 * ROWS[:, 1] ** 2 > 0.2, "yes", "no")
WORK = {
    "AutoBayes": lambda: AutoBayes(effort="fast").fit(ROWS, LABELS),
    "GaussianBayes": lambda: GaussianBayes("full").fit(ROWS, LABELS).leave_one_out(ROWS, LABELS),
    "GaussianMixture": lambda: GaussianMixture(2, random_state=0).fit(ROWS),
    # Two columns that are nearly collinear: others are scored by kernels, without BLAS.
    "learn_network": lambda: learn_network(
        {**{f"x{j}": ROWS[:, j] for j in range(4)}, "copy": ROWS[:, 0] + 1e-9 * ROWS[:, 1]}
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_models_factorise_on_one_thread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []

    def watched(function):
        def call(*args, **more):
            seen.append(threads())
            return function(*args, **more)

        return call

    import bayeskit._conditionals.log_linear_weights as log_linear

    monkeypatch.setattr(log_linear, "cholesky", watched(scipy.linalg.cholesky))
    for one in ("solve", "eigh", "svd", "cholesky", "eigvalsh", "slogdet", "inv"):
        monkeypatch.setattr(np.linalg, one, watched(getattr(np.linalg, one)))
    WORK[name]()
    assert seen
    assert all(found == {1} for found in seen)
    assert threads() == {2}
