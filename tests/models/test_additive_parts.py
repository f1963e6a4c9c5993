"""With some parts alone the additive GP is a simpler model, by literal algebra in that model's own terms.

Every oracle has the same flat constant; evidence, mean and covariance of all cells agree to 1e-10.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import oracles
import pytest
from additive_cases import Case, Scales, case, kriged, log_density, params, random_theta

from argbest.core import additive, priors
from argbest.core.arrays import Array
from argbest.core.priors import _ABSENT
from argbest.core.setting import Coordinates
from argbest.models.additive_gp import PARTS, AdditiveGP

KERNEL = "matern52"


class Answer(NamedTuple):
    evidence: float
    mean: Array  # [alternative, context]
    cov: Array  # [alternative, context, alternative, context]


def ours(one: Case, theta: Array, parts: tuple[str, ...] = PARTS) -> Answer:
    prior = one.prior(parts=parts)
    flat = priors.Hyperprior(np.where(np.arange(5) == 0, priors.FLAT, prior.rules), prior.starts)
    value, _, _ = additive.log_evidence(one.inputs(), one.tally, one.noise, flat, theta)
    belief = AdditiveGP().posterior(one.tally, one.setting, params(one, theta))
    k, c = np.indices(one.shape).reshape(2, -1)
    return Answer(float(value), belief.mean, belief.cov_rows(k, c).reshape(*one.shape, *one.shape))


def within(one: Case, scales: Scales) -> float:
    """log N of the observations given their means per cell, up to what the means' own density says.

    With S the covariance of the cell means, the density of all observations is that of the means times this.
    """
    tally, noise = one.tally, scales.noise * one.noise
    seen = tally.count > 0
    n, noise, m2 = tally.count[seen], noise[seen], tally.m2[seen]
    return float(-0.5 * np.sum((n - 1) * np.log(2 * np.pi * noise) + np.log(n) + m2 / noise))


def pooled(one: Case, scales: Scales) -> Answer:
    """One GP per alternative with common hyper-parameters, and one constant for all."""
    near = oracles.kernel(KERNEL, one.x, one.x, scales.lengths, scales.own)
    tally, parts = one.tally, []
    for k in range(one.shape[0]):
        seen = np.flatnonzero(tally.count[k])
        noisy = near[np.ix_(seen, seen)] + np.diag(scales.noise * one.noise[k, seen] / tally.count[k, seen])
        parts.append((near[:, seen] @ np.linalg.inv(noisy), seen, noisy))
    ones = [np.linalg.solve(noisy, np.ones(len(seen))) for _, seen, noisy in parts]
    means = [tally.mean[k, seen] for k, (_, seen, _) in enumerate(parts)]
    below = sum(float(weight.sum()) for weight in ones)
    constant = sum(float(weight @ y) for weight, y in zip(ones, means, strict=True)) / below
    value = within(one, scales) - 0.5 * np.log(below / (2 * np.pi))
    left, mean = np.empty(one.shape), np.empty(one.shape)
    cov = np.zeros((*one.shape, *one.shape))
    for k, (gain, seen, noisy) in enumerate(parts):
        rest = means[k] - constant
        value -= 0.5 * (np.linalg.slogdet(2 * np.pi * noisy)[1] + rest @ np.linalg.solve(noisy, rest))
        mean[k] = constant + gain @ rest
        left[k] = 1 - gain.sum(axis=1)
        cov[k, :, k] = near - gain @ near[seen]
    return Answer(float(value), mean, cov + np.multiply.outer(left, left) / below)


def product(one: Case, scales: Scales) -> Answer:
    """One GP over alternatives × contexts, κ_A ⊗ κ_C, with a flat constant: universal kriging."""
    related = one._related(KERNEL, scales.alternative_lengths)
    near = oracles.kernel(KERNEL, one.x, one.x, scales.lengths, scales.joint)
    return kriging(one, scales, np.asarray(np.kron(related, near), float))


def kriging(one: Case, scales: Scales, prior: Array) -> Answer:
    tally, seen = one.tally, np.flatnonzero(one.tally.count)
    noise = (scales.noise * one.noise).ravel()[seen] / tally.count.ravel()[seen]
    noisy, y = prior[np.ix_(seen, seen)] + np.diag(noise), tally.mean.ravel()[seen]
    mean, cov = kriged(noisy, y, prior[:, seen], prior)
    value = within(one, scales) + log_density(noisy, y)[0]
    return Answer(value, mean.reshape(one.shape), cov.reshape(*one.shape, *one.shape))


def shared(one: Case, scales: Scales) -> Answer:
    """f_k = g + δ_k with K_g and K_d = own + offset, alternative by alternative: no matrix of all cells.

    A_k = D½ B⁻¹ D½, Λ = Σ A_k, M = I + LᵀΛL, S_g = L M⁻¹ Lᵀ, T_k = I − K_d A_k with K_g = L Lᵀ; for two
    vectors over the cells uᵀS⁻¹v = Σ u_kᵀA_k v_k − (Σ A_k u_k)ᵀ S_g (Σ A_k v_k).
    """
    (n_alternatives, c), tally = one.shape, one.tally
    of_trend = oracles.kernel(KERNEL, one.x, one.x, scales.trend_lengths, scales.trend)
    own = oracles.kernel(KERNEL, one.x, one.x, scales.lengths, scales.own) + scales.offset
    root = np.sqrt(tally.count / (scales.noise * one.noise))
    bracket = [np.eye(c) + r[:, None] * own * r for r in root]
    a = np.stack([r[:, None] * np.linalg.inv(b) * r for r, b in zip(root, bracket, strict=True)])
    values, vectors = np.linalg.eigh(of_trend)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    middle = np.eye(c) + factor.T @ a.sum(axis=0) @ factor
    of_g = factor @ np.linalg.solve(middle, factor.T)
    ones, y = np.ones(one.shape), tally.mean

    def inner(u: Array, v: Array) -> float:
        return float(
            np.einsum("kc,kcd,kd->", u, a, v)
            - np.einsum("kcd,kd->c", a, u) @ of_g @ np.einsum("kcd,kd->c", a, v)
        )

    below = inner(ones, ones)
    constant = inner(ones, y) / below
    rest = y - constant
    size = sum(np.linalg.slogdet(b)[1] for b in bracket) + np.linalg.slogdet(middle)[1]
    noise = (scales.noise * one.noise / np.maximum(tally.count, 1))[tally.count > 0]
    value = within(one, scales) - 0.5 * np.log(below / (2 * np.pi))
    value -= 0.5 * (size + np.log(2 * np.pi * noise).sum() + inner(rest, rest))
    turn = np.eye(c) - own @ a
    pull = of_g @ np.einsum("kcd,kd->c", a, rest)
    mean = constant + np.einsum("cd,kde,ke->kc", own, a, rest) + turn @ pull
    cov = np.einsum("kcd,de,jfe->kcjf", turn, of_g, turn)
    # What the constant leaves: 1 − H, H the weights that all observations get together.
    flow = of_g @ np.einsum("kcd,kd->c", a, ones)
    left = 1 - np.einsum("cd,kde,ke->kc", own, a, ones) - turn @ flow
    for k in range(n_alternatives):
        cov[k, :, k] += own - own @ a[k] @ own
    return Answer(float(value), mean, cov + np.multiply.outer(left, left) / below)


ORACLES: dict[str, tuple[tuple[str, ...], bool, Callable[[Case, Scales], Answer]]] = {
    "own part of names: pooled GPs": (("own",), True, pooled),
    "own part of places: pooled GPs": (("own",), False, pooled),
    "joint part: the product kernel": (("joint",), False, product),
    "trend and own part of names": (("trend", "own"), True, shared),
    "trend, offset and own part of names": (("trend", "offset", "own"), True, shared),
}


@pytest.mark.parametrize("name", ORACLES)
def test_some_parts_alone_are_a_simpler_model(name: str) -> None:
    parts, names, oracle = ORACLES[name]
    rng = np.random.default_rng(30)
    for _ in range(8):
        one = case(rng, names=names)
        theta = random_theta(rng, one.prior(parts=parts))
        theta[-1] = np.log(rng.uniform(0.1, 1.0))  # precise data would ask for more digits than 1e-10 leaves
        found, expected = ours(one, theta, parts), oracle(one, Scales.of(theta, one.x.shape[1]))
        assert found.evidence == pytest.approx(expected.evidence, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-10, atol=1e-10)
        size = np.abs(expected.cov).max()
        np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-10, atol=1e-10 * max(size, 1.0))


def test_the_fit_leaves_out_the_other_parts() -> None:
    one = case(np.random.default_rng(31))
    for parts, _, _ in ORACLES.values():
        found = AdditiveGP(parts=parts).fit(one.tally, one.setting)
        for part in PARTS:
            assert (getattr(found, part) > 1e-6) == (part in parts)


def test_one_alternative_per_group_is_as_good_as_names() -> None:
    """Categories that all differ: with a short lengthscale the joint part is an own part, as of names."""
    rng = np.random.default_rng(32)
    for _ in range(5):
        one = case(rng, names=True)
        k, d = one.shape[0], one.x.shape[1]
        groups = one.inputs()._replace(
            alternatives=Coordinates(np.arange(float(k))[:, None], np.array([True]))
        )
        theta = random_theta(rng, one.prior(parts=("trend", "offset", "own")))
        theta[-1] = np.log(0.3)
        apart = theta.copy()
        apart[d], apart[-4], apart[-3] = np.log(0.05), np.log(0.4), theta[-3]
        theta[-3] = np.log(0.4 + np.exp(theta[-3]))
        flat = priors.Hyperprior(np.tile([priors.FLAT, 0, 0, -1e3, 1e3], (len(theta), 1)), theta[None])
        of_names, _, _ = additive.log_evidence(one.inputs(), one.tally, one.noise, flat, theta)
        of_groups, _, _ = additive.log_evidence(groups, one.tally, one.noise, flat, apart)
        assert float(of_groups) == pytest.approx(float(of_names), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("names", [False, True])
def test_with_one_context_it_is_a_gp_over_the_alternatives(names: bool) -> None:
    """Trend and joint part say nothing there; offset and own part make the covariance of the alternatives."""
    rng = np.random.default_rng(33)
    for _ in range(5):
        one = case(rng, names=names)
        kept = one.where % one.shape[1] == 0
        alone = Case(
            one.z,
            one.x[:1],
            (one.shape[0], 1),
            one.where[kept] // one.shape[1],
            one.y[kept],
            one.noise[:, :1],
        )
        theta = random_theta(rng, alone.prior())
        theta[-1] = np.log(0.3)
        scales = Scales.of(theta, alone.x.shape[1])
        related = (
            np.eye(len(one.noise)) if alone.z is None else alone._related(KERNEL, scales.alternative_lengths)
        )
        expected = kriging(alone, scales, scales.offset * related + scales.own * np.eye(len(related)))
        found = ours(alone, theta)
        assert scales.trend == pytest.approx(_ABSENT)
        assert found.evidence == pytest.approx(expected.evidence, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-10, atol=1e-10)
