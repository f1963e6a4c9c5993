// A table of contexts by alternatives, shaded.
(function (argbest) {
  "use strict";

  const { element, count, show } = argbest.text;
  const MOST_COLUMNS = 30; // alternatives side by side

  /**
   * Append the table of what `read` finds in the data, [alternative][context]: of the most telling alternatives
   * where there are too many. Returns a function that shows newer data in its place.
   */
  function heat(host, data, { caption, read, kind, file }) {
    const { alternatives, contexts } = data;
    const place = element("div");
    host.append(place);
    let kept = [],
      top = 1,
      shown = null;

    function rows(values) {
      top = kind === "count" ? Math.sqrt(values.reduce((most, row) => Math.max(most, ...row), 1)) : 1;
      return tabled(data).map(([c, i]) => [contexts.short[c], ...kept.map((k) => values[k][i])]);
    }

    function build(values) {
      place.replaceChildren();
      const listed = alternatives.order.length;
      if (kept.length < listed) place.append(element("p", {}, shownOf(kept.length, listed)));
      if (data.left_out) place.append(element("p", {}, data.left_out));
      const columns = kept.map((k) => ({
        name: alternatives.labels[k],
        title: alternatives.short[k],
        kind,
        fill: kind === "count" ? (n) => Math.sqrt(n) / top : undefined,
      }));
      shown = argbest.table(place, {
        caption,
        columns: [{ name: contexts.title }, ...columns],
        rows: rows(values),
        file,
      });
    }

    function update(next) {
      const values = read(next),
        before = kept;
      kept = telling(alternatives.order, values, kind);
      if (shown && kept.join() === before.join()) shown.replace(rows(values));
      else build(values);
    }

    update(data);
    return update;
  }

  /** A sentence on how many alternatives have a column, and which. */
  function shownOf(some, all) {
    if (!some) return `None of ${count(all, "alternative")} has an entry above 0.`;
    const which = some < MOST_COLUMNS ? "all others are 0" : "those with the largest entries";
    return `Shown are ${some} of ${count(all, "alternative")}: ${which}.`;
  }

  /**
   * The alternatives that have a column, in the order of reading: all of a few; of many those with the largest
   * entries, and none whose entries all read as 0.
   */
  function telling(order, values, kind) {
    if (order.length <= MOST_COLUMNS) return order;
    const size = new Map(order.map((k) => [k, Math.max(...values[k])]));
    const largest = [...order]
      .sort((a, b) => size.get(b) - size.get(a))
      .filter((k) => show(size.get(k), kind) !== show(0, kind))
      .slice(0, MOST_COLUMNS);
    return order.filter((k) => largest.includes(k));
  }

  /** The contexts that tables by alternative show, in the order of reading, and their columns in these. */
  function tabled({ contexts }) {
    const column = new Map(contexts.tabled.map((c, i) => [c, i]));
    return contexts.order.filter((c) => column.has(c)).map((c) => [c, column.get(c)]);
  }

  argbest.heat = heat;
  argbest.tabled = tabled;
})((globalThis.argbest = globalThis.argbest || {}));
