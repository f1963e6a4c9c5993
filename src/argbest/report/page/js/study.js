// The page of a study: failures, what to choose, decisions, certainty, model, how it was computed.
// Each part returns a function that shows newer data in its place.
(function (argbest) {
  "use strict";

  const { element, number, rounded, lost, probability, count } = argbest.text;
  const { section, cards, facts, columnsOf, titled, folded } = argbest.sections;
  const FEW = 5; // failures that are listed unasked
  const FIRST = ["open", "equal", "no feasible alternative", "sure"]; // states in the order of the table

  const HELP = {
    selected: "the alternative with the best posterior mean",
    runner_up: "of the others, the alternative that is most likely the best",
    mean: "posterior mean of the selected alternative",
    gap: "how much better the selected alternative is expected to be than the runner-up",
    gap_sd: "standard deviation of that difference",
    p_best: "probability that the selected alternative is the best",
    expected_loss: "what choosing it costs on average, because it may not be the best",
    running: "the fewest alternatives that hold the best one with probability 0.95, likeliest first",
  };
  const LIMITED_HELP = {
    selected: "what loses least on average; nothing where no alternative is likely enough to keep the limits",
    p_best: "probability that it is the best of those that keep the limits, or that none does",
    p_feasible: "probability that the selected alternative keeps all limits",
    gap: "how much better the selected alternative is expected to be than the runner-up; negative where that one may break a limit",
    expected_loss: "what choosing it costs on average: it may not be the best, or may break a limit",
  };
  const TITLES = {
    running: "still in the running",
    runner_up: "runner-up",
    gap_sd: "sd of gap",
    p_best: "P(best)",
    p_feasible: "P(feasible)",
    expected_loss: "expected loss",
  };

  function decisions(data) {
    const host = section("decisions", "Decisions"),
      place = element("div");
    host.append(place);
    let names = "",
      shown = null,
      running = new Map(), // who is still in the running, by row
      called = new Map(), // what the context of each row is called
      brief = new Map(); // what is selected, by its values alone
    const briefly = (row, plain) => brief.get(row) ?? plain;

    /** Rows in the order of reading, open ones first, and those last that have no answer. */
    function rows(next) {
      const at = next.decisions.columns.indexOf("state"),
        place = (row) => (FIRST.includes(row[at]) ? FIRST.indexOf(row[at]) : -1);
      running = new Map(next.decisions.rows.map((row, c) => [row, next.running[c]]));
      called = new Map(next.decisions.rows.map((row, c) => [row, next.contexts.names[c]]));
      brief = new Map(next.decisions.rows.map((row, c) => [row, next.alternatives.short[next.selected[c]]]));
      const found = next.contexts.order.map((c) => next.decisions.rows[c]);
      return found.map((row, i) => [place(row), i, row]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((each) => each[2]);
    }

    /** What a narrow and a wide screen have room for. */
    function views(columns) {
      const own = columns.map((column, i) => ({ ...column, of: (row) => row[i] })),
        find = (name) => own.find((each) => each.name === name),
        selected = find("selected"),
        contexts = own.slice(0, own.indexOf(selected));
      const together = { name: "context", kind: "text", of: (row) => called.get(row) },
        rest = { name: "running", title: TITLES.running, kind: "text", help: HELP.running, of: (row) => running.get(row) };
      const gap = find("gap"),
        spread = find("gap_sd"),
        lead = { ...gap, text: (row, plain) => (spread.of(row) === null ? plain : `${plain} ± ${rounded(spread.of(row), spread.of(row))}`) };
      const note = find("note") && { ...find("note"), kind: "note" }; // in one line, the rest by pointing at it
      const usual = [...contexts, selected, rest, find("p_best"), find("p_feasible"), find("mean"), lead];
      return {
        brief: [contexts.length === 1 ? contexts[0] : together, selected, find("p_best"), find("state")],
        usual: [...usual, find("expected_loss"), find("state"), note].filter(Boolean),
      };
    }

    function build(next) {
      const where = (name) => next.decisions.columns.indexOf(name),
        at = where("state"),
        { level, delta } = next.certainty;
      const doubt = (row) => row[where("gap_sd")] || delta,
        units = { mean: doubt, gap: doubt, gap_sd: doubt, expected_loss: (row) => Math.max(delta, doubt(row)) / 10 };
      const titles = {
        ...TITLES,
        context: titled(next.contexts.word, next.units.context),
        selected: next.alternatives.several
          ? next.alternatives.title.replace("alternative", "selected")
          : next.alternatives.word === "alternative"
            ? "selected"
            : `selected ${next.alternatives.word}`,
      };
      const limited = next.limits.length > 0,
        help = limited ? { ...HELP, ...LIMITED_HELP } : HELP;
      const chosen = where("selected"); // the columns before it are those of the contexts
      const unsure = (row) => row[at] === "equal" || row[at] === "open";
      const meaning =
        `sure: P(best) is at least ${level}; equal: not sure, but within ${amount(number(delta), next)} of the best ` +
        `with that probability; open: neither${limited ? `; no feasible alternative: surely none keeps the limits` : ""}`;
      const columns = columnsOf(next.decisions, { p_best: "probability", p_feasible: "probability" }, next.units).map((column, i) => ({
        ...column,
        text: column.name === "selected" && next.alternatives.several ? briefly : undefined,
        label: i <= chosen,
        title: titles[column.name] || column.title,
        unit: units[column.name],
        help: column.name === "state" ? meaning : help[column.name],
      }));
      place.replaceChildren();
      shown = argbest.table(place, {
        caption: `Choice per context, open ones first${next.unit ? `; amounts in ${next.unit}` : ""}`,
        columns,
        ...views(columns),
        rows: rows(next),
        file: "decisions.csv",
        filter: next.decisions.rows.length > 1,
        keep: next.decisions.rows.length > 1 ? { label: "only what is equal or open", test: unsure } : null,
        mark: (row) => (row[at] === "open" ? "undecided" : ""),
      });
    }

    /** Notes may come up in the course of a study, and with them a column. */
    function update(next) {
      const before = names;
      names = next.decisions.columns.join();
      if (names === before) shown.replace(rows(next));
      else build(next);
    }

    update(data);
    return update;
  }

  /** A number with the unit of the goal behind it. */
  function amount(text, data) {
    return data.unit ? `${text} ${data.unit}` : text;
  }

  function certainty(data) {
    const host = section("certainty", "How sure is it?");
    const place = element("div"),
      folds = element("div", { className: "folds" });
    host.append(place, folds);
    const tables = [
      folded(
        folds,
        "P(best) of every pair",
        (part, now) =>
          argbest.heat(part, now, {
            caption: `Probability of being best, ${contextsBy(now)}`,
            read: (next) => next.certainty.probability,
            kind: "share",
            file: "probability_best.csv",
          }),
        { id: "chances", data },
      ),
      folded(
        folds,
        "Replications of every pair",
        (part, now) => {
          const remark = element("p", { className: "remark" });
          part.append(remark);
          const shown = argbest.heat(part, now, {
            caption: `Replications, ${contextsBy(now)}`,
            read: (next) => next.allocation.count,
            kind: "count",
            file: "allocation.csv",
          });
          const update = (next) => (remark.textContent = spent(next.allocation));
          update(now);
          return (next) => {
            update(next);
            shown(next);
          };
        },
        { id: "allocation", data },
      ),
      folded(folds, "What the data guarantee without a model", guarantee, { id: "guarantee", data }),
    ];
    const update = (next) => {
      figures(place, next);
      tables.forEach((each) => each(next));
    };
    update(data);
    return update;
  }

  function figures(place, data) {
    const sure = data.certainty;
    place.replaceChildren();
    const loss = ["Expected loss", amount(lost(sure.eoc, sure.delta), data)];
    if (!sure.draws) {
      // One context: on average, in the worst and everywhere at once are the same.
      cards(place, [["Right", probability(sure.pcs_e), "probability that the selection is best"], [...loss, "on average"]]);
      return;
    }
    cards(place, [
      ["Right on average", probability(sure.pcs_e), "PCS_E"],
      ["Right in the worst", probability(sure.pcs_m), "PCS_M"],
      ["Right everywhere", probability(sure.p_all), `± ${number(sure.p_all_se, 2)}`],
      [...loss, "on average"],
    ]);
  }

  function spent({ total, pending }) {
    return `${count(total, "replication")} so far` + (pending ? `, ${number(pending)} under way.` : ".");
  }

  function contextsBy(data) {
    return `a row per ${data.contexts.title} and a column per ${data.alternatives.title}`;
  }

  function guarantee(host, data) {
    const place = element("div");
    host.append(place);
    const update = (next) => {
      const found = next.guarantee;
      place.replaceChildren(...[found.sentence, ...found.notes].map((words) => element("p", {}, words)));
      if (!found.certified) return;
      argbest.table(place, {
        caption: `Lower bounds of the lead of the selected alternative, whatever the model believes${next.unit ? `; in ${next.unit}` : ""}`,
        columns: columnsOf(found, {}, next.units),
        rows: found.rows,
        file: "guarantee.csv",
      });
    };
    update(data);
    return update;
  }

  /** Whether the model fits, what it found in words, and its numbers for those who want them. */
  function model(data) {
    const host = section("model", "The model"),
      verdict = element("p", { id: "verdict" }),
      folds = element("div", { className: "folds" });
    host.append(verdict, folds);
    const found = folded(
      folds,
      "What the model found",
      (part, now) => {
        const list = element("ul"),
          update = (next) => list.replaceChildren(...next.model.sentences.map((each) => element("li", {}, each)));
        part.append(list);
        update(now);
        return update;
      },
      { id: "model-words", data },
    );
    const numbers = folded(
      folds,
      "The model in numbers",
      (part, now) => {
        const place = element("div");
        part.append(place);
        const update = (next) => {
          place.replaceChildren();
          const { parts, lengthscales } = next.model;
          const tables = [
            [parts, "Parts of the model and the noise: share of the variation, standard deviation"],
            [lengthscales, "Lengthscales: distance over which rewards change, in the units of the columns"],
          ];
          for (const [table, caption] of tables)
            if (table.rows.length) argbest.table(place, { caption, columns: columnsOf(table), rows: table.rows, plain: true });
          if (!next.hyperparameters) return;
          argbest.table(place, {
            caption: "Hyper-parameters of every alternative, in the units of the rewards and of the contexts",
            columns: columnsOf(next.hyperparameters),
            rows: next.hyperparameters.rows,
            file: "hyperparameters.csv",
          });
        };
        update(now);
        return update;
      },
      { id: "model-numbers", data },
    );
    if (data.check.rows) folded(folds, "Pairs predicted from all others", scores, { id: "check", data, open: flagged(data.check) });
    const update = (next) => {
      verdict.textContent = next.check.verdict;
      verdict.classList.toggle("alarm", next.check.fits === false);
      found(next);
      numbers(next);
    };
    update(data);
    return update;
  }

  /** Whether single pairs speak against the model. */
  function flagged({ columns, rows }) {
    const at = columns.indexOf("flagged");
    return rows.some((row) => row[at]);
  }

  /** The z-scores of the model check, as a chart and as a table. */
  function scores(host, data) {
    const found = data.check,
      z = found.columns.indexOf("z"),
      flagged = found.columns.indexOf("flagged");
    const place = found.columns.indexOf("predicted"),
      sorted = [...found.rows].sort((a, b) => a[place] - b[place]);
    const picture = argbest.chart(host, { height: 240 });
    const reach = Math.max(found.limit * 1.15, ...sorted.map((row) => Math.abs(row[z]) * 1.1));
    picture.draw({
      title: "z-scores of pairs over what the other pairs predict",
      x: { label: titled("predicted", found.unit), values: sorted.map((row) => row[place]) },
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
    argbest.table(host, {
      caption: "Pairs predicted from all others",
      columns: columnsOf(found, {}, data.units),
      rows: found.rows,
      file: "model_check.csv",
      keep: { label: "flagged only", test: (row) => row[flagged] },
      mark: (row) => (row[flagged] ? "undecided" : ""),
    });
  }

  function failures(data) {
    const found = data.failures;
    if (!found.total) return;
    const host = section(
      "failures",
      "Failed simulations",
      `${count(found.total, "trial")} gave no value; none of them counts in any number below.`,
    );
    host.append(element("p", {}, found.reason));
    if (found.set_aside) host.append(element("p", {}, found.set_aside));
    folded(host, found.rows.length < found.total ? `The last ${found.rows.length} of them` : "The trials", (part) => {
      argbest.table(part, {
        caption: "Trials without a value",
        columns: columnsOf(found),
        rows: found.rows,
        file: "failures.csv",
        filter: true,
      });
    }, { open: found.rows.length <= FEW });
  }

  function how(data) {
    const place = element("div");
    section("how", "How it was computed").append(place);
    const shown = folded(
      place,
      "Everything needed to compute it again",
      (part, now) => {
        const inside = element("div");
        part.append(inside);
        const update = (next) => {
          inside.replaceChildren();
          facts(inside, next.how);
        };
        update(now);
        return update;
      },
      { data },
    );
    return shown;
  }

  argbest.parts = { decisions, certainty, model, how };
  argbest.pages = argbest.pages || {};
  argbest.pages.study = function (data) {
    let explore = null;
    failures(data);
    argbest.answer(data, (c) => explore(c));
    decisions(data);
    explore = data.contexts.order.length > 1 ? argbest.explorer(section("explore", "Any context"), data) : () => {};
    if (data.slider) argbest.slider(data);
    certainty(data);
    model(data);
    how(data);
  };
})((globalThis.argbest = globalThis.argbest || {}));
