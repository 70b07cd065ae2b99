"""EM by hand: two clouds in three dimensions, the E-step and the M-step in NumPy, and the library beside it."""

import sys
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

from bayeskit import GaussianMixture
from bayeskit.errors import NotConverged
from bayeskit.mixtures import match_labels

rng = np.random.default_rng(2024)
first = rng.multivariate_normal([0, 0, 0], np.diag([1, 2, 3]), 500)
second = rng.multivariate_normal([2, 2, 1], [[3, 1, 0], [1, 3, 0], [0, 0, 3]], 250)
X, cloud = np.vstack([first, second]), np.repeat([0, 1], [500, 250])
n, d = X.shape


def joint(weights, means, covariances):
    """Return log w_k N(x; μ_k, Σ_k) for every row and component."""
    columns = []
    for w, mean, covariance in zip(weights, means, covariances):
        z = np.linalg.solve(np.linalg.cholesky(covariance), (X - mean).T)
        size = d * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1]
        columns.append(np.log(w) - 0.5 * (size + (z**2).sum(axis=0)))
    return np.column_stack(columns)


def e_step(parameters):
    """Return the share of each component in each row, and the log-likelihood of all rows."""
    logs = joint(*parameters)
    of_rows = np.logaddexp.reduce(logs, axis=1)
    return np.exp(logs - of_rows[:, None]), of_rows.sum()


def m_step(shares):
    """Return weights, means and covariances; every row counts with its share."""
    size = shares.sum(axis=0)
    means = shares.T @ X / size[:, None]
    covariances = [(shares[:, k, None] * (X - m)).T @ (X - m) / size[k] for k, m in enumerate(means)]
    return size / n, means, np.array(covariances)


start = np.array([0.5, 0.5]), np.array([[-1.0, 0, 0], [1.0, 0, 0]]), np.array([np.eye(d), np.eye(d)])
shares, value = e_step(start)
print(f"The first row is {X[0].round(3)}; the start gives it to the two components as {shares[0].round(3)}.")
print(
    f"All rows together: {shares.sum(axis=0).round(1)} of {n}. These are the weights of the first M-step.\n"
)

parameters, history = start, [value]
for _ in range(60):
    parameters = m_step(shares)
    shares, value = e_step(parameters)
    history.append(value)
for step in (0, 1, 2, 5, 10, 20, 40, 60):
    print(f"  after {step:2} steps the log-likelihood is {history[step]:.4f}")
assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(history)), "it never falls"

given = {"weights_init": start[0], "means_init": start[1], "precisions_init": np.linalg.inv(start[2])}
warnings.simplefilter("ignore", NotConverged)  # sixty steps are asked for, still or not
same = GaussianMixture(2, reg_covar=0, tol=0, max_iter=60, **given).fit(X)
worst = max(np.abs(a - b).max() for a, b in zip(parameters, (same.weights_, same.means_, same.covariances_)))
print(f"\nThe library makes the same 60 steps: no number differs by more than {worst:.0e}.")

quick = GaussianMixture(2, reg_covar=0, tol=1e-9, max_iter=1000, accelerate=True, **given).fit(X)
slow = GaussianMixture(2, reg_covar=0, tol=1e-9, max_iter=1000, **given).fit(X)
print(
    f"Until still: {slow.n_iter_} steps; with extrapolation {quick.n_iter_}, to the same {quick.history_[-1]:.4f}."
)
print(quick.describe())

hard = GaussianMixture(2, reg_covar=0, hard=True, **given).fit(X)
for name, model in (("soft", quick), ("hard", hard)):
    matched = match_labels(model.predict(X), cloud)
    print(
        f"{name} EM puts {matched.accuracy:.1%} of the rows into their own cloud, second column of the means",
        end=" ",
    )
    print(model.means_[:, 1].round(2))
print("Giving each row wholly to one component pushes the means apart: the truth is 0 and 2.")

place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "em_by_hand.svg"
picture = quick.plot(X, labels=["of the first" if c == 0 else "of the second" for c in cloud], path=place)
print(f"\n{picture!r} was saved to {place}")
