// Elements and texts. Labels reach the page as text only, never as markup.
(function (argbest) {
  "use strict";

  // Controls but for line feed and tab, and marks that turn the direction of writing: they mislead readers.
  const COMMANDS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

  const LONGEST = 28; // letters of a label in a table

  /** A value as text to look at, with such characters written as escapes: \x1b. */
  function harmless(value) {
    return String(value).replace(COMMANDS, (found) => {
      const code = found.charCodeAt(0).toString(16);
      return found === "\r" ? "\\r" : code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
    });
  }

  /** An element with properties, attributes (by `attributes`) and children: nodes or texts. */
  function element(tag, properties = {}, ...children) {
    const { attributes = {}, ...own } = properties;
    const made = Object.assign(document.createElement(tag), own);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(
      ...children
        .filter((child) => child !== null && child !== undefined)
        .map((child) => (child instanceof Node ? child : harmless(child))),
    );
    return made;
  }

  /** A number with so many significant digits, without digits that say nothing. */
  function number(value, digits = 4) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(digits - 1);
    const whole = size >= 1 ? Math.floor(Math.log10(size)) + 1 : 0;
    const places = size >= 1 ? Math.max(digits - whole, 0) : digits - 1 - Math.floor(Math.log10(size));
    const rounded = Number(value.toFixed(Math.min(places, 20)));
    return rounded.toLocaleString("en", { maximumFractionDigits: 20 });
  }

  /** A number with the digits that an uncertainty of so much leaves it; what is smaller says "< 0.01". */
  function rounded(value, unit) {
    if (typeof value !== "number" || !(unit > 0)) return number(value);
    const places = Math.min(Math.max(1 - Math.floor(Math.log10(unit)), 0), 20),
      least = 10 ** -places;
    if (Math.abs(value) >= 1e9) return number(value);
    if (value > 0 && value < least / 2) return `< ${number(least, 1)}`;
    return Number(value.toFixed(places)).toLocaleString("en", {
      minimumFractionDigits: places,
      maximumFractionDigits: places,
    });
  }

  /** An expected loss with three digits; what is far below the difference that matters says "< 0.01". */
  function lost(value, delta) {
    return rounded(value, Math.max(delta, Math.abs(value)) / 10);
  }

  /** A number and its standard deviation, if it is known, with the same digits: "3.0 ± 3.1". */
  function give(value, unit, sd) {
    return sd === null ? rounded(value, unit) : `${rounded(value, unit)} ± ${rounded(sd, unit)}`;
  }

  /** A probability with three digits; what data tell is never written as certain. */
  function probability(p) {
    if (p === null || p === undefined) return "–";
    if (p >= 0.9995) return ">0.999";
    if (p < 0.0005 && p > 1e-12) return "<0.001";
    return p.toFixed(3);
  }

  /** A text of at most so many letters, what is too much taken from its middle. */
  function cut(text, most = LONGEST) {
    const letters = [...String(text)],
      half = (most - 1) >> 1;
    return letters.length <= most ? text : `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
  }

  const FORMS = { number, probability, share: probability };

  /** The text of a value of a kind. */
  function show(value, kind = "text") {
    return (FORMS[kind] || number)(value);
  }

  /** "1 context", "2 contexts". */
  function count(n, noun) {
    return `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
  }

  argbest.text = { element, harmless, cut, number, rounded, lost, give, probability, show, count };
})((globalThis.argbest = globalThis.argbest || {}));
