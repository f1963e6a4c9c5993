// The policy map and the answer beside it: a click or an arrow key chooses a simulated context.
(function (argbest) {
  "use strict";

  const { element } = argbest.text;
  const LINES = 5; // of the answer, before the others are folded
  const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  /** The picture, which comes as SVG; `pick(c)` hears of the context chosen. Returns what shows newer data. */
  function map(host, data, pick) {
    const readout = element("output", { className: "readout", attributes: { "aria-live": "polite" } });
    const words = `Map of the choices by ${data.contexts.title}. Arrow keys go from context to context.`;
    const canvas = element("div", {
      className: "map",
      tabIndex: 0,
      attributes: { role: "group", "aria-label": words },
    });
    host.append(element("figure", { className: "chart" }, canvas, readout));
    let hits = [],
      here = null;

    function draw(next) {
      const drawn = new DOMParser().parseFromString(next.map, "image/svg+xml").documentElement;
      drawn.setAttribute("aria-hidden", "true");
      canvas.replaceChildren(document.importNode(drawn, true));
      hits = [...canvas.querySelectorAll(".hit")];
      const before = here && hits.find((hit) => hit.dataset.c === here.dataset.c);
      here = null;
      if (before) go(before, false);
    }

    function go(hit, heard = true) {
      if (here) here.classList.remove("here");
      here = hit;
      here.classList.add("here");
      readout.textContent = here.textContent;
      if (heard) pick(Number(here.dataset.c));
    }

    const middle = (hit) => [0, 1].map((i) => hit.getAttribute("xy"[i]) * 1 + hit.getAttribute(["width", "height"][i]) / 2);

    /** The nearest context in a direction; one beside the way is farther than it seems. */
    function toward([right, down]) {
      if (!here) return hits[0];
      const [x, y] = middle(here);
      let best = null,
        least = Infinity;
      for (const hit of hits) {
        const [dx, dy] = [middle(hit)[0] - x, middle(hit)[1] - y];
        const along = right * dx + down * dy,
          aside = Math.abs(right * dy + down * dx);
        if (along > 0.01 && along + 9 * aside < least) [best, least] = [hit, along + 9 * aside];
      }
      return best;
    }

    canvas.addEventListener("click", (event) => {
      const hit = event.target.closest(".hit");
      if (hit) go(hit);
    });
    canvas.addEventListener("keydown", (event) => {
      const ends = { Home: hits[0], End: hits.at(-1) };
      if (!(event.key in STEPS) && !(event.key in ends)) return;
      event.preventDefault();
      const hit = ends[event.key] || toward(STEPS[event.key]);
      if (hit) go(hit);
    });
    draw(data);
    return draw;
  }

  /** The section at the head of a page of a study. */
  argbest.answer = function (data, pick) {
    const host = argbest.sections.section("choices", "What to choose");
    const pictures = element("div", { className: "picture" }),
      beside = element("div", { className: "beside" });
    const usual = element("div", { className: "answer" }, pictures, beside);
    const asked = data.questions ? argbest.questions(host, data, usual) : () => {};
    if (!data.questions) host.append(usual);
    const drawn = map(pictures, data, pick);
    const update = (next) => {
      const some = next.choices.slice(0, LINES),
        rest = next.choices.slice(LINES);
      beside.replaceChildren(
        list(some),
        ...(rest.length > 1 ? [element("details", {}, element("summary", {}, `${rest.length} more lines`), list(rest))] : rest.map((each) => list([each]))),
        ...next.answer.slice(1).map((each) => element("p", {}, each)),
      );
    };
    update(data);
    return (next) => {
      asked(next);
      drawn(next);
      update(next);
    };
  };

  const list = (lines) => element("ul", { className: "choices" }, ...lines.map(choice));

  /** A line with what is chosen in bold. */
  function choice([where, what, how]) {
    return element("li", {}, where && `${where}: `, element("strong", {}, what), how);
  }
})((globalThis.argbest = globalThis.argbest || {}));
