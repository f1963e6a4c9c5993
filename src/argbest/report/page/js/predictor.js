// Predictions from a prediction kit: what is best in a context, and how surely.
(function (argbest) {
  "use strict";

  const FAR = 100; // ranges and standard deviations of a context: no probability reaches so far
  const ALONE = { runnerUp: null, gap: null, gapSd: null };
  const UNANSWERED = { ...ALONE, selected: null, pBest: null, expectedLoss: null };

  /** Predictions worked out beforehand: the nearest listed point answers. */
  function nearest(kit, context) {
    let best = 0,
      least = Infinity;
    kit.points.forEach((point, i) => {
      let distance = 0;
      kit.coordinates.forEach((coordinate, j) => {
        distance += argbest.beliefs.separation(coordinate, context[j], point[j]);
      });
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  }

  /**
   * An object that predicts: `moments(context)` gives mean and sd of every alternative, in the user's sign,
   * and the `centre` of the normal belief, which is the mean but for a rate, whose means stay within 0 and 1;
   * `interval(centre, sd, z)` gives the ends z standard deviations away, of a rate within 0 and 1 too; `at(context)` adds the choice, P(best) and the expected loss. A context is an array of values in the
   * order of the kit's coordinates. `at` also says which context it answers for: listed kits know only some.
   * What is ruled out is not selected; `selected` is null where nothing is left, and so is `runnerUp` where
   * there is one alternative alone. `own(c)` gives what the study itself says of its c-th context, if
   * anything: probability, pBest and expectedLoss; these are then not worked out again.
   */
  argbest.predictor = function (kit, own = () => null) {
    const isListed = kit.family === "listed";
    const belief = isListed ? null : argbest.beliefs[kit.family](kit);
    const normals = kit.sobol ? argbest.certainty.sobolNormals(kit.sobol) : null;
    const { clip, clippedMean } = argbest.normal;
    const signed = (mean) => Array.from(mean, (value) => kit.sign * value);
    const reported = (centre, sd) => (kit.rate ? centre.map((value, k) => clippedMean(value, sd[k])) : centre);
    const interval = (centre, sd, z) =>
      [centre - z * sd, centre + z * sd].map((end) => (kit.rate ? clip(end) : end));
    const known = kit.coordinates[0].values.length;

    /** The position of a simulated context, -1 of another. */
    function simulated(context) {
      const same = (c) =>
        kit.coordinates.every(
          (each, j) => argbest.beliefs.separation(each, context[j], each.values[c]) === 0,
        );
      let c = 0;
      while (c < known && !same(c)) c++;
      return c < known ? c : -1;
    }

    /** The alternatives that cannot be selected in a context: those ruled out there, or `elsewhere`. */
    function ruledOut(context) {
      if (!kit.ruled_out) return [];
      const c = simulated(context);
      return c < 0 ? kit.ruled_out.elsewhere : kit.ruled_out.at[c];
    }

    const deviations = (found) =>
      found.sd || found.mean.map((_, k) => Math.sqrt(Math.max(found.cov[k * found.mean.length + k], 0)));

    function moments(context) {
      if (isListed) {
        const i = nearest(kit, context);
        return described(kit.mean[i], kit.sd[i], kit.points[i]);
      }
      const found = belief(context);
      return described(found.mean, deviations(found), context);
    }

    function described(mean, sd, context) {
      const centre = signed(mean);
      return { mean: reported(centre, sd), centre, sd, context };
    }

    function at(context) {
      if (isListed) {
        const i = nearest(kit, context);
        const mean = amongTheRest(kit.mean[i], kit.sd[i], ruledOut(kit.points[i]));
        return answer(kit.points[i], kit.mean[i], kit.sd[i], mean, {
          probability: kit.probability[i],
          pBest: kit.p_best[i],
          expectedLoss: kit.expected_loss[i],
          differenceSd: kit.difference_sd[i],
        });
      }
      const found = belief(context),
        sd = deviations(found),
        mean = amongTheRest(Array.from(found.mean), sd, ruledOut(context)),
        selected = largest(mean);
      const sure = found.cov
        ? argbest.certainty.correlated(mean, found.cov, selected, normals)
        : argbest.certainty.independent(mean, sd, selected);
      const c = simulated(context),
        said = c < 0 ? null : own(c);
      return answer(context, found.mean, sd, mean, { ...sure, ...said });
    }

    /** The answer; `compared` are the means with those ruled out far below. */
    function answer(context, mean, sd, compared, sure) {
      const { differenceSd, ...rest } = sure,
        left = mean.length - ruledOut(context).length,
        selected = largest(compared);
      rest.probability = agreeing(rest.probability, selected, rest.pBest, compared);
      const choice = { selected, runnerUp: runnerUp(rest.probability, selected, compared) };
      const found = { context, ...choice, ...rest, sd, mean: reported(signed(mean), sd) };
      if (left < 1) return { ...found, ...UNANSWERED, probability: Array.from(mean, () => null) };
      if (left < 2) return { ...found, ...ALONE };
      return {
        ...found,
        gap: mean[choice.selected] - mean[choice.runnerUp],
        gapSd: differenceSd[choice.runnerUp],
      };
    }

    return { moments, at, interval };
  };

  /** Means with those ruled out far below all others, as in the library; as they are where nothing is left. */
  function amongTheRest(mean, sd, out) {
    if (!out.length || out.length === mean.length) return mean;
    const kept = mean.filter((_, k) => !out.includes(k)),
      low = Math.min(...kept),
      width = Math.max(...kept) - low + Math.max(...sd);
    const below = low - FAR * (width > 0 ? width : Math.max(Math.abs(low), 1));
    return mean.map((value, k) => (out.includes(k) ? below : value));
  }

  /** Where the largest value is; the first of those tied. */
  function largest(values) {
    return values.indexOf(Math.max(...values));
  }

  /** Of all but the selected alternative the likeliest to be the best, ties but for rounding by mean. */
  function runnerUp(probability, selected, mean) {
    const others = [...mean.keys()].filter((k) => k !== selected),
      chance = probability.map((p) => Math.round(p * 1e9));
    return others.reduce(
      (best, k) => (chance[k] - chance[best] || mean[k] - mean[best]) > 0 ? k : best,
      others[0],
    );
  }

  /** P(best) with that of the selected one as it is said elsewhere; the others share what is left. */
  function agreeing(probability, selected, pBest, mean) {
    const others = Array.from(probability, (p, k) => (k === selected ? 0 : p));
    let rest = others.reduce((sum, p) => sum + p, 0);
    if (!(rest > 0) && mean.length > 1) {
      others[largest(mean.map((value, k) => (k === selected ? -Infinity : value)))] = 1;
      rest = 1;
    }
    return others.map((p, k) => (k === selected ? pBest : rest > 0 ? (p * (1 - pBest)) / rest : 0));
  }
})((globalThis.argbest = globalThis.argbest || {}));
