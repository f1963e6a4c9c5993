// Fill the page from its payload. A live view calls argbest.header with every newer one.
(function (argbest) {
  "use strict";

  const { element, harmless } = argbest.text;

  /** What stands above everything: of a study the first sentence, for the rest is beside its map. */
  const head = (data) => (data.choices ? data.answer[0] : data.answer.join(" "));

  /** Title, question, answer and next step. */
  argbest.header = function (data) {
    document.getElementById("title").textContent = harmless(data.title);
    document.getElementById("asked").replaceChildren(
      ...(data.asked || []).map(([words, name]) => (name ? element("em", {}, words) : harmless(words))),
    );
    document.getElementById("answer").textContent = harmless(head(data));
    next(data.next);
  };

  /** What to do next, and a command with a button that copies it; one that is shown already stays. */
  function next(given) {
    const host = document.getElementById("next");
    if (!given) return host.replaceChildren();
    const [sentence, command] = given.map(harmless);
    if (host.dataset.command === sentence + command) return;
    host.dataset.command = sentence + command;
    const code = element("code", { tabIndex: 0 }, command),
      button = element("button", { type: "button" }, "Copy"),
      said = element("span", { attributes: { role: "status" } });
    button.onclick = async () => {
      try {
        await navigator.clipboard.writeText(command);
        said.textContent = " copied";
      } catch {
        getSelection().selectAllChildren(code); // where pages may not copy, the reader can
        said.textContent = " selected: copy it";
      }
    };
    host.replaceChildren(element("strong", {}, "Next: "), `${sentence} `, element("span", { className: "command" }, code, button, said));
  }

  argbest.render = function (data) {
    document.title = harmless(data.title);
    argbest.header(data);
    argbest.chart.forget();
    document.getElementById("main").replaceChildren();
    document.getElementById("contents").replaceChildren();
    argbest.pages[data.kind](data);
  };

  const payload = document.getElementById("payload");
  if (payload) {
    argbest.payload = JSON.parse(payload.textContent);
    argbest.render(argbest.payload);
  }
})((globalThis.argbest = globalThis.argbest || {}));
