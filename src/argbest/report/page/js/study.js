// The page of a study: decisions, certainty, allocation, contention, model, failures, how it was computed.
// Each part returns a function that shows newer data in its place.
(function (argbest) {
  "use strict";

  const { element, number, rounded, probability, count } = argbest.text;
  const { section, cards, facts, columnsOf, folded } = argbest.sections;

  const HELP = {
    selected: "the alternative with the best posterior mean",
    runner_up: "of the others, the alternative that is most likely the best",
    mean: "posterior mean of the selected alternative",
    gap: "how much better the selected alternative is expected to be than the runner-up",
    gap_sd: "standard deviation of that difference",
    p_best: "probability that the selected alternative is the best",
    expected_loss: "what choosing it costs on average, because it may not be the best",
  };
  const LIMITED_HELP = {
    selected: "what loses least on average; nothing where no alternative is likely enough to keep the limits",
    p_best: "probability that it is the best of those that keep the limits, or that none does",
    p_feasible: "probability that the selected alternative keeps all limits",
    expected_loss: "what choosing it costs on average: it may not be the best, or may break a limit",
  };
  const TITLES = {
    runner_up: "runner-up",
    gap_sd: "sd of gap",
    p_best: "P(best)",
    p_feasible: "P(feasible)",
    expected_loss: "expected loss",
  };

  function decisions(data) {
    const host = section(
      "decisions",
      "Decisions",
      "The alternative to choose in each context. Click a heading to sort.",
    );
    const place = element("div");
    host.append(place);
    const rows = (next) => next.contexts.order.map((c) => next.decisions.rows[c]);
    let names = "",
      shown = null,
      called = new Map(); // what the context of each row is called

    /** What a narrow screen has room for: where, what, and how surely. */
    function brief(columns) {
      const own = columns.map((column, i) => ({ ...column, of: (row) => row[i] })),
        [selected, chance, state] = ["selected", "p_best", "state"].map((name) => own.find((each) => each.name === name));
      const contexts = own.slice(0, own.indexOf(selected));
      const together = { name: "context", kind: "text", of: (row) => called.get(row) };
      return [contexts.length === 1 ? contexts[0] : together, selected, chance, state];
    }

    function build(next) {
      const where = (name) => next.decisions.columns.indexOf(name),
        at = where("state"),
        { level, delta } = next.certainty;
      const doubt = (row) => row[where("gap_sd")] || delta,
        units = { mean: doubt, gap: doubt, gap_sd: doubt, expected_loss: (row) => Math.max(delta, doubt(row)) / 10 };
      const titles = {
        ...TITLES,
        context: next.contexts.word,
        selected: next.alternatives.word === "alternative" ? "selected" : `selected ${next.alternatives.word}`,
      };
      const limited = next.limits.length > 0,
        help = limited ? { ...HELP, ...LIMITED_HELP } : HELP;
      const unsure = (row) => row[at] === "equal" || row[at] === "open";
      const meaning =
        `sure: P(best) is at least ${level}; equal: not sure, but within ${number(delta)} of the best ` +
        `with that probability; open: neither${limited ? `; no feasible alternative: surely none keeps the limits` : ""}`;
      const columns = columnsOf(next.decisions, { p_best: "probability", p_feasible: "probability" }).map((column) => ({
        ...column,
        title: titles[column.name] || column.title,
        unit: units[column.name],
        help: column.name === "state" ? meaning : help[column.name],
      }));
      place.replaceChildren();
      shown = argbest.table(place, {
        caption: "Selected alternative per context",
        columns,
        brief: brief(columns),
        rows: rows(next),
        file: "decisions.csv",
        filter: true,
        keep: { label: "only what is equal or open", test: unsure },
        mark: (row) => (row[at] === "open" ? "undecided" : ""),
      });
    }

    /** Notes may come up in the course of a study, and with them a column. */
    function update(next) {
      const before = names;
      names = next.decisions.columns.join();
      called = new Map(next.decisions.rows.map((row, c) => [row, next.contexts.names[c]]));
      if (names === before) shown.replace(rows(next));
      else build(next);
    }

    update(data);
    return update;
  }

  function certainty(data) {
    const host = section(
      "certainty",
      "How sure is it?",
      "Given the model: probabilities depend on its assumptions, which the model check below tests.",
    );
    const place = element("div");
    host.append(place);
    figures(place, data.certainty);
    const shown = argbest.heat(host, data, {
      caption: `Probability of being best, ${contextsBy(data)}`,
      read: (next) => next.certainty.probability,
      kind: "share",
      file: "probability_best.csv",
    });
    return (next) => {
      figures(place, next.certainty);
      shown(next);
    };
  }

  function figures(place, sure) {
    place.replaceChildren();
    const loss = [
      "Expected loss",
      rounded(sure.eoc, sure.delta / 10),
      "opportunity cost of the selections, weighted over contexts",
    ];
    if (!sure.draws) {
      // One context: on average, in the worst and everywhere at once are the same.
      cards(place, [["Right", probability(sure.pcs_e), "probability that the selection is best"], loss]);
      return;
    }
    cards(place, [
      [
        "Right on average",
        probability(sure.pcs_e),
        "PCS_E: probability that the selection is best, weighted over contexts",
      ],
      ["Right in the worst context", probability(sure.pcs_m), "PCS_M"],
      [
        "Right everywhere at once",
        `${probability(sure.p_all)} ± ${number(sure.p_all_se, 2)}`,
        `probability that no context is wrong, ± one standard error of its ${count(sure.draws, "random draw")}`,
      ],
      loss,
    ]);
  }

  function allocation(data) {
    const host = section("allocation", "Where the replications went", spent(data.allocation));
    const remark = host.querySelector(".remark");
    const shown = argbest.heat(host, data, {
      caption: `Replications, ${contextsBy(data)}`,
      read: (next) => next.allocation.count,
      kind: "count",
      file: "allocation.csv",
    });
    return (next) => {
      remark.textContent = spent(next.allocation);
      shown(next);
    };
  }

  function spent({ total, pending }) {
    return `${count(total, "replication")} so far` + (pending ? `, ${number(pending)} under way.` : ".");
  }

  function contextsBy(data) {
    return `a row per ${data.contexts.title} and a column per ${data.alternatives.title}`;
  }

  function contention(data) {
    const host = section(
      "contention",
      "Still in the running",
      "The smallest set of alternatives that contains the best one with the chosen probability." +
        (data.limits.length ? ` The best of those that keep ${data.limits.join(" and ")}; that none does counts, too.` : ""),
    );
    const level = element(
      "select",
      { id: "level" },
      ...[0.9, 0.95, 0.99].map((value) => element("option", { value, selected: value === 0.95 }, value)),
    );
    host.append(element("div", { className: "controls" }, element("label", {}, "Probability ", level)));
    const { contexts, alternatives } = data;
    if (data.left_out) host.append(element("p", {}, data.left_out));
    const rows = () =>
      argbest.tabled(data).map(([c, i]) => {
        const chance = data.certainty.probability.map((row) => row[i]);
        if (chance[0] === null) return [contexts.short[c], 0, null, "no answer: every alternative failed here"];
        const found = contenders(chance, Number(level.value), data.certainty.none ? data.certainty.none[i] : 0);
        const names = found.who.map((k) => alternatives.short[k]).join(", ") || "none: no alternative keeps the limits";
        return [contexts.short[c], found.who.length, found.sum, names];
      });
    const shown = argbest.table(host, {
      caption: "Alternatives in contention per context",
      columns: [
        { name: contexts.title },
        { name: "contenders", kind: "number" },
        { name: "probability", kind: "probability" },
        { name: "alternatives", title: "alternatives, likeliest first" },
      ],
      rows: rows(),
      file: "contention.csv",
    });
    level.onchange = () => shown.replace(rows());
    return (next) => {
      data = next;
      shown.replace(rows());
    };
  }

  /** The fewest alternatives whose probabilities of being best reach a level, likeliest first. */
  function contenders(chance, level, none = 0) {
    const order = [...chance.keys()].sort((a, b) => chance[b] - chance[a] || a - b),
      who = [];
    let sum = none; // the probability that no alternative keeps the limits counts beside theirs
    for (const k of sum >= level - 1e-12 ? [] : order) {
      who.push(k);
      sum += chance[k];
      if (sum >= level - 1e-12) break;
    }
    return { who, sum: Math.min(sum, 1) };
  }

  function model(data) {
    const place = element("div");
    section("model", "What the model found").append(place);
    const update = (next) => {
      const { sentences, parts, lengthscales } = next.model;
      place.replaceChildren(element("ul", {}, ...sentences.map((each) => element("li", {}, each))));
      const tables = [
        [parts, "Parts of the model and the noise: share of the variation, standard deviation"],
        [lengthscales, "Lengthscales: distance over which rewards change, in the units of the columns"],
      ];
      for (const [table, caption] of tables) {
        if (table.rows.length)
          argbest.table(place, { caption, columns: columnsOf(table), rows: table.rows, plain: true });
      }
    };
    update(data);
    return update;
  }

  function check(data) {
    const found = data.check;
    const host = section("check", "Does the model fit?", found.verdict);
    const remark = host.querySelector(".remark");
    const update = (next) => (remark.textContent = next.check.verdict);
    if (!found.rows) return update;
    const z = found.columns.indexOf("z"),
      flagged = found.columns.indexOf("flagged");
    const place = found.columns.indexOf("predicted"),
      sorted = [...found.rows].sort((a, b) => a[place] - b[place]);
    const picture = argbest.chart(host, { height: 240 });
    const reach = Math.max(found.limit * 1.15, ...sorted.map((row) => Math.abs(row[z]) * 1.1));
    picture.draw({
      title: "z-scores of pairs over what the other pairs predict",
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
    if (found.shown) host.append(element("p", {}, found.shown));
    folded(host, "The pairs as a table", (numbers) =>
      argbest.table(numbers, {
        caption: "Pairs predicted from all others",
        columns: columnsOf(found),
        rows: found.rows,
        file: "model_check.csv",
        keep: { label: "flagged only", test: (row) => row[flagged] },
        mark: (row) => (row[flagged] ? "undecided" : ""),
      }),
    );
    return update;
  }

  function guarantee(data) {
    const host = section("guarantee", "Guaranteed by the data alone", data.guarantee.sentence),
      place = element("div");
    host.append(place);
    const update = (next) => {
      const found = next.guarantee;
      host.querySelector(".remark").textContent = found.sentence;
      place.replaceChildren(...found.notes.map((note) => element("p", {}, note)));
      argbest.table(place, {
        caption: "Lower bounds of the lead of the selected alternative, whatever the model believes",
        columns: columnsOf(found),
        rows: found.rows,
        file: "guarantee.csv",
      });
    };
    update(data);
    return update;
  }

  function failures(data) {
    const found = data.failures;
    const host = section(
      "failures",
      "Failed simulations",
      found.total
        ? `${count(found.total, "trial")} gave no value; none of them counts in any number above.`
        : "None.",
    );
    if (found.set_aside) host.append(element("p", {}, found.set_aside));
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
    const place = element("div");
    section("how", "How it was computed").append(place);
    const update = (next) => {
      place.replaceChildren();
      facts(place, next.how);
      if (!next.hyperparameters) return;
      argbest.table(place, {
        caption: "Hyper-parameters of every alternative, in the units of the rewards and of the contexts",
        columns: columnsOf(next.hyperparameters),
        rows: next.hyperparameters.rows,
        file: "hyperparameters.csv",
      });
    };
    update(data);
    return update;
  }

  argbest.contenders = contenders;
  argbest.parts = { decisions, certainty, allocation, contention, model, check, guarantee, how };
  argbest.pages = argbest.pages || {};
  argbest.pages.study = function (data) {
    let explore = null;
    argbest.answer(data, (c) => explore(c));
    decisions(data);
    explore = argbest.explorer(
      section(
        "explore",
        "Any context",
        data.prediction.stops
          ? "Predictions for any context in range. This page lists them for the simulated contexts, with the " +
              "numbers of the table above, and for many others; between listed contexts it interpolates."
          : "Predictions for the contexts listed in this page; the controls move to the nearest of them.",
      ),
      data,
    );
    if (data.slider) argbest.slider(data);
    certainty(data);
    allocation(data);
    contention(data);
    model(data);
    if (data.check) check(data);
    guarantee(data);
    failures(data);
    how(data);
  };
})((globalThis.argbest = globalThis.argbest || {}));
