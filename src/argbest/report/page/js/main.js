// Fill the page from its payload. A live view calls argbest.render again with a newer one.
(function (argbest) {
  "use strict";

  const { harmless } = argbest.text;

  /** What stands above everything: of a study the first sentence, for the rest is beside its map. */
  argbest.head = (data) => (data.choices ? data.answer[0] : data.answer.join(" "));

  argbest.render = function (data) {
    document.getElementById("title").textContent = harmless(data.title);
    document.title = harmless(data.title);
    document.getElementById("answer").textContent = harmless(argbest.head(data));
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
