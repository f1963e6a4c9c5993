// A chooser of questions, and their answers: everything that is shown comes ready from Python.
(function (argbest) {
  "use strict";

  const { element } = argbest.text;
  const { cards, columnsOf, folded } = argbest.sections;
  const KINDS = { p_non_dominated: "probability", p_right: "probability", p_within: "probability", p_worst: "probability" };
  const TITLES = {
    p_non_dominated: "P(non-dominated)",
    p_right: "P(right)",
    p_within: "P(within)",
    p_worst: "P(worst there)",
    runner_up: "runner-up",
    n_contexts: "contexts",
  };

  /** A picture that came as SVG; what it shows is said in words and numbers beside it. */
  function drawing(svg) {
    const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    drawn.setAttribute("aria-hidden", "true");
    return element("figure", { className: "chart drawn" }, document.importNode(drawn, true));
  }

  /** What choosing per context gains, in a sentence; its curve for those who want it. */
  function tailoring(found) {
    if (found === null) return [];
    const host = element("div", { className: "tailoring" });
    if (found.curve) folded(host, found.sentence, (part) => part.append(drawing(found.curve)));
    else host.append(element("p", {}, found.sentence));
    return [host];
  }

  /** Fill a place with an answer. */
  function show(place, answer) {
    place.replaceChildren();
    const lines = answer.lines.length
      ? element("ul", { className: "choices" }, ...answer.lines.map((each) => element("li", {}, each)))
      : element("p", { className: "chosen" }, element("strong", {}, answer.headline));
    const beside = element("div", { className: "beside" }, lines);
    const pictures = element("div", { className: "picture" }, ...answer.pictures.map(drawing));
    place.append(element("div", { className: "answer" }, pictures, beside));
    cards(beside, answer.figures);
    beside.append(...answer.said.map((each) => element("p", {}, each)));
    if (answer.table)
      folded(place, "The answer as a table", (host) => {
        if (answer.rows) host.append(element("p", {}, answer.rows));
        argbest.table(host, {
          caption: `Answer to the question: ${answer.label}`,
          columns: columnsOf(answer.table, KINDS).map((column) => ({
            ...column,
            title: TITLES[column.name] || column.title,
          })),
          rows: answer.table.rows,
          file: `${answer.name.replace(/[^\w-]+/g, "_")}.csv`,
        });
      });
    place.append(...tailoring(answer.tailoring));
  }

  /**
   * Put a chooser before `usual`, the answer to the first question, which another one hides. Returns what shows
   * newer data.
   */
  argbest.questions = function (host, data, usual) {
    const other = element("div", { hidden: true }),
      more = element("div"),
      asks = element("p", { className: "remark", id: "asks" }),
      left = element("p", { className: "remark" }),
      pareto = element("p", { className: "remark", id: "pareto" }),
      choices = element("fieldset", { className: "questions" }, element("legend", {}, "Question"));
    const first = data.questions.answers[0].name;
    let chosen = data.questions.own,
      found = data.questions;

    for (const { name, label } of data.questions.answers) {
      const input = element("input", { type: "radio", name: "question", value: name, checked: name === chosen });
      input.addEventListener("change", () => {
        chosen = name;
        update();
      });
      choices.append(element("label", {}, input, ` ${label}`));
    }
    if (data.questions.answers.length > 1) host.append(choices);
    host.append(asks, left, usual, more, other, pareto);

    function update() {
      const answer = found.answers.find((each) => each.name === chosen);
      asks.textContent = answer.asks;
      asks.hidden = chosen === found.own; // that one stands under the title
      left.textContent = found.left_out;
      left.hidden = !found.left_out;
      pareto.hidden = found.pareto === null;
      if (found.pareto) pareto.replaceChildren(`${found.pareto[0]} `, element("code", {}, found.pareto[1]));
      usual.hidden = more.hidden = chosen !== first;
      other.hidden = chosen === first;
      if (chosen === first) more.replaceChildren(...tailoring(answer.tailoring));
      else show(other, answer);
    }

    update();
    return (next) => {
      found = next.questions;
      update();
    };
  };
})((globalThis.argbest = globalThis.argbest || {}));
