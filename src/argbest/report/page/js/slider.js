// The bound of a limit, moved by the reader: choices are worked out anew from listed joint draws.
(function (argbest) {
  "use strict";

  const { element, number, probability, count } = argbest.text;
  const { section } = argbest.sections;
  const SURE = 0.95,
    MOST_COLUMNS = 30; // alternatives side by side

  /** What Python wrote with `listed`: value(draw, alternative, context). */
  function reader({ low, step, data }) {
    const text = atob(data),
      k = low.length,
      c = low[0].length;
    return (s, a, i) => {
      const at = 2 * ((s * k + a) * c + i);
      return low[a][i] + step[a][i] * (text.charCodeAt(at) + 256 * text.charCodeAt(at + 1));
    };
  }

  /**
   * What the draws say of a context if one limit is moved (of those that are only tried no other counts): choice (-1: none), right, feasible (of all
   * alternatives), loss. As `argbest.core.limits`: an alternative that keeps all limits loses its distance to the
   * best that does, at most the price; one that does not loses the price, as saying "none" does where one keeps them.
   */
  function answerAt(found, read, context, moved, stop) {
    const n = found.goal.low.length,
      price = found.limits[moved].prices[stop][context],
      limits = found.limits
        .map(({ slack, sign, shift, own }, i) => ({ slack: read.slacks[slack], sign, more: shift[i === moved ? stop : own] }))
        .filter(({ more }) => more !== null),
      out = (k) => found.out !== null && found.out[k][context];
    const loss = new Array(n + 1).fill(0),
      right = new Array(n + 1).fill(0),
      feasible = new Array(n).fill(0);
    for (let s = 0; s < found.draws; s++) {
      const goals = [];
      let top = -Infinity;
      for (let k = 0; k < n; k++) {
        const kept =
          !out(k) && limits.every(({ slack, sign, more }) => sign * slack(s, k, context) + more >= 0);
        goals.push(kept ? read.goal(s, k, context) : null);
        if (kept) {
          feasible[k] += 1;
          top = Math.max(top, goals[k]);
        }
      }
      for (let k = 0; k < n; k++) {
        loss[k] += goals[k] === null ? price : Math.min(top - goals[k], price);
        if (goals[k] !== null && goals[k] >= top) right[k] += 1;
      }
      if (top === -Infinity) right[n] += 1;
      else loss[n] += price;
    }
    let choice = n;
    for (let k = n - 1; k >= 0; k--) if (!out(k) && loss[k] <= loss[choice]) choice = k;
    const share = (sum) => sum / found.draws;
    return {
      choice: choice === n ? -1 : choice,
      right: share(right[choice]),
      feasible: feasible.map(share),
      kept: choice === n ? null : share(feasible[choice]),
      loss: share(loss[choice]),
    };
  }

  /** Whether an alternative keeps all limits, by a sign and a probability. */
  function keeps(p, chosen) {
    const sign = p >= SURE ? "✓" : p <= 1 - SURE ? "✗" : "?";
    return `${chosen ? "◆ " : ""}${sign} ${probability(p)}`;
  }

  /** The section of the slider; returns what shows newer data, at the bound that the reader has chosen. */
  argbest.slider = function (data) {
    const host = section("bounds", data.slider.tried ? "If there were a limit" : "If a limit were another one", "", "Limits"),
      place = element("div");
    host.append(place);
    let asked = fill(place, data, null);
    return (next) => {
      const here = document.activeElement,
        focused = here !== null && place.contains(here) ? here.id : "";
      asked = fill(place, next, asked());
      if (focused) document.getElementById(focused)?.focus();
    };
  };

  /** Show a slider and what it says; returns which limit is moved, and to which bound. */
  function fill(host, data, before) {
    const found = data.slider;
    host.replaceChildren(
      element(
        "p",
        { className: "remark" },
        found.left_out ||
          (found.tried ? "Limit another response, and move the bound" : "Move the bound of a limit") +
            ": the choices follow, from the same data. Nothing is simulated.",
      ),
    );
    if (found.left_out) return () => null;
    const { alternatives, contexts, decisions } = data,
      read = { goal: reader(found.goal), slacks: found.slacks.map(reader) },
      at = (name) => decisions.columns.indexOf(name),
      none = "no alternative keeps the limits",
      called = (k) => (k < 0 ? none : alternatives.short[k]),
      failed = (c) => found.out !== null && found.out.every((row) => row[c]);
    let moved = 0;

    const range = element("input", { type: "range", id: "bound", min: 0, step: 1 }),
      value = element("output", { htmlFor: "bound", id: "bound-value" }),
      back = element("button", { type: "button" }, found.tried ? "No limit" : "The study's own bound"),
      said = element("p", { id: "bound-said", attributes: { "aria-live": "polite" } }),
      title = element("label", { htmlFor: "bound" }),
      controls = element("div", { className: "controls bound" }, title, range, value, back);
    if (found.limits.length > 1) {
      const which = element(
        "select",
        { id: "which-limit" },
        ...found.limits.map(({ text }, i) => element("option", { value: i }, text)),
      );
      which.onchange = () => choose(Number(which.value));
      controls.prepend(element("label", {}, found.tried ? "Keep " : "Limit ", which));
    }
    host.append(controls, said);

    /** The study's own answer, as Python gave it. */
    function own(c) {
      const row = decisions.rows[c];
      return {
        choice: data.selected[c],
        right: row[at("p_best")],
        kept: found.tried ? null : row[at("p_feasible")],
        loss: row[at("expected_loss")],
        feasible: found.tried ? alternatives.labels.map(() => 1) : found.feasible.map((each) => each[c]),
      };
    }

    function answers(stop) {
      const same = stop === found.limits[moved].own;
      return contexts.order.map((c) => [c, same ? own(c) : answerAt(found, read, c, moved, stop)]);
    }

    const units = new WeakMap(); // of the loss in every row: as in the table of decisions

    function rows(all) {
      return all.map(([c, now]) => {
        const row = failed(c)
          ? [contexts.short[c], "no answer: every alternative failed here", null, null, null, ""]
          : [contexts.short[c], called(now.choice), now.right, now.kept, now.loss, called(data.selected[c])];
        const { delta } = data.certainty;
        units.set(row, Math.max(delta, decisions.rows[c][at("gap_sd")] || delta) / 10);
        return row;
      });
    }

    const first = answers(found.limits[0].own),
      changed = element("div", { hidden: true }); // at the study's own bound the decisions above say it
    host.append(changed);
    const choices = argbest.table(changed, {
      caption: "Choice per context at this bound",
      columns: [
        { name: contexts.title },
        { name: "choice" },
        {
          name: "P(best)",
          kind: "probability",
          help: "probability that it is the best of those that keep the limits, or that none does",
        },
        { name: "P(feasible)", kind: "probability", help: "probability that the choice keeps all limits" },
        {
          name: "expected loss",
          kind: "number",
          unit: (row) => units.get(row),
          help: "what choosing it costs on average: it may not be the best, or may break a limit",
        },
        found.tried
          ? { name: "without a limit", help: "what the study chooses" }
          : { name: "at the study's own bound", help: "what is chosen at the bounds of the study" },
      ],
      rows: rows(first),
      file: "at_this_bound.csv",
    });

    const kept = alternatives.order.slice(0, MOST_COLUMNS);
    const marked = element("details", {}, element("summary", {}, "Which alternatives keep all limits at this bound"));
    host.append(marked);
    marked.append(
      element(
        "p",
        { className: "remark" },
        "Whether alternatives keep all limits: ✓ with a probability of 0.95 or more, ✗ of 0.05 or less, ? in between; " +
          "◆ is chosen." +
          (kept.length < alternatives.order.length
            ? ` Shown are ${kept.length} of ${count(alternatives.order.length, "alternative")}.`
            : ""),
      ),
    );
    const marks = (all) =>
      all.map(([c, now]) => [
        contexts.short[c],
        ...kept.map((k) => (found.out !== null && found.out[k][c] ? "failed" : keeps(now.feasible[k], k === now.choice))),
      ]);
    const feasible = argbest.table(marked, {
      caption: "Probability of keeping all limits at this bound",
      columns: [
        { name: contexts.title },
        ...kept.map((k) => ({ name: alternatives.labels[k], title: alternatives.short[k] })),
      ],
      rows: marks(first),
      file: "feasible_at_this_bound.csv",
    });

    function show() {
      const limit = found.limits[moved],
        stop = Number(range.value),
        bound =
          limit.stops[stop] === null ? "no limit" : `${limit.sum} ${limit.sense} ${number(limit.stops[stop], 6)}`,
        all = answers(stop),
        open = all.filter(([c]) => !failed(c)),
        others = open.filter(([c, now]) => now.choice !== data.selected[c]).length,
        empty = open.filter(([, now]) => now.choice < 0).length;
      value.textContent = bound;
      range.setAttribute("aria-valuetext", bound);
      back.disabled = changed.hidden = stop === limit.own;
      marked.hidden = limit.stops[stop] === null;
      const where =
        (others ? `another choice in ${others} of ${count(open.length, "context")}` : "the same choice everywhere") +
        (empty ? `; none is chosen in ${count(empty, "context")}` : "");
      said.textContent =
        stop === limit.own
          ? (found.tried ? "No limit: this is the study" : `${bound}: the bound of the study`) +
            "; its answer stands above."
          : `${bound}: ${where}. From ${found.draws} listed draws: probabilities are right to about ` +
            `± ${number(1 / Math.sqrt(found.draws), 1)}.`;
      choices.replace(rows(all));
      feasible.replace(marks(all));
    }

    function choose(limit) {
      moved = limit;
      title.textContent = `Bound of ${found.limits[moved].sum}`;
      range.max = found.limits[moved].stops.length - 1;
      range.value = found.limits[moved].own;
      show();
    }

    range.oninput = show;
    back.onclick = () => {
      range.value = found.limits[moved].own;
      show();
      range.focus();
    };
    choose(before ? before.moved : 0);
    if (before) {
      const { stops } = found.limits[moved],
        away = stops.map((stop) => (stop === null ? Infinity : Math.abs(stop - before.bound)));
      range.value = before.own ? found.limits[moved].own : away.indexOf(Math.min(...away));
      show();
    }
    return () => {
      const limit = found.limits[moved];
      return { moved, bound: limit.stops[Number(range.value)], own: Number(range.value) === limit.own };
    };
  }

  argbest.slider.reader = reader;
  argbest.slider.answerAt = answerAt;
})((globalThis.argbest = globalThis.argbest || {}));
