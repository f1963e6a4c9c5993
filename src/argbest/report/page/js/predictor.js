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
   * there is one alternative alone.
   */
  argbest.predictor = function (kit) {
    const isListed = kit.family === "listed";
    const belief = isListed ? null : argbest.beliefs[kit.family](kit);
    const normals = kit.sobol ? argbest.certainty.sobolNormals(kit.sobol) : null;
    const { clip, clippedMean } = argbest.normal;
    const signed = (mean) => Array.from(mean, (value) => kit.sign * value);
    const reported = (centre, sd) => (kit.rate ? centre.map((value, k) => clippedMean(value, sd[k])) : centre);
    const interval = (centre, sd, z) =>
      [centre - z * sd, centre + z * sd].map((end) => (kit.rate ? clip(end) : end));
    const known = kit.coordinates[0].values.length;

    /** The alternatives that cannot be selected in a context: those ruled out there, or `elsewhere`. */
    function ruledOut(context) {
      if (!kit.ruled_out) return [];
      const same = (c) =>
        kit.coordinates.every(
          (each, j) => argbest.beliefs.separation(each, context[j], each.values[c]) === 0,
        );
      let c = 0;
      while (c < known && !same(c)) c++;
      return c < known ? kit.ruled_out.at[c] : kit.ruled_out.elsewhere;
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
        const mean = amongTheRest(kit.mean[i], kit.sd[i], ruledOut(kit.points[i])),
          choice = chosen(mean);
        return answer(kit.points[i], kit.mean[i], kit.sd[i], choice, {
          probability: kit.probability[i],
          pBest: kit.p_best[i],
          expectedLoss: kit.expected_loss[i],
          differenceSd: kit.difference_sd[i],
        });
      }
      const found = belief(context),
        sd = deviations(found),
        mean = amongTheRest(Array.from(found.mean), sd, ruledOut(context)),
        choice = chosen(mean);
      const sure = found.cov
        ? argbest.certainty.correlated(mean, found.cov, choice.selected, normals)
        : argbest.certainty.independent(mean, sd, choice.selected);
      return answer(context, found.mean, sd, choice, sure);
    }

    function answer(context, mean, sd, choice, sure) {
      const { differenceSd, ...rest } = sure,
        left = mean.length - ruledOut(context).length;
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

  /** The alternatives of the largest and the second largest mean; the first of those tied. */
  function chosen(mean) {
    const selected = mean.indexOf(Math.max(...mean));
    const others = mean.map((value, k) => (k === selected ? -Infinity : value));
    return { selected, runnerUp: others.indexOf(Math.max(...others)) };
  }
})((globalThis.argbest = globalThis.argbest || {}));
