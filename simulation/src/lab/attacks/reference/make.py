"""Writes values.txt: what attacks send, by the formulas of their papers in NumPy.

    python make.py > values.txt

Needs Python 3.10 and NumPy 2. Nothing here is taken from the lab: `mean`, `std` and the eigenvectors are NumPy's, the quantile
is of the standard library.
"""

from statistics import NormalDist

import numpy as np

CLIENTS = 25
MALICIOUS = 5
rng = np.random.default_rng(7)
own = np.float32(rng.normal(0.05, 0.2, (MALICIOUS, 12)))
honest = np.float32(rng.normal(0.05, 0.2, (CLIENTS - MALICIOUS, 12)))


def row(name, values):
    print(name, *[repr(float(x)) for x in np.ravel(values)])


def alie(updates):
    """Baruch et al. 2019, Algorithm 3."""
    s = CLIENTS // 2 + 1 - MALICIOUS
    z = NormalDist().inv_cdf((CLIENTS - MALICIOUS - s) / (CLIENTS - MALICIOUS))
    return updates.mean(axis=0) - z * updates.std(axis=0)


def ipm(updates, epsilon):
    """Xie et al. 2020, section 4."""
    return -epsilon * updates.mean(axis=0)


def mimic(updates):
    """Karimireddy et al. 2022, appendix B, of one round: the direction of most variance, and who lies furthest along it."""
    centred = updates - updates.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return updates[np.argmax(np.abs(updates @ vectors[:, -1]))]


def farthest(updates, allowed):
    """Shejwalkar and Houmansadr 2021, Algorithm 1, with the inverse standard deviation."""
    mean, p = updates.mean(axis=0), -updates.std(axis=0)
    gamma, step, found = 10.0, 10.0, 0.0
    while step > 1e-5:
        step /= 2
        if allowed(mean + gamma * p):
            found = gamma
            gamma += step
        else:
            gamma -= step
    return mean + found * p


def squares(u, updates):
    return ((updates - u) ** 2).sum(axis=1)


def min_max(updates):
    """Equation 7."""
    most = max(squares(v, updates).max() for v in updates)
    return farthest(updates, lambda u: squares(u, updates).max() <= most)


def min_sum(updates):
    """Equation 8."""
    most = max(squares(v, updates).sum() for v in updates)
    return farthest(updates, lambda u: squares(u, updates).sum() <= most)


row("own", own)
row("honest", honest)
own, honest = own.astype(np.float64), honest.astype(np.float64)
row("alie", alie(own))
row("ipm", ipm(own, 0.5))
row("mimic", mimic(honest))
row("min-max", min_max(own))
row("min-sum", min_sum(own))
