// The page of an experiment: curves with bands, the table of what was reached, how it was computed.
(function (argbest) {
  "use strict";

  const { element } = argbest.text;
  const { section, facts, columnsOf, folded } = argbest.sections;

  function curves(data) {
    if (!data.panels.length) return;
    const host = section("curves", "Curves", data.bands);
    const everyone = [...new Set(data.panels.flatMap((panel) => panel.curves.map((curve) => curve.label)))];
    for (const panel of data.panels) {
      const part = element("div", { className: "panel" }, element("h3", {}, panel.title));
      host.append(part);
      const values = [...new Set(panel.curves.flatMap((curve) => curve.replications))].sort((a, b) => a - b);
      const lines = panel.curves.map((curve) => aligned(curve, values, everyone.indexOf(curve.label)));
      argbest.chart(part, { height: 300 }).draw({
        title: panel.title,
        x: { label: panel.along, values },
        y: { label: panel.measure },
        lines,
      });
      folded(part, "These curves as a table", (numbers) =>
        argbest.table(numbers, {
          caption: panel.title,
          columns: [
            { name: "contender" },
            { name: "replications", kind: "number", title: "replications" },
            { name: panel.measure, kind: "number" },
            { name: "low", kind: "number" },
            { name: "high", kind: "number" },
          ],
          rows: panel.curves.flatMap((curve) =>
            curve.replications.map((n, i) => [curve.label, n, curve.value[i], curve.low[i], curve.high[i]]),
          ),
          file: `${panel.name}.csv`,
          filter: true,
        }),
      );
    }
  }

  /** A curve on the replications that all curves of a panel have; null where it has none. */
  function aligned(curve, values, index) {
    const where = new Map(curve.replications.map((n, i) => [n, i]));
    const pick = (column) => values.map((n) => (where.has(n) ? column[where.get(n)] : null));
    return {
      label: curve.label,
      index,
      values: pick(curve.value),
      low: pick(curve.low),
      high: pick(curve.high),
    };
  }

  /** How often claims came true, in bins of claims. */
  function claims(data) {
    const found = data.claims;
    const host = section(
      "claims",
      "Do claims come true?",
      "P(right) that certificates claim for single contexts, at all checkpoints, and the share of such " +
        "selections that are right, with 95 % intervals over macro-replications.",
    );
    argbest.table(host, {
      caption: "Claims in bins",
      columns: columnsOf(found),
      rows: found.rows,
      file: "claims.csv",
      filter: found.rows.length > 8,
    });
  }

  argbest.pages = argbest.pages || {};
  argbest.pages.experiment = function (data) {
    if (data.table) {
      argbest.table(section("reached", "What was reached", data.reached), {
        caption: data.title,
        columns: columnsOf(data.table),
        rows: data.table.rows,
        file: "table.csv",
        filter: data.table.rows.length > 8,
      });
    }
    curves(data);
    if (data.claims) claims(data);
    if (data.notes.length) {
      const host = section("notes", "Remarks");
      host.append(element("ul", {}, ...data.notes.map((note) => element("li", {}, note))));
    }
    if (data.how.length) facts(section("how", "How it was computed"), data.how);
  };
})((globalThis.argbest = globalThis.argbest || {}));
