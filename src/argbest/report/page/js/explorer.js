// Choose any context, and see which alternative is predicted to be best there.
(function (argbest) {
  "use strict";

  const { element, number, rounded, lost, give, probability, show } = argbest.text;
  const { titled } = argbest.sections;
  const STEPS = 1000, // of a slider
    MOST = 8, // alternatives in the table
    DIGITS = 7; // of a number that fits into its box

  argbest.explorer = function (host, data) {
    const kit = data.prediction,
      predictor = argbest.predictor(kit);
    const context = kit.coordinates.map((coordinate) => coordinate.values[data.contexts.order[0]]);
    const controls = element("div", { className: "controls" });
    const verdict = element("p", { className: "verdict", attributes: { "aria-live": "polite" } });
    const bars = element("div", { className: "bars" }),
      lines = element("div", { className: "lines" });
    const remark = kit.stops
      ? "Listed are the simulated contexts and many others; between them the page interpolates."
      : "Listed are the simulated contexts; the controls move to the nearest of them.";
    const listed = element("p", { className: "remark" }, remark);
    const explored = element("div", { className: "explored" }, lines, element("div", {}, bars, listed));
    host.append(controls, verdict, explored);
    const fields = kit.coordinates.map((coordinate, j) =>
      field(coordinate, j, (value) => {
        context[j] = value;
        chosen.value = ""; // what the list names is no longer what is shown
        later();
      }),
    );
    const chosen = simulated();
    // Contexts known by a name alone: their list is all there is to choose from.
    const byName = kit.coordinates.length === 1 && !varies(kit.coordinates[0]);
    controls.append(
      ...(byName ? [] : [element("label", { className: "choice" }, "A simulated context ", chosen)]),
      ...fields.map((each) => each.node),
    );
    fields.forEach((each, j) => each.set(context[j]));
    const profile = argbest.profile(lines, data, predictor, (j, value) => {
      context[j] = value;
      fields[j].set(value);
      chosen.value = "";
      later();
    });

    /** A list of the simulated contexts; it sets all fields at once. */
    function simulated() {
      const list = element(
        "select",
        {},
        element("option", { value: "" }, "…"),
        ...data.contexts.order.map((c) => element("option", { value: c }, data.contexts.short[c])),
      );
      list.onchange = () => list.value === "" || move(Number(list.value));
      return list;
    }

    /** Go to a simulated context. */
    function move(c) {
      kit.coordinates.forEach((coordinate, j) => {
        context[j] = coordinate.values[c];
        fields[j].set(context[j]);
      });
      chosen.value = c;
      later();
    }

    let waiting = false;
    function later() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        update();
      });
    }

    function update() {
      const found = predictor.at([...context]),
        labels = data.alternatives.names;
      const moved = found.context.some((value, j) => value !== context[j]);
      const words = found.context.map((value, j) => `${kit.coordinates[j].name} ${show(value)}`).join(", ");
      verdict.replaceChildren(
        moved ? `At the nearest listed context, ${words}, ` : `At ${words}${found.interpolated ? ", between listed contexts," : ""} `,
        ...(found.selected !== null ? choice(found, labels) : found.none === undefined ? unanswered() : none(found)),
      );
      rank(found);
      lines.hidden = !profile.draw(found.context, found);
      explored.classList.toggle("alone", lines.hidden);
      argbest.current = found;
    }

    function unanswered() {
      return ["there is ", element("strong", { id: "predicted" }, "no answer"), ": every alternative failed here."];
    }

    function none(found) {
      return [
        "choose none: ",
        element("strong", { id: "predicted" }, `no alternative keeps ${data.limits.join(" and ")}`),
        `, with probability ${probability(found.none)}.`,
      ];
    }

    function choice(found, labels) {
      const [mean, sd] = [found.mean[found.selected], found.sd[found.selected]],
        unit = data.unit ? ` ${data.unit}` : "";
      const ahead =
        found.runnerUp === null
          ? "the only alternative that did not fail here"
          : `${found.gap < 0 ? "behind" : "ahead of"} ${labels[found.runnerUp]} by ` +
            give(Math.abs(found.gap), found.gapSd ?? sd, found.gapSd) +
            unit;
      const likelier =
        found.runnerUp !== null && found.probability[found.runnerUp] > found.pBest + 1e-9
          ? `, which is more likely the best but ${found.feasible ? "loses more on average" : "has the worse mean"}`
          : found.gap < 0 && found.feasible
            ? `, which keeps ${data.limits.length > 1 ? "them" : "it"} with probability ${probability(found.feasible[found.runnerUp])}`
            : "";
      return [
        "choose ",
        element("strong", { id: "predicted" }, labels[found.selected]),
        (found.feasible ? `: keeps ${data.limits.join(" and ")} with probability ${probability(found.feasible[found.selected])}` : "") +
          `${found.feasible ? "," : ":"} best ${found.feasible ? "of those that do " : ""}with probability ${probability(found.pBest)}, mean ${give(mean, sd, sd)}${unit}, ` +
          `${ahead}${likelier}; expected loss ${lost(found.expectedLoss, data.certainty.delta)}${unit}.`,
      ];
    }

    /** The likeliest alternatives with their probabilities. */
    function rank(found) {
      const better = data.goal === "min" ? -1 : 1;
      const order = [...data.alternatives.order].sort(
        (a, b) =>
          found.probability[b] - found.probability[a] || better * (found.mean[b] - found.mean[a]) || a - b,
      );
      bars.replaceChildren();
      argbest.table(bars, {
        caption: `Best in this context${data.unit ? `; means in ${data.unit}` : ""}`,
        columns: [
          { name: data.alternatives.title },
          { name: "probability", title: "P(best)", kind: "probability" },
          ...(found.feasible ? [{ name: "feasible", title: "P(feasible)", kind: "probability" }] : []),
          { name: "mean", kind: "number", unit: (row) => row.at(-1) },
          { name: "sd", kind: "number", unit: (row) => row.at(-1) },
        ],
        plain: true,
        rows: order
          .slice(0, MOST)
          .map((k) => [
            data.alternatives.short[k],
            found.probability[k],
            ...(found.feasible ? [found.feasible[k]] : []),
            found.mean[k],
            found.sd[k],
          ]),
      });
      if (order.length > MOST)
        bars.append(element("p", { className: "remark" }, `The ${MOST} likeliest of ${number(data.alternatives.total)}.`));
    }

    update();
    return move;
  };

  /** A control for one coordinate: slider and box for a number, a list for anything else. */
  function field(coordinate, j, onchange) {
    return varies(coordinate) ? slider(coordinate, j, onchange) : list(coordinate, onchange);
  }

  function varies({ kind, low, high }) {
    return kind === "number" && high > low;
  }

  function slider(coordinate, j, onchange) {
    const { low, high, name } = coordinate,
      step = (high - low) / STEPS;
    const range = element("input", { type: "range", id: `slider-${j}`, min: low, max: high, step });
    const box = element("input", { type: "number", id: `box-${j}`, min: low, max: high, step: "any" });
    range.setAttribute("aria-label", name);
    box.setAttribute("aria-label", `${name}, exact value`);
    range.oninput = () => {
      // The slider's own value is rounded to its steps; the ends are meant exactly.
      const at = Number(range.value);
      const value =
        Math.abs(at - high) < 0.5 * step
          ? high
          : Math.abs(at - low) < 0.5 * step
            ? low
            : Number(at.toPrecision(12));
      box.value = value;
      onchange(value);
    };
    box.oninput = () => {
      const value = Number(box.value);
      const outside = box.value === "" || !(value >= low && value <= high);
      valid(!outside);
      if (outside) return;
      range.value = value;
      onchange(value);
    };
    const limits = `${number(low)} to ${number(high)}`,
      hint = element("small", { id: `hint-${j}`, attributes: { "aria-live": "polite" } }, limits);
    box.setAttribute("aria-describedby", hint.id);
    const valid = (is) => {
      is ? box.removeAttribute("aria-invalid") : box.setAttribute("aria-invalid", "true");
      hint.textContent = is ? limits : `outside ${limits}`;
    };
    const node = element("div", { className: "field" }, element("span", {}, titled(name, coordinate.unit)), range, box, hint);
    return {
      node,
      set: (value) => {
        range.value = value;
        box.value = Number(Number(value).toPrecision(DIGITS)); // the context itself stays as it is
        valid(true);
      },
    };
  }

  function list(coordinate, onchange) {
    const values = [...new Set(coordinate.values)];
    const choice = element(
      "select",
      {},
      ...values.map((value, i) => element("option", { value: i }, show(value))),
    );
    choice.setAttribute("aria-label", coordinate.name);
    choice.onchange = () => onchange(values[Number(choice.value)]);
    const node = element("label", { className: "field" }, element("span", {}, titled(coordinate.name, coordinate.unit)), choice);
    return {
      node,
      set: (value) => {
        choice.value = values.indexOf(value);
      },
    };
  }
})((globalThis.argbest = globalThis.argbest || {}));
