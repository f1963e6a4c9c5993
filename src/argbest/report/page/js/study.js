// The page of a study: decisions, certainty, allocation, contention, check, failures, how it was computed.
(function (argbest) {
  "use strict";

  const { element, number, probability, count } = argbest.text;
  const { section, cards, facts, columnsOf, folded } = argbest.sections;
  const MOST_COLUMNS = 30; // alternatives side by side; the CSV has them all

  const HELP = {
    selected: "the alternative with the best posterior mean",
    runner_up: "the alternative that comes nearest",
    mean: "posterior mean of the selected alternative",
    gap: "how much better the selected alternative is expected to be than the runner-up",
    gap_sd: "standard deviation of that difference",
    p_best: "probability that the selected alternative is the best",
    expected_loss: "what choosing it costs on average, because it may not be the best",
  };
  const TITLES = {
    runner_up: "runner-up",
    gap_sd: "sd of gap",
    p_best: "P(best)",
    expected_loss: "expected loss",
  };

  function decisions(data) {
    const host = section(
      "decisions",
      "Decisions",
      "The alternative to choose in each context. Headings sort.",
    );
    const at = data.decisions.columns.indexOf("p_best");
    const columns = columnsOf(data.decisions, { p_best: "probability" }).map((column) => ({
      ...column,
      title: TITLES[column.name] || column.name.replace(/^context\./, ""),
      help: HELP[column.name],
    }));
    argbest.table(host, {
      caption: "Selected alternative per context",
      columns,
      rows: data.contexts.order.map((c) => data.decisions.rows[c]),
      file: "decisions.csv",
      filter: true,
      keep: {
        label: `undecided only (P(best) below ${data.certainty.decided})`,
        test: (row) => row[at] < data.certainty.decided,
      },
      mark: (row) => (row[at] < data.certainty.decided ? "undecided" : ""),
    });
  }

  function certainty(data) {
    const sure = data.certainty;
    const host = section(
      "certainty",
      "How sure is it?",
      "Given the model: probabilities rest on its assumptions, which the model check below puts to the test.",
    );
    cards(host, [
      [
        "Right on average",
        probability(sure.pcs_e),
        "PCS_E: probability that the selection is best, weighted over contexts",
      ],
      ["Right in the worst context", probability(sure.pcs_m), "PCS_M"],
      [
        "Right everywhere at once",
        `${probability(sure.p_all)} ± ${number(sure.p_all_se, 2)}`,
        "probability that no context is wrong, ± one Monte Carlo standard error",
      ],
      ["Expected loss", number(sure.eoc), "opportunity cost of the selections, weighted over contexts"],
    ]);
    heat(host, data, {
      caption: `Probability of being best, ${contextsBy(data)}`,
      values: sure.probability,
      kind: "share",
      file: "probability_best.csv",
    });
  }

  function allocation(data) {
    const spent = data.allocation;
    const host = section(
      "allocation",
      "Where the replications went",
      `${count(spent.total, "replication")} so far` +
        (spent.pending ? `, ${number(spent.pending)} under way.` : "."),
    );
    heat(host, data, {
      caption: `Replications, ${contextsBy(data)}`,
      values: spent.count,
      kind: "count",
      file: "allocation.csv",
    });
  }

  function contextsBy(data) {
    return `a row per ${data.contexts.title} and a column per ${data.alternatives.title}`;
  }

  /** A table of contexts by alternatives, shaded; the most telling alternatives where there are too many. */
  function heat(host, data, { caption, values, kind, file }) {
    const { alternatives, contexts } = data;
    const size = alternatives.order.map((k) => Math.max(...values[k]));
    const kept = alternatives.order
      .filter(
        (_, i) =>
          size.length <= MOST_COLUMNS || size.filter((other) => other > size[i]).length < MOST_COLUMNS,
      )
      .slice(0, Math.max(MOST_COLUMNS, 1));
    const top = kind === "count" ? Math.sqrt(Math.max(1, ...values.flat())) : 1;
    const rows = contexts.order.map((c) => [contexts.short[c], ...kept.map((k) => values[k][c])]);
    if (kept.length < alternatives.order.length) {
      host.append(
        element(
          "p",
          {},
          `Shown are the ${kept.length} alternatives with the largest entries of ${alternatives.order.length}.`,
        ),
      );
    }
    argbest.table(host, {
      caption,
      columns: [
        { name: contexts.title },
        ...kept.map((k) => ({
          name: alternatives.labels[k],
          title: alternatives.short[k],
          kind,
          fill: kind === "count" ? (n) => Math.sqrt(n) / top : undefined,
        })),
      ],
      rows,
      file,
    });
  }

  function contention(data) {
    const host = section(
      "contention",
      "Still in the running",
      "The fewest alternatives that together hold the best one with the chosen probability.",
    );
    const level = element(
      "select",
      { id: "level" },
      ...[0.9, 0.95, 0.99].map((value) => element("option", { value, selected: value === 0.95 }, value)),
    );
    host.append(element("div", { className: "controls" }, element("label", {}, "Probability ", level)));
    const place = element("div");
    host.append(place);
    const draw = () => {
      place.replaceChildren();
      const rows = data.contexts.order.map((c) => {
        const found = contenders(
          data.certainty.probability.map((row) => row[c]),
          Number(level.value),
        );
        return [
          data.contexts.short[c],
          found.who.length,
          found.sum,
          found.who.map((k) => data.alternatives.short[k]).join(", "),
        ];
      });
      argbest.table(place, {
        caption: "Alternatives in contention per context",
        columns: [
          { name: data.contexts.title },
          { name: "contenders", kind: "number" },
          { name: "probability", kind: "probability" },
          { name: "alternatives", title: "alternatives, likeliest first" },
        ],
        rows,
        file: "contention.csv",
      });
    };
    level.onchange = draw;
    draw();
  }

  /** The fewest alternatives whose probabilities of being best reach a level, likeliest first. */
  function contenders(chance, level) {
    const order = [...chance.keys()].sort((a, b) => chance[b] - chance[a] || a - b),
      who = [];
    let sum = 0;
    for (const k of order) {
      who.push(k);
      sum += chance[k];
      if (sum >= level - 1e-12) break;
    }
    return { who, sum: Math.min(sum, 1) };
  }

  function check(data) {
    const found = data.check;
    const host = section("check", "Does the model fit?", found.verdict);
    if (!found.rows) return;
    const z = found.columns.indexOf("z"),
      flagged = found.columns.indexOf("flagged");
    const place = found.columns.indexOf("predicted"),
      sorted = [...found.rows].sort((a, b) => a[place] - b[place]);
    const picture = argbest.chart(host, { height: 240 });
    const reach = Math.max(found.limit * 1.15, ...sorted.map((row) => Math.abs(row[z]) * 1.1));
    picture.draw({
      title: "z-scores of all pairs over what the other pairs predict",
      x: { label: "predicted", values: sorted.map((row) => row[place]) },
      y: { label: "z-score", range: [-reach, reach], levels: [-found.limit, found.limit] },
      lines: [
        { label: "pairs", values: sorted.map((row) => (row[flagged] ? null : row[z])), index: 0, dots: true },
        {
          label: `beyond ±${number(found.limit, 2)}`,
          values: sorted.map((row) => (row[flagged] ? row[z] : null)),
          index: 1,
          dots: true,
        },
      ],
    });
    if (found.rows.length < found.total) {
      host.append(
        element(
          "p",
          {},
          `Shown are the ${found.rows.length} pairs with the largest z-scores of ${found.total}.`,
        ),
      );
    }
    folded(host, "The pairs as a table", (numbers) =>
      argbest.table(numbers, {
        caption: "Every pair predicted from all others",
        columns: columnsOf(found),
        rows: found.rows,
        file: "model_check.csv",
        keep: { label: "flagged only", test: (row) => row[flagged] },
        mark: (row) => (row[flagged] ? "undecided" : ""),
      }),
    );
  }

  function failures(data) {
    const found = data.failures;
    const host = section(
      "failures",
      "Failed simulations",
      found.total
        ? `${count(found.total, "trial")} gave no value; none of them enters any number above.`
        : "None.",
    );
    if (!found.total) return;
    if (found.rows.length < found.total)
      host.append(element("p", {}, `The last ${found.rows.length} are listed.`));
    argbest.table(host, {
      caption: "Trials without a value",
      columns: columnsOf(found),
      rows: found.rows,
      file: "failures.csv",
      filter: true,
    });
  }

  function how(data) {
    const host = section("how", "How it was computed");
    facts(host, data.how);
    if (!data.hyperparameters) return;
    argbest.table(host, {
      caption: "Hyper-parameters, in the units of the rewards and of the contexts",
      columns: columnsOf(data.hyperparameters),
      rows: data.hyperparameters.rows,
      file: "hyperparameters.csv",
    });
  }

  argbest.contenders = contenders;
  argbest.pages = argbest.pages || {};
  argbest.pages.study = function (data) {
    decisions(data);
    certainty(data);
    allocation(data);
    argbest.explorer(
      section(
        "explore",
        "Any context",
        data.prediction.family === "listed"
          ? "Predictions for the contexts listed in this page; the controls move to the nearest of them."
          : "Predictions for any context in range, worked out in this page from the same data and model.",
      ),
      data,
    );
    contention(data);
    if (data.check) check(data);
    failures(data);
    how(data);
  };
})((globalThis.argbest = globalThis.argbest || {}));
