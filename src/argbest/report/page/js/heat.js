// A table of contexts by alternatives, shaded.
(function (argbest) {
  "use strict";

  const { element, number } = argbest.text;
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
      if (kept.length < alternatives.total) {
        const words = `Shown are the ${kept.length} alternatives with the largest entries of ${number(alternatives.total)}.`;
        place.append(element("p", {}, words));
      }
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
      kept = telling(alternatives.order, values);
      if (shown && kept.join() === before.join()) shown.replace(rows(values));
      else build(values);
    }

    update(data);
    return update;
  }

  /** The alternatives with the largest entries, in their order: no more than fit side by side. */
  function telling(order, values) {
    const size = order.map((k) => Math.max(...values[k]));
    const larger = (i) => size.filter((other) => other > size[i]).length;
    const among = (_, i) => size.length <= MOST_COLUMNS || larger(i) < MOST_COLUMNS;
    return order.filter(among).slice(0, MOST_COLUMNS);
  }

  /** The contexts that tables by alternative show, in the order of reading, and their columns in these. */
  function tabled({ contexts }) {
    const column = new Map(contexts.tabled.map((c, i) => [c, i]));
    return contexts.order.filter((c) => column.has(c)).map((c) => [c, column.get(c)]);
  }

  argbest.heat = heat;
  argbest.tabled = tabled;
})((globalThis.argbest = globalThis.argbest || {}));
