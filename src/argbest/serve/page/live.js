// The live view: ask every two seconds how the study stands, and show in place what has changed.
(function (argbest) {
  "use strict";

  const { element, number, count } = argbest.text;
  const { section, titled, folded } = argbest.sections;
  const { progress, workers, failures, pace } = argbest.standing;
  const EVERY = 2000, // milliseconds between two questions
    PATIENCE = 8000; // without an answer: then contact is lost
  const MEASURES = ["PCS_E", "PCS_M", "P(all)", "EOC"];

  let waiting = null, // the timer of the next question
    known = null, // the version of the picture that is shown
    restsOn = null, // replications in it
    subject = null, // which study, and which version of argbest, this page was loaded for
    heard = null, // when the server answered last
    standing = null, // the update of what is always shown
    parts = null; // the updates of what is shown once something is known

  /** The server gave no answer, or none that can be used. */
  class Silence extends Error {}

  async function get(what) {
    try {
      const answer = await fetch(what, { signal: AbortSignal.timeout(PATIENCE), cache: "no-cache" });
      if (answer.ok) return await answer.json();
      throw new Error(answer.statusText);
    } catch (error) {
      throw new Silence(error.message);
    }
  }

  async function look() {
    waiting = null;
    try {
      const state = await get("state");
      heard = new Date();
      const now = `${state.study} ${state.argbest}`;
      if (subject !== null && subject !== now) return location.reload();
      subject = now;
      await take(state);
    } catch (error) {
      if (error instanceof Silence) lost();
      else broken(error);
    }
    waiting = setTimeout(look, EVERY);
  }

  async function take(state) {
    standing = standing || everything();
    if (state.picture !== null && state.picture !== known) {
      const data = await get("picture");
      known = state.picture;
      show(data);
    }
    standing(state);
    contact(...mood(state));
    const { replications, budget } = state.standing;
    const place = document.getElementById("contact");
    place.style.setProperty("--done", budget ? Math.min(replications / budget, 1) : 0); // a line below the words
  }

  // What the page says of itself ------------------------------------------------------------------------

  function contact(kind, words) {
    const place = document.getElementById("contact");
    place.textContent = words;
    if (place.dataset.mood !== kind) document.getElementById("news").textContent = words; // said aloud
    place.dataset.mood = kind;
    document.body.classList.toggle("stale", kind === "lost");
  }

  function lost() {
    const since = heard ? ` since ${heard.toLocaleTimeString()}` : "";
    contact("lost", `No contact with the live view${since}. This page may be out of date; trying again …`);
  }

  function broken(error) {
    console.error(error);
    contact("trouble", `This page cannot show the data it received: ${error.message}. Reload it.`);
  }

  function mood({ standing: now, troubles, picture }) {
    if (troubles.reading) return ["trouble", `The study cannot be read: ${troubles.reading}`];
    if (troubles.computing) return ["trouble", `Not up to date: ${troubles.computing}`];
    const behind = restsOn !== null && now.replications > restsOn;
    const numbers = behind ? ` The numbers below are based on ${number(restsOn)} of them; newer ones follow.` : "";
    const told = count(now.replications, "replication");
    if (!now.replications)
      return [
        "waiting",
        now.trials.pending ? "Live: the first simulations run." : "Live: nothing simulated yet.",
      ];
    if (picture === null) return ["waiting", `Live: ${told}.${pace(now)} Computing the answers …`];
    if (now.finished) return ["finished", `Finished: ${told}.${numbers}`];
    const hands = now.workers.filter((worker) => worker.alive).length;
    const idle = hands || now.trials.pending ? "" : " No worker is simulating at the moment.";
    return ["live", `Live: ${told}.${idle}${pace(now)}${numbers}`];
  }

  // What is always shown: progress, workers, failures ----------------------------------------------------

  function everything() {
    const updates = [progress(), workers(), failures()];
    return (state) => updates.forEach((update) => update(state.standing));
  }

  /** Put what is known above the progress and the rest of the book-keeping, which were there before. */
  function arrange() {
    const main = document.getElementById("main"),
      contents = document.getElementById("contents");
    for (const id of ["progress", "workers", "failures", "how"]) {
      main.append(document.getElementById(id));
      contents.append(contents.querySelector(`[href="#${id}"]`).parentNode);
    }
  }

  // What is shown once something is known: the parts of the report, and the course of certainty -----------

  function show(data) {
    argbest.header(data);
    restsOn = data.allocation.total;
    if (parts !== null) {
      parts.forEach((update) => update(data));
      return;
    }
    const { decisions, certainty, model, how } = argbest.parts;
    const made = [argbest.answer(data, () => {}), decisions(data)];
    if (data.slider) made.push(argbest.slider(data));
    made.push(certainty(data), course(data), model(data), how(data));
    parts = made;
    arrange();
  }

  function course(data) {
    const host = section("course", "How certainty grew", "The certificate by number of replications.");
    const none = element("p", {}, "It begins when the initial design has been simulated."),
      charts = element("div", { className: "charts" });
    host.append(none, charts);
    const sure = argbest.chart(charts, { height: 240 }),
      cost = argbest.chart(charts, { height: 240 });
    let shown = null,
      rows = data.course;
    const draw = () => {
      none.hidden = rows.length > 0;
      if (!rows.length) return;
      const values = rows.map((row) => row[0]),
        line = (i, index) => ({ label: MEASURES[i], values: rows.map((row) => row[i + 1]), index });
      const dots = rows.length === 1 ? { dots: true } : {};
      sure.draw({
        title: "probability of correct selection over replications",
        x: { label: "replications", values },
        y: { label: "probability", range: [0, 1] },
        lines: [0, 1, 2].map((i) => ({ ...line(i, i), ...dots })),
      });
      cost.draw({
        title: "expected opportunity cost over replications",
        x: { label: "replications", values },
        y: { label: titled("EOC", data.unit) },
        lines: [{ ...line(3, 3), ...dots }],
      });
    };
    folded(host, "The course as a table", (place) => {
      shown = argbest.table(place, {
        caption: "The certificate by number of replications",
        columns: [
          { name: "replications", kind: "number" },
          ...MEASURES.map((name, i) => ({ name, kind: i < 3 ? "probability" : "number" })),
        ],
        rows,
        file: "course.csv",
      });
    });
    draw();
    return (next) => {
      if (next.course.length === rows.length && next.course.at(-1)?.[0] === rows.at(-1)?.[0]) return;
      rows = next.course;
      draw();
      if (shown !== null) shown.replace(rows);
    };
  }

  // Browsers let hidden pages sleep; when one is seen again it shall not wait for its turn.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || waiting === null) return;
    clearTimeout(waiting);
    look();
  });
  look();
})((globalThis.argbest = globalThis.argbest || {}));
