// Predictions from a prediction kit: what is best in a context, and how surely.
(function (argbest) {
  "use strict";

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
   * An object that predicts: `moments(context)` gives mean and sd of every alternative, in the user's sign;
   * `at(context)` adds the choice, P(best) and the expected loss. A context is an array of values in the
   * order of the kit's coordinates. `at` also says which context it answers for: listed kits know only some.
   */
  argbest.predictor = function (kit) {
    const isListed = kit.family === "listed";
    const belief = isListed ? null : argbest.beliefs[kit.family](kit);
    const normals = kit.sobol ? argbest.certainty.sobolNormals(kit.sobol) : null;
    const signed = (mean) => Array.from(mean, (value) => kit.sign * value);
    const deviations = (found) =>
      found.sd || found.mean.map((_, k) => Math.sqrt(Math.max(found.cov[k * found.mean.length + k], 0)));

    function moments(context) {
      if (isListed) {
        const i = nearest(kit, context);
        return { mean: signed(kit.mean[i]), sd: kit.sd[i], context: kit.points[i] };
      }
      const found = belief(context);
      return { mean: signed(found.mean), sd: deviations(found), context };
    }

    function at(context) {
      if (isListed) {
        const i = nearest(kit, context);
        const choice = chosen(kit.mean[i]);
        return answer(kit.points[i], kit.mean[i], kit.sd[i], choice, {
          probability: kit.probability[i],
          pBest: kit.p_best[i],
          expectedLoss: kit.expected_loss[i],
          differenceSd: kit.difference_sd[i],
        });
      }
      const found = belief(context),
        sd = deviations(found),
        choice = chosen(found.mean);
      const sure = found.cov
        ? argbest.certainty.correlated(found.mean, found.cov, choice.selected, normals)
        : argbest.certainty.independent(found.mean, sd, choice.selected);
      return answer(context, found.mean, sd, choice, sure);
    }

    function answer(context, mean, sd, choice, sure) {
      const { differenceSd, ...rest } = sure;
      return {
        context,
        ...choice,
        ...rest,
        sd,
        mean: signed(mean),
        gap: mean[choice.selected] - mean[choice.runnerUp],
        gapSd: differenceSd[choice.runnerUp],
      };
    }

    return { moments, at };
  };

  /** The alternatives of the largest and the second largest mean; the first of those tied. */
  function chosen(mean) {
    const selected = mean.indexOf(Math.max(...mean));
    const others = mean.map((value, k) => (k === selected ? -Infinity : value));
    return { selected, runnerUp: others.indexOf(Math.max(...others)) };
  }
})((globalThis.argbest = globalThis.argbest || {}));
