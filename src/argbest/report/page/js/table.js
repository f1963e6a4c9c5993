// Tables that sort by their headings, filter, and can be taken away as CSV.
(function (argbest) {
  "use strict";

  const { element, harmless, cut, rounded, show, count } = argbest.text;
  const MOST = 12, // columns that print in letters of the usual size
    LONG = 40; // letters of a text that needs a column of some width
  const narrow = matchMedia("screen and (max-width: 48rem)"); // paper shows everything
  let made = 0;

  /**
   * Append a table to a host. `columns` are {name, title, kind, help, fill, unit}, `rows` arrays of values;
   * a number is rounded by its uncertainty `unit(row)`. Kinds are
   * text, number, probability (drawn with a bar), share and count (shaded by `fill`, 0 to 1); `text(row)` is
   * what a cell says, if not its value; of a text that is a `label` it says the two ends, if it is long. Options: caption,
   * file (name of the CSV), filter (whether there is a box), keep ({label, test(row)}: a box that keeps some
   * rows only), mark(row) (class of a row), plain (no tools and no sorting: for what is replaced all the time),
   * brief and usual (the columns that a narrow and a wide screen show, each with `of(row)`, its value; a box
   * shows all of them).
   */
  function table(
    host,
    { caption, columns, rows, file, filter = false, keep = null, mark = null, plain = false, brief = null, usual = null },
  ) {
    const id = `table-${++made}`;
    const state = { order: null, upwards: true, words: "", kept: false, whole: false };
    const status = element("output", { className: "status", attributes: { "aria-live": "polite" } });
    const head = element("tr"),
      body = element("tbody");
    const everything = columns.map((column, i) => ({ ...column, of: (row) => row[i] }));
    let view = [],
      headings = [];
    const whole = element(
      "table",
      { id },
      element("caption", {}, element("span", {}, caption)),
      element("thead", {}, head),
      body,
    );
    const tools = element("div", {
      className: "tools",
      attributes: { role: "group", "aria-label": `Tools of the table: ${caption}` },
    });
    if (filter)
      tools.append(
        box(id, (words) => {
          state.words = words;
          draw();
        }),
      );
    if (keep)
      tools.append(
        tick(keep.label, (on) => {
          state.kept = on;
          draw();
        }),
      );
    const all = tick("all columns", (on) => {
      state.whole = on;
      arrange();
    });
    if (brief || usual) narrow.addEventListener("change", arrange);
    if (file)
      tools.append(element("button", { type: "button", className: "csv", onclick: save }, "Download CSV"));
    if (filter || keep) tools.append(status);
    if (tools.childElementCount) host.append(tools);
    host.append(
      element(
        "div",
        {
          className: "scroll",
          tabIndex: 0,
          attributes: { role: "region", "aria-label": caption },
        },
        whole,
      ),
    );

    /** Take the columns that there is room for, in the order in which the rows came. */
    function arrange() {
      const some = narrow.matches ? brief || usual : usual;
      view = some && !state.whole ? some : everything;
      if (!some) all.remove();
      else if (all.parentNode === null) tools.insertBefore(all, tools.querySelector(".csv"));
      whole.classList.toggle("brief", view === brief);
      whole.classList.toggle("wide", view.length > MOST);
      headings = view.map((column, i) => heading(column, plain ? null : () => sortBy(i)));
      head.replaceChildren(...headings);
      Object.assign(state, { order: null, upwards: true });
      draw();
    }

    function sortBy(i) {
      if (state.order !== i) Object.assign(state, { order: i, upwards: true });
      else if (state.upwards) state.upwards = false;
      else Object.assign(state, { order: null, upwards: true });
      draw();
    }

    function shown() {
      const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((row) => {
        if (state.kept && !keep.test(row)) return false;
        const line = view
          .map((column) => show(column.of(row), column.kind))
          .join(" ")
          .toLowerCase();
        return words.every((word) => line.includes(word));
      });
      if (state.order === null) return found;
      const { of } = view[state.order],
        side = state.upwards ? 1 : -1;
      return [...found].sort((a, b) => side * compare(of(a), of(b)));
    }

    function draw() {
      const found = shown();
      body.replaceChildren(...found.map((row) => line(row, view, mark)));
      if (!plain)
        headings.forEach((cell, i) =>
          cell.setAttribute(
            "aria-sort",
            state.order !== i ? "none" : state.upwards ? "ascending" : "descending",
          ),
        );
      status.textContent =
        found.length === rows.length
          ? count(rows.length, "row")
          : `${found.length} of ${count(rows.length, "row")}`;
    }

    function save() {
      const lines = [columns.map((column) => column.name), ...shown()];
      download(file, lines.map((line) => line.map(field).join(",")).join("\r\n") + "\r\n");
    }

    /** Show other rows; sorting and filter stay as they are. */
    function replace(next) {
      rows = next;
      draw();
    }

    arrange();
    return { redraw: draw, replace };
  }

  function heading(column, onclick) {
    const cell = element("th", { scope: "col", className: column.kind || "text" });
    const words = column.title || column.name;
    if (column.help) cell.title = column.help;
    cell.append(onclick ? element("button", { type: "button", onclick }, words) : element("span", {}, words));
    return cell;
  }

  function line(row, columns, mark) {
    const cells = columns.map((column, i) => cell(column.of(row), column, i === 0, row));
    return element("tr", { className: mark ? mark(row) : "" }, ...cells);
  }

  function cell(value, column, first, row) {
    const kind = column.kind || "text",
      plain = column.unit && value !== null ? rounded(value, column.unit(row)) : show(value, kind),
      whole = kind === "note" && value === null ? "" : column.text ? column.text(row, plain) : plain,
      text = column.label && kind === "text" ? cut(whole) : whole;
    const long = kind === "text" && String(text).length > LONG ? " long" : "";
    const made = element(first ? "th" : "td", { className: kind + long }, text);
    if (first) made.scope = "row";
    if ((kind === "note" && value !== null) || text !== whole) made.title = harmless(whole);
    const fill = column.fill || (kind === "probability" || kind === "share" ? (p) => p : null);
    if (fill && typeof value === "number") made.style.setProperty("--p", fill(value));
    return made;
  }

  function box(id, oninput) {
    const input = element("input", {
      type: "search",
      id: `${id}-filter`,
      oninput: () => oninput(input.value),
    });
    input.setAttribute("aria-controls", id);
    return element("label", { className: "filter" }, "Filter ", input);
  }

  function tick(label, onchange) {
    const input = element("input", { type: "checkbox", onchange: () => onchange(input.checked) });
    return element("label", { className: "tick" }, input, " ", label);
  }

  /** Numbers by size, texts by their letters, what is missing last. */
  function compare(a, b) {
    const missing = (a === null) - (b === null);
    if (missing || a === null) return missing;
    if (typeof a !== "string" && typeof b !== "string") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }

  /** A field of a CSV line, in full precision; a text that a spreadsheet would work out is kept from it. */
  function field(value) {
    let text = value === null || value === undefined ? "" : String(value);
    const formula = typeof value === "string" && /^'*[-=+@\t\r\n\uff0d\uff1d\uff0b\uff20]/.test(text);
    if (formula && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function download(name, content) {
    const link = element("a", {
      download: name,
      href: URL.createObjectURL(new Blob([content], { type: "text/csv" })),
    });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  argbest.table = table;
})((globalThis.argbest = globalThis.argbest || {}));
