// Profiles: posterior means across one coordinate of the contexts, with their intervals and the data.
(function (argbest) {
  "use strict";

  const { element } = argbest.text;
  const { titled } = argbest.sections;
  const LOOKS = 32, // lines that look different
    LIKELY = 0.05, // P(best) that an alternative needs somewhere to be drawn, as in the map
    FEWEST = 3; // drawn, if there are so many
  const INTERVAL = 1.96, // standard deviations: 95 %
    CLEAR = 8; // lines between which intervals and averages can be told apart

  /** The chart of posterior means across one coordinate, the others held where they are. */
  argbest.profile = function (host, data, predictor, pick) {
    const kit = data.prediction;
    const numeric = kit.coordinates
      .map((_, j) => j)
      .filter(
        (j) => kit.coordinates[j].kind === "number" && kit.coordinates[j].high > kit.coordinates[j].low,
      );
    if (!numeric.length) return { draw: () => false };
    let along = numeric[0],
      shown = null,
      last = null,
      held = null,
      lines = null;
    const tools = element("div", { className: "controls" });
    host.append(tools);
    if (numeric.length > 1) {
      const choice = element(
        "select",
        {},
        ...numeric.map((j) => element("option", { value: j }, kit.coordinates[j].name)),
      );
      choice.onchange = () => {
        along = Number(choice.value);
        held = null;
        draw(...last);
      };
      tools.append(element("label", { className: "choice" }, "Along ", choice));
    }
    const boxes = element("fieldset", { className: "boxes" }, element("legend", {}, "Alternatives drawn"));
    const picture = argbest.chart(host, {
      height: 250,
      onpick: (x) => {
        const { low, high } = kit.coordinates[along];
        pick(along, Number(Math.min(Math.max(x, low), high).toPrecision(6)));
      },
    });
    const left = element("p", { className: "remark" }),
      looks = new Map(); // which colour and dash an alternative has, as long as it is drawn
    const numbers = element("details", {}, element("summary", {}, "The profiles as a table"));
    const meaning = element("p", { className: "remark" });
    const drawn = element("details", {}, element("summary", {}, "Which alternatives are drawn"), boxes, left);
    host.append(meaning, element("div", { className: "folds" }, drawn, numbers));
    numbers.ontoggle = () => tabulate();

    /** Draw the chart, and return whether there is one: rows that share nothing have no line through them. */
    function draw(context, found) {
      last = [context, found];
      const others = JSON.stringify([along, context.filter((_, j) => j !== along)]);
      if (others === held) {
        if (lines.values.length < 2) return false;
        picture.mark(context[along]);
        return true;
      }
      held = others;
      lines = across(context);
      if (lines.values.length < 2) return false;
      choose();
      refresh();
      return true;
    }

    /** Means and standard deviations of all alternatives where something is listed along the coordinate. */
    function across(context) {
      const values = predictor.along(along, context),
        mean = [],
        centre = [],
        sd = [];
      for (const x of values) {
        const found = predictor.moments(context.map((value, j) => (j === along ? x : value)));
        mean.push(found.mean);
        centre.push(found.centre);
        sd.push(found.sd);
      }
      return { values, mean, centre, sd };
    }

    /**
     * Tick the alternatives that are selected somewhere, in the order in which the map colours them, then those
     * that lead between contexts, then the likeliest of the others that may be best somewhere.
     */
    function choose() {
      if (shown) return;
      const never = (k) => kit.ruled_out !== null && kit.ruled_out.every((out) => out.includes(k)),
        known = data.alternatives.order.filter((k) => !never(k)),
        likely = new Map(known.map((k) => [k, Math.max(...data.certainty.probability[k])])),
        others = [...known].sort((a, b) => likely.get(b) - likely.get(a));
      const chosen = known.filter((k) => data.selected.includes(k)),
        ahead = lines.centre.map((row) => known.reduce((a, b) => (kit.sign * row[b] > kit.sign * row[a] ? b : a))),
        near = others.filter((k) => likely.get(k) >= LIKELY).slice(0, CLEAR);
      shown = new Set(chosen);
      for (const k of ahead) if (shown.size < LOOKS) shown.add(k);
      for (const k of near) if (shown.size < CLEAR) shown.add(k);
      for (const k of others) if (shown.size < FEWEST) shown.add(k);
      shown = new Set([...shown].slice(0, LOOKS));
      shown.forEach((k) => looks.set(k, looks.size));
      boxes.append(
        ...data.alternatives.order.map((k) => {
          const box = element("input", { type: "checkbox", checked: shown.has(k) });
          box.onchange = () => {
            box.checked ? shown.add(k) : shown.delete(k);
            const free = [...Array(LOOKS).keys()].find((i) => ![...shown].some((one) => looks.get(one) === i));
            if (box.checked) looks.set(k, free ?? 0);
            else looks.delete(k);
            refresh();
          };
          return element("label", { className: "tick" }, box, " ", data.alternatives.short[k]);
        }),
      );
    }

    function refresh() {
      const [context] = last,
        kept = data.alternatives.order.filter((k) => shown.has(k));
      const few = kept.length <= CLEAR;
      const ends = (k) => lines.centre.map((row, i) => predictor.interval(row[k], lines.sd[i][k], INTERVAL));
      const bands = (k) => ({ low: ends(k).map(([low]) => low), high: ends(k).map(([, high]) => high) });
      meaning.textContent =
        (few
          ? "Lines: posterior means with 95 % intervals; points: averages ± 1.96 standard errors."
          : `Lines: posterior means. With ${CLEAR} alternatives or fewer there are intervals and averages, too.`) +
        " Click to move the context.";
      picture.draw({
        title: `posterior mean of the alternatives across ${kit.coordinates[along].name}`,
        x: { label: titled(kit.coordinates[along].name, kit.coordinates[along].unit), values: lines.values },
        y: { label: titled(data.reward, data.unit) },
        mark: context[along],
        lines: kept.map((k) => ({
          label: data.alternatives.short[k],
          index: looks.get(k),
          values: lines.mean.map((row) => row[k]),
          ...(few ? bands(k) : {}),
        })),
        bars: few ? kept.flatMap((k) => averages(k, context)) : [],
      });
      const rest = data.alternatives.order.length - kept.length;
      const words = rest ? `Left out: ${rest} of ${data.alternatives.order.length} alternatives; tick them to draw them.` : "";
      left.textContent = [words, data.left_out].filter(Boolean).join(" ");
      tabulate();
    }

    /** What was observed of an alternative at the simulated contexts that lie on this line. */
    function averages(k, context) {
      const { count, mean, sd } = data.allocation;
      return data.contexts.tabled.flatMap((c, i) => {
        const here = kit.coordinates.every(
          (coordinate, j) => j === along || coordinate.values[c] === context[j],
        );
        if (!here || !count[k][i]) return [];
        const half = count[k][i] > 1 ? (INTERVAL * sd[k][i]) / Math.sqrt(count[k][i]) : 0;
        return [{ x: kit.coordinates[along].values[c], y: mean[k][i], half, index: looks.get(k) }];
      });
    }

    function tabulate() {
      if (!numbers.open || !lines) return;
      numbers.querySelectorAll(":scope > :not(summary)").forEach((each) => each.remove());
      const kept = data.alternatives.order.filter((k) => shown.has(k));
      argbest.table(numbers, {
        caption: `Posterior mean and standard deviation across ${kit.coordinates[along].name}`,
        columns: [
          { name: kit.coordinates[along].name, kind: "number" },
          ...kept.flatMap((k) => [
            { name: `${data.alternatives.labels[k]} mean`, kind: "number" },
            { name: `${data.alternatives.labels[k]} sd`, kind: "number" },
          ]),
        ],
        rows: lines.values.map((x, i) => [x, ...kept.flatMap((k) => [lines.mean[i][k], lines.sd[i][k]])]),
        file: "profiles.csv",
      });
    }

    return { draw };
  };
})((globalThis.argbest = globalThis.argbest || {}));
