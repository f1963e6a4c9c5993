// Beliefs in any context: the tally and the hyper-parameters of a prediction kit, conditioned here.
(function (argbest) {
  "use strict";

  const { cholesky, solveLower, dot } = argbest.matrix;

  const CORRELATIONS = {
    rbf: (r2) => Math.exp(-0.5 * r2),
    matern12: (r2) => Math.exp(-Math.sqrt(r2)),
    matern32: (r2) => {
      const a = Math.sqrt(3 * r2);
      return (1 + a) * Math.exp(-a);
    },
    matern52: (r2) => {
      const a = Math.sqrt(5 * r2);
      return (1 + a + (a * a) / 3) * Math.exp(-a);
    },
  };

  /** Squared distance of two values along a coordinate, scaled by its bounds; 1 for different categories. */
  function separation(coordinate, one, two) {
    if (coordinate.kind === "category") return one === two ? 0 : 1;
    const width = coordinate.high - coordinate.low;
    return width > 0 ? ((Number(one) - Number(two)) / width) ** 2 : 0;
  }

  /** scale · correlation of a context (an array of values) with every simulated one. */
  function covariances(kit, lengthscale, scale, context) {
    const correlation = CORRELATIONS[kit.kernel];
    return Float64Array.from(kit.coordinates[0].values, (_, c) => {
      let r2 = 0;
      kit.coordinates.forEach((coordinate, j) => {
        r2 += separation(coordinate, context[j], coordinate.values[c]) / lengthscale[j] ** 2;
      });
      return scale * correlation(r2);
    });
  }

  /** The same between all simulated contexts, [C × C]. */
  function priorCovariance(kit, lengthscale, scale) {
    const n = kit.coordinates[0].values.length,
      table = new Float64Array(n * n);
    for (let c = 0; c < n; c++) {
      const own = kit.coordinates.map((coordinate) => coordinate.values[c]);
      table.set(covariances(kit, lengthscale, scale, own), c * n);
    }
    return table;
  }

  /** D½ and the Cholesky factor of I + D½ K D½, D = diag(count / noise); it needs no jitter. */
  function bracket(prior, n, count, noise) {
    const root = Float64Array.from(count, (number, i) => {
      if (!(number > 0)) return 0;
      return Math.sqrt(number / Math.max(noise[i], 1e-14 * number * prior[i * n + i]));
    });
    const lower = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) lower[i * n + j] = root[i] * prior[i * n + j] * root[j] + (i === j ? 1 : 0);
    }
    return { root, lower: cholesky(lower, n) };
  }

  const scaled = (root, x) => x.map((value, i) => root[i] * value);

  function residuals(count, mean, constant) {
    return Float64Array.from(mean, (value, i) => (count[i] > 0 ? value - constant : 0));
  }

  /** One GP per alternative: mean m + kᵀA(Ȳ − m), variance scale − kᵀA k, A = D½(I + D½KD½)⁻¹D½. */
  function gp(kit) {
    const n = kit.coordinates[0].values.length;
    const parts = kit.count.map((count, k) => {
      const prior = priorCovariance(kit, kit.lengthscale[k], kit.scale[k]);
      const part = bracket(prior, n, count, kit.noise[k]);
      part.weighted = solveLower(
        part.lower,
        n,
        scaled(part.root, residuals(count, kit.mean[k], kit.constant[k])),
      );
      return part;
    });
    return (context) => {
      const mean = [],
        sd = [];
      parts.forEach((part, k) => {
        const cross = covariances(kit, kit.lengthscale[k], kit.scale[k], context);
        const half = solveLower(part.lower, n, scaled(part.root, cross));
        mean.push(kit.constant[k] + dot(half, part.weighted));
        sd.push(Math.sqrt(Math.max(kit.scale[k] - dot(half, half), 0)));
      });
      return { mean, sd };
    };
  }

  /** A line per alternative: mean zᵀβ, variance zᵀ Cov z. */
  function linear(kit) {
    return (context) => {
      const z = [
        1,
        ...kit.ends.map((end) => {
          const coordinate = kit.coordinates[end.coordinate],
            at = context[end.coordinate];
          const a = coordinate.values[end.from],
            b = coordinate.values[end.to];
          const apart = separation(coordinate, at, a) - separation(coordinate, at, b);
          return 0.5 * (apart / separation(coordinate, a, b) + 1);
        }),
      ];
      const mean = kit.coefficients.map((beta) => dot(z, beta));
      const sd = kit.covariance.map((cov) =>
        Math.sqrt(
          Math.max(
            dot(
              z,
              cov.map((row) => dot(z, row)),
            ),
            0,
          ),
        ),
      );
      return { mean, sd };
    };
  }

  /** Trend, offset, joint and own part, from the observed cells alone; the constant is integrated. */
  function additive(kit) {
    const n = kit.coordinates[0].values.length,
      cells = [];
    kit.count.forEach((row, k) => row.forEach((number, c) => number > 0 && cells.push({ k, c })));
    const m = cells.length,
      common = priorCovariance(kit, kit.trend_lengthscale, kit.trend),
      near = priorCovariance(kit, kit.lengthscale, 1);
    const between = (a, b, trend, nearness) =>
      trend + kit.relation[a][b] * (kit.offset + kit.joint * nearness) + (a === b ? kit.own * nearness : 0);
    const prior = new Float64Array(m * m);
    cells.forEach((one, i) => {
      cells.forEach((two, j) => {
        const at = one.c * n + two.c;
        prior[i * m + j] = between(one.k, two.k, common[at], near[at]);
      });
    });
    const pick = (table) => cells.map(({ k, c }) => table[k][c]);
    const { root, lower } = bracket(prior, m, pick(kit.count), pick(kit.noise));
    const level = pick(kit.mean).map((value) => value - kit.shift);
    const ones = solveLower(lower, m, Float64Array.from(root)),
      values = solveLower(lower, m, scaled(root, Float64Array.from(level)));
    const below = dot(ones, ones),
      constant = dot(ones, values) / below,
      rest = values.map((value, i) => value - constant * ones[i]);
    return (context) => {
      const toTrend = covariances(kit, kit.trend_lengthscale, kit.trend, context),
        toNear = covariances(kit, kit.lengthscale, 1, context);
      const halves = kit.relation.map((_, a) => {
        const toward = cells.map(({ k, c }, i) => root[i] * between(a, k, toTrend[c], toNear[c]));
        return solveLower(lower, m, Float64Array.from(toward));
      });
      const left = halves.map((half) => (1 - dot(half, ones)) / Math.sqrt(below)),
        size = halves.length,
        cov = new Float64Array(size * size);
      for (let a = 0; a < size; a++) {
        for (let b = 0; b < size; b++) {
          cov[a * size + b] = between(a, b, kit.trend, 1) - dot(halves[a], halves[b]) + left[a] * left[b];
        }
      }
      return { mean: halves.map((half) => kit.shift + constant + dot(half, rest)), cov };
    };
  }

  // Each gives a function of a context: its mean, and sd of independent or cov of correlated alternatives.
  argbest.beliefs = { gp, linear, additive, separation };
})((globalThis.argbest = globalThis.argbest || {}));
