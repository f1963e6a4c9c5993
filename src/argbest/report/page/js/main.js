// Fill the page from its payload. A live view calls argbest.render again with a newer one.
(function (argbest) {
  "use strict";

  argbest.render = function (data) {
    document.getElementById("title").textContent = data.title;
    document.title = data.title;
    document.getElementById("answer").textContent = data.answer.join(" ");
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
