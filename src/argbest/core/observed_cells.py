"""The cells of a study that hold observations: only those enter an evidence; compiled by Numba."""

import numpy as np

from argbest.core.cholesky import compiled


@compiled
def observed_cells(count, mean, m2, noise):  # type: ignore[no-untyped-def]
    """Return the observed cells of a study, in contiguous arrays.

    ``place`` [2, cell] holds alternative and context; ``cells`` [3, cell] count, mean and relative noise;
    ``totals`` n, Σ W/noise and Σ N log noise.
    """
    m = 0
    for k in range(count.shape[0]):
        for c in range(count.shape[1]):
            m += count[k, c] > 0
    place, cells, totals = np.empty((2, m), np.int64), np.empty((3, m)), np.zeros(3)
    i = 0
    for k in range(count.shape[0]):
        for c in range(count.shape[1]):
            if count[k, c] > 0:
                place[0, i], place[1, i] = k, c
                cells[0, i], cells[1, i], cells[2, i] = count[k, c], mean[k, c], noise[k, c]
                totals[0] += count[k, c]
                totals[1] += m2[k, c] / noise[k, c]
                totals[2] += count[k, c] * np.log(noise[k, c])
                i += 1
    return place, cells, totals
