// Parts that pages of any kind are made of.
(function (argbest) {
  "use strict";

  const { element, number } = argbest.text;

  /** Append a section with a heading and an opening remark, and return where its content goes. */
  function section(id, title, remark) {
    const part = element(
      "section",
      { id, attributes: { "aria-labelledby": `${id}-title` } },
      element("h2", { id: `${id}-title` }, title),
    );
    if (remark) part.append(element("p", { className: "remark" }, remark));
    document.getElementById("main").append(part);
    document.getElementById("contents").append(element("li", {}, element("a", { href: `#${id}` }, title)));
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

  /** Columns of a plain {columns, rows} table; kinds by name, else by what the values are. */
  function columnsOf(given, kinds = {}) {
    const bare = given.columns.map((name) => name.replace(/^(alternative|context)\./, "").replaceAll("_", " "));
    return given.columns.map((name, i) => ({
      name,
      title: bare.indexOf(bare[i]) === bare.lastIndexOf(bare[i]) ? bare[i] : name,
      kind: kinds[name] || (given.rows.some((row) => typeof row[i] === "number") ? "number" : "text"),
    }));
  }

  /** A table behind a summary line, made when it is first opened. */
  function folded(host, summary, make) {
    const part = element("details", {}, element("summary", {}, summary));
    part.addEventListener("toggle", () => make(part), { once: true });
    host.append(part);
  }

  argbest.sections = { section, cards, facts, columnsOf, folded };
})((globalThis.argbest = globalThis.argbest || {}));
