// Parts that pages of any kind are made of.
(function (argbest) {
  "use strict";

  const { element, number } = argbest.text;

  /** Append a section with a heading and an opening remark, and return where its content goes. */
  function section(id, title, remark, link = title) {
    const part = element(
      "section",
      { id, attributes: { "aria-labelledby": `${id}-title` } },
      element("h2", { id: `${id}-title` }, title),
    );
    if (remark) part.append(element("p", { className: "remark" }, remark));
    document.getElementById("main").append(part);
    document.getElementById("contents").append(element("li", {}, element("a", { href: `#${id}` }, link)));
    return part;
  }

  /** Figures with a name and what they mean. */
  function cards(host, entries) {
    host.append(
      element(
        "dl",
        { className: "cards" },
        ...entries.map(([name, value, meaning]) =>
          element(
            "div",
            {},
            element("dt", {}, name),
            element("dd", { className: "figure" }, value),
            " ",
            element("dd", {}, meaning),
          ),
        ),
      ),
    );
  }

  /** Names and values. */
  function facts(host, entries) {
    host.append(
      element(
        "dl",
        { className: "facts" },
        ...entries.map(([name, value]) =>
          element(
            "div",
            {},
            element("dt", {}, name),
            element("dd", {}, typeof value === "number" ? number(value, 6) : value),
          ),
        ),
      ),
    );
  }

  /** Columns of a plain {columns, rows} table; kinds and units by name, else by what the values are. */
  function columnsOf(given, kinds = {}, units = {}) {
    const bare = given.columns.map((name) => name.replace(/^(alternative|context)\./, "").replace(/_(?![A-Z]\b)/g, " "));
    return given.columns.map((name, i) => ({
      name,
      title: titled(bare.indexOf(bare[i]) === bare.lastIndexOf(bare[i]) ? bare[i] : name, units[name]),
      kind: kinds[name] || (given.rows.some((row) => typeof row[i] === "number") ? "number" : "text"),
    }));
  }

  /** "rate (calls per hour)". */
  function titled(name, unit) {
    return unit ? `${name} (${unit})` : name;
  }

  /**
   * What is behind a summary line, made when it is first opened. `make(place, data)` returns what shows newer
   * data in its place; so does this, whether or not it was opened.
   */
  function folded(host, summary, make, { id = "", data = null, open = false } = {}) {
    const part = element("details", { open }, element("summary", {}, summary));
    if (id) part.id = id;
    let shown = null,
      newest = data;
    const build = () => (shown = shown || make(part, newest) || (() => {}));
    host.append(part);
    if (open) build();
    else part.addEventListener("toggle", build, { once: true });
    return (next) => {
      newest = next;
      if (shown) shown(next);
    };
  }

  argbest.sections = { section, cards, facts, columnsOf, titled, folded };
})((globalThis.argbest = globalThis.argbest || {}));
