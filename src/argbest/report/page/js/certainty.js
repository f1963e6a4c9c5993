// How sure a choice is: P(best) and expected loss of normal rewards at one context; larger is better.
(function (argbest) {
  "use strict";

  const { density, below, quantile, excess } = argbest.normal;
  const REACH = 9; // standard deviations: Φ(−9) = 1e-19
  const NODES = 12;
  const RIVAL = 6; // standard deviations behind which a correlated rival does not count, as in the library
  const POINTS = 4096;

  const legendre = (function () {
    const rule = [];
    for (let i = 0; i < NODES; i++) {
      let x = Math.cos((Math.PI * (i + 0.75)) / (NODES + 0.5)),
        slope = 1;
      for (let step = 0; step < 20; step++) {
        let before = 1,
          now = x;
        for (let n = 2; n <= NODES; n++)
          [before, now] = [now, ((2 * n - 1) * x * now - (n - 1) * before) / n];
        slope = (NODES * (x * now - before)) / (x * x - 1);
        x -= now / slope;
      }
      rule.push([0.5 * (1 + x), 1 / ((1 - x * x) * slope * slope)]);
    }
    return rule;
  })();

  /** The integral of a function (of a node, with the weight to add) over panels that resolve every normal. */
  function integrate(low, high, mean, sd, add) {
    const widths = sd.filter((s) => s > 0);
    const least = 0.25 * Math.min(...widths);
    const edges = [];
    for (let k = 0; k < mean.length; k++) {
      if (!(sd[k] > 0)) continue;
      for (let step = -2 * REACH; step <= 2 * REACH; step++) {
        const edge = mean[k] + 0.5 * step * sd[k];
        if (edge > low && edge < high) edges.push(edge);
      }
    }
    edges.sort((a, b) => a - b).push(high);
    let left = low;
    for (const edge of edges) {
      if (edge - left < least && edge < high) continue;
      for (const [node, weight] of legendre) add(left + node * (edge - left), weight * (edge - left));
      left = edge;
    }
  }

  /** P(f_k ≥ all others) of independent normals; those known exactly and tied all count as best. */
  function wins(mean, sd) {
    const n = mean.length,
      won = new Float64Array(n);
    const low = Math.max(...mean.map((m, k) => m - REACH * sd[k]));
    const contends = mean.map((m, k) => m + REACH * sd[k] >= low);
    const kept = [...mean.keys()].filter((k) => contends[k] && sd[k] > 0);
    const known = Math.max(...mean.filter((_, k) => sd[k] === 0), -Infinity);
    for (let k = 0; k < n; k++) {
      if (sd[k] !== 0 || mean[k] < known) continue;
      won[k] = kept.reduce((product, j) => product * below((mean[k] - mean[j]) / sd[j]), 1);
    }
    if (!kept.length) return won;
    const m = kept.map((k) => mean[k]),
      s = kept.map((k) => sd[k]);
    const high = Math.max(...m.map((value, i) => value + REACH * s[i]));
    const cdf = new Float64Array(kept.length),
      before = new Float64Array(kept.length);
    integrate(low, high, m, s, (x, weight) => {
      let product = 1;
      for (let i = 0; i < kept.length; i++) {
        cdf[i] = below((x - m[i]) / s[i]);
        before[i] = product;
        product *= cdf[i];
      }
      let after = weight;
      for (let i = kept.length - 1; i >= 0; i--) {
        won[kept[i]] += (density((x - m[i]) / s[i]) / s[i]) * before[i] * after;
        after *= cdf[i];
      }
    });
    return won.map((p) => Math.min(Math.max(p, 0), 1));
  }

  /** E[max f − f_b] = ∫ F_b (1 − Π_{j≠b} F_j) dx of independent normals. */
  function independentLoss(mean, sd, b) {
    const rivals = [...mean.keys()].filter((k) => k !== b);
    const low = mean[b] - REACH * sd[b];
    const high = Math.max(...rivals.map((k) => mean[k] + REACH * sd[k]));
    if (!(high > low)) return 0;
    let loss = 0;
    // Point masses end where their steps are: the ranges between them are smooth.
    const steps = rivals.filter((k) => sd[k] === 0 && mean[k] > low && mean[k] < high).map((k) => mean[k]);
    const ends = [low, ...steps.sort((x, y) => x - y), high];
    for (let i = 0; i + 1 < ends.length; i++) {
      const add = (x, weight) => {
        let log = 0;
        for (const k of rivals) {
          log += sd[k] > 0 ? Math.log1p(-below((mean[k] - x) / sd[k])) : x >= mean[k] ? 0 : -Infinity;
        }
        const own = sd[b] > 0 ? below((x - mean[b]) / sd[b]) : 1;
        loss += weight * own * -Math.expm1(log);
      };
      if (sd.some((s) => s > 0)) integrate(ends[i], ends[i + 1], mean, sd, add);
      else
        for (const [node, weight] of legendre) {
          add(ends[i] + node * (ends[i + 1] - ends[i]), weight * (ends[i + 1] - ends[i]));
        }
    }
    return loss;
  }

  /** Everything about a choice among independent normals. */
  function independent(mean, sd, b) {
    const won = wins(mean, sd);
    const known = Math.max(...mean.filter((_, k) => sd[k] === 0), -Infinity);
    const tied = mean.filter((m, k) => sd[k] === 0 && m === known).length;
    return {
      probability: Array.from(won, (p, k) => (sd[k] === 0 && mean[k] === known ? p / tied : p)),
      pBest: won[b],
      expectedLoss: independentLoss(mean, sd, b),
      differenceSd: sd.map((s, k) => (k === b ? 0 : Math.hypot(s, sd[b]))),
    };
  }

  /** The normal quantiles [point × k] of the library's Sobol points, from the few that span them. */
  function sobolNormals(sobol) {
    const cache = new Map();
    return function (k) {
      if (!cache.has(k)) {
        const all = 2 ** Math.ceil(Math.log2(k)); // coordinates of the points, of which the first k are used
        const bytes = Uint8Array.from(atob(sobol[all]), (letter) => letter.charCodeAt(0));
        const view = new DataView(bytes.buffer);
        const base = Int32Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
        const normals = new Float64Array(POINTS * k),
          whole = new Int32Array(POINTS * k);
        for (let n = 0; n < POINTS; n++) {
          const top = n ? 31 - Math.clz32(n) : 0,
            rest = n ? n - 2 ** top : 0;
          for (let j = 0; j < k; j++) {
            whole[n * k + j] = n ? whole[rest * k + j] ^ base[(top + 1) * all + j] ^ base[j] : base[j];
            normals[n * k + j] = quantile((whole[n * k + j] + 0.5) / 2 ** 30);
          }
        }
        cache.set(k, normals);
      }
      return cache.get(k);
    };
  }

  /** Call visit with the rewards of some alternatives at every Sobol point. */
  function draw(mean, cov, kept, normals, visit) {
    const n = mean.length,
      m = kept.length,
      top = Math.max(...mean);
    const part = new Float64Array(m * m),
      z = normals(m),
      rewards = new Float64Array(m);
    kept.forEach((k, i) =>
      kept.forEach((j, o) => {
        part[i * m + o] = cov[k * n + j];
      }),
    );
    const root = argbest.matrix.squareRoot(part, m);
    for (let point = 0; point < POINTS; point++) {
      for (let i = 0; i < m; i++) {
        let sum = 0;
        for (let o = 0; o < m; o++) sum += z[point * m + o] * root[i * m + o];
        rewards[i] = mean[kept[i]] - top + sum;
      }
      visit(rewards);
    }
  }

  /** The same of alternatives that covary, cov [k × k]: by Sobol points, between closed-form bounds. */
  function correlated(mean, cov, b, normals) {
    const n = mean.length,
      everyone = [...mean.keys()],
      others = everyone.filter((k) => k !== b);
    const gap = mean.map((m) => mean[b] - m);
    const spread = everyone.map((k) =>
      k === b ? 0 : Math.sqrt(Math.max(cov[k * n + k] + cov[b * n + b] - 2 * cov[k * n + b], 0)),
    );
    const ratio = gap.map((g, k) => (spread[k] > 0 ? g / spread[k] : Infinity));
    const kept = everyone.filter((k) => ratio[k] < RIVAL || gap[k] === 0); // known equals too
    const said = kept.length < 3 ? pair(n, kept, b, ratio) : average(mean, cov, b, normals, kept);
    const bound = 1 - others.reduce((sum, k) => sum + below(-ratio[k]), 0);
    const least = Math.min(...others.map((k) => below(ratio[k])));
    const losses = others.map((k) => (spread[k] > 0 ? spread[k] * excess(ratio[k]) : 0));
    return {
      probability: said.probability,
      pBest: Math.min(Math.max(said.right, bound), least),
      expectedLoss: Math.min(
        Math.max(said.loss, ...losses),
        losses.reduce((sum, value) => sum + value, 0),
      ),
      differenceSd: spread,
    };
  }

  /** What is said of the choice and at most one rival: the rest follows from bounds. */
  function pair(n, kept, b, ratio) {
    const probability = new Array(n).fill(0);
    for (const k of kept) probability[k] = k === b ? 0 : ratio[k] < RIVAL ? below(-ratio[k]) : 0.5;
    probability[b] = 1 - probability.reduce((sum, value) => sum + value, 0);
    return { probability, right: 1, loss: 0 };
  }

  /** The shares of the points at which each is best and b is, and the mean of what b loses. */
  function average(mean, cov, b, normals, kept) {
    const probability = new Array(mean.length).fill(0),
      own = kept.indexOf(b);
    let right = 0,
      loss = 0;
    draw(mean, cov, kept, normals, (rewards) => {
      const best = Math.max(...rewards);
      const tied = rewards.reduce((sum, value) => sum + (value === best), 0);
      rewards.forEach((value, i) => (probability[kept[i]] += value === best ? 1 / tied / POINTS : 0));
      right += (best === rewards[own]) / POINTS;
      loss += (best - rewards[own]) / POINTS;
    });
    return { probability, right, loss };
  }

  argbest.certainty = { independent, correlated, sobolNormals };
})((globalThis.argbest = globalThis.argbest || {}));
