// Predictions that are listed in the page: at a listed context as they are, between such contexts interpolated.
(function (argbest) {
  "use strict";

  const ALONE = { runnerUp: null, gap: null, gapSd: null };
  const UNANSWERED = { ...ALONE, selected: null, pBest: null, expectedLoss: null };

  /** Squared distance of two values along a coordinate, scaled by its bounds; 1 for different categories. */
  function separation(coordinate, one, two) {
    if (coordinate.kind === "category") return one === two ? 0 : 1;
    const width = coordinate.high - coordinate.low;
    return width > 0 ? ((Number(one) - Number(two)) / width) ** 2 : 0;
  }

  /** Where a value stands among the stops of its coordinate: [position, weight], one or two of them. */
  function between(stops, value) {
    const exact = stops.indexOf(value);
    if (exact >= 0) return [[exact, 1]];
    const above = stops.findIndex((stop) => stop > value);
    const share = (value - stops[above - 1]) / (stops[above] - stops[above - 1]);
    return [
      [above - 1, 1 - share],
      [above, share],
    ];
  }

  /**
   * An object that predicts from a prediction kit: `moments(context)` gives mean and sd of every alternative,
   * in the user's sign, and the `centre` of the normal belief, which is the mean but for a rate, whose means
   * stay within 0 and 1; `interval(centre, sd, z)` gives the ends z standard deviations away, of a rate
   * within 0 and 1 too; `at(context)` adds the choice, P(best) and the expected loss, and says whether they
   * are `interpolated`. A context is an array of values in the order of the kit's coordinates. Both say which
   * context they answer for: some kits list only some, of which the nearest answers. What is ruled out is not
   * selected; `selected` is null where nothing is left, and so is `runnerUp` where there is one alternative
   * alone. With limits `none` is the probability that no alternative keeps them, `feasible` that each does, and
   * `selected` is null where none is chosen; between listed contexts the nearest one answers.
   * `along(j, context)` gives the values of the j-th coordinate at which something is listed.
   */
  argbest.predictor = function (kit) {
    const onGrid = kit.stops ? kit.stops.reduce((all, stops) => all * stops.length, 1) : 0;
    const clip = (value) => Math.min(Math.max(value, 0), 1);
    const interval = (centre, sd, z) =>
      [centre - z * sd, centre + z * sd].map((end) => (kit.rate ? clip(end) : end));

    /** The listed contexts that answer for a context, with their weights, and the context answered for. */
    function located(context) {
      let best = -1,
        least = kit.stops ? 0 : Infinity; // with stops, only the very context
      kit.points.forEach((point, i) => {
        const apart = kit.coordinates.reduce(
          (sum, each, j) => sum + separation(each, context[j], point[j]),
          0,
        );
        if (apart < least || (apart === 0 && best < 0)) [best, least] = [i, apart];
      });
      if (best >= 0) return { context: kit.points[best], rows: [[onGrid + best, 1]] };
      let rows = [[0, 1]];
      kit.stops.forEach((stops, j) => {
        const here = between(stops, context[j]);
        rows = rows.flatMap(([row, weight]) =>
          here.map(([place, share]) => [row * stops.length + place, weight * share]),
        );
      });
      return { context, rows };
    }

    /** The average of rows of a table, alternative by alternative. */
    const average = (table, rows) =>
      table[rows[0][0]].map((_, k) => rows.reduce((sum, [row, weight]) => sum + weight * table[row][k], 0));

    function moments(context) {
      const found = located(context);
      return { ...described(found.rows), context: found.context };
    }

    function described(rows) {
      const centre = average(kit.mean, rows).map((value) => kit.sign * value);
      const mean = kit.reported ? average(kit.reported, rows) : centre;
      return { mean, centre, sd: average(kit.sd, rows) };
    }

    function at(context) {
      const found = located(context),
        shown = described(found.rows),
        answered = found.rows.filter(([row]) => kit.probability[row][0] !== null);
      const said = { context: found.context, interpolated: found.rows.length > 1, ...shown };
      if (!answered.length) return { ...said, ...UNANSWERED, probability: shown.mean.map(() => null) };
      const all = answered.reduce((sum, [, weight]) => sum + weight, 0);
      const rows = answered.map(([row, weight]) => [row, weight / all]);
      const nearest = rows.reduce((best, each) => (each[1] > best[1] ? each : best));
      return { ...said, ...(rows.length > 1 && !kit.none ? interpolated(rows) : listed(nearest[0])) };
    }

    /** The alternatives that can be selected at none of these contexts. */
    function ruledOut(rows) {
      if (!kit.ruled_out) return [];
      return kit.ruled_out[rows[0][0]].filter((k) => rows.every(([row]) => kit.ruled_out[row].includes(k)));
    }

    /** The answer of a listed context. */
    function listed(row) {
      const selected = kit.selected[row],
        runnerUp = kit.runner_up[row];
      const limited = kit.none ? { none: kit.none[row], feasible: kit.feasible[row] } : {};
      if (selected < 0)
        return {
          ...UNANSWERED,
          ...limited,
          probability: kit.probability[row],
          pBest: kit.none[row],
          expectedLoss: kit.expected_loss[row],
        };
      const found = {
        ...limited,
        selected,
        probability: kit.probability[row],
        pBest: kit.probability[row][selected],
        expectedLoss: kit.expected_loss[row],
      };
      if (kit.mean[row].length - ruledOut([[row, 1]]).length < 2) return { ...found, ...ALONE };
      const gap = kit.mean[row][selected] - kit.mean[row][runnerUp];
      return { ...found, runnerUp, gap, gapSd: kit.gap_sd[row] };
    }

    /** The answer between listed contexts: the largest mean is selected, as everywhere. */
    function interpolated(rows) {
      const mean = average(kit.mean, rows),
        probability = average(kit.probability, rows),
        out = ruledOut(rows),
        left = [...mean.keys()].filter((k) => !out.includes(k)),
        selected = foremost(left, (k) => mean[k]);
      // What is lost by this choice: at a listed context with another one, also what that is ahead there.
      const expectedLoss = rows.reduce((sum, [row, weight]) => {
        const ahead = kit.mean[row][kit.selected[row]] - kit.mean[row][selected];
        return sum + weight * (kit.expected_loss[row] + ahead);
      }, 0);
      const found = { selected, probability, pBest: probability[selected], expectedLoss };
      if (left.length < 2) return { ...found, ...ALONE };
      const runnerUp = foremost(
        left.filter((k) => k !== selected),
        (k) => probability[k],
      );
      return { ...found, runnerUp, gap: mean[selected] - mean[runnerUp], gapSd: spread(rows, [selected, runnerUp]) };
    }

    /** The standard deviation of a difference, where listed contexts nearby compare the same two; else null. */
    function spread(rows, pair) {
      const same = rows.filter(([row]) => pair.includes(kit.selected[row]) && pair.includes(kit.runner_up[row])),
        all = same.reduce((sum, [, weight]) => sum + weight, 0);
      return all > 0 ? same.reduce((sum, [row, weight]) => sum + (weight / all) * kit.gap_sd[row], 0) : null;
    }

    function along(j, context) {
      if (kit.stops) return kit.stops[j];
      const here = kit.points.filter((point) => point.every((value, i) => i === j || value === context[i]));
      return [...new Set(here.map((point) => point[j]))].sort((a, b) => a - b);
    }

    return { moments, at, interval, along };
  };

  /** The one of these for which a number is largest; the first of those tied. */
  function foremost(some, number) {
    return some.reduce((best, k) => (number(k) > number(best) ? k : best), some[0]);
  }
})((globalThis.argbest = globalThis.argbest || {}));
