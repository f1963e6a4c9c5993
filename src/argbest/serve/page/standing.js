// How far the study is: progress, workers, failures. Each part returns a function that shows what is so now.
(function (argbest) {
  "use strict";

  const { element, number, count } = argbest.text;
  const { section, cards } = argbest.sections;

  /** 12 s, 3 min 20 s, 5 h 2 min. */
  function duration(seconds) {
    const whole = Math.round(seconds);
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
    return `${number(Math.floor(whole / 3600))} h ${Math.floor((whole % 3600) / 60)} min`;
  }

  /** How long it will take, as roughly as that is known: less than a minute, 8 min, 2 h 10 min, 3 days. */
  function wait(seconds) {
    const minutes = Math.round(seconds / 60);
    if (minutes < 1) return "less than a minute";
    if (minutes < 60) return `about ${minutes} min`;
    if (minutes >= 48 * 60) return `about ${number(Math.round(minutes / 1440))} days`;
    const tens = 10 * Math.round(minutes / 10);
    return `about ${Math.floor(tens / 60)} h` + (tens % 60 ? ` ${tens % 60} min` : "");
  }

  /** A rate in the unit that makes it easy to read: 3.2 per second, 14 per minute. */
  function speed(perSecond) {
    const [unit, seconds] =
      perSecond >= 1 ? ["second", 1] : perSecond * 60 >= 1 ? ["minute", 60] : ["hour", 3600];
    return `${number(Number((perSecond * seconds).toPrecision(2)))} per ${unit}`;
  }

  /** A sentence on rate and time left; "" where they are not known. */
  function pace({ per_second: perSecond, seconds_left: left }) {
    if (perSecond === null) return "";
    return ` ${speed(perSecond)}${left === null ? "" : `, ${wait(left)} left`}.`;
  }

  function progress() {
    const host = section("progress", "Progress");
    const replications = amount("Replications"),
      seconds = amount("Simulation time"),
      figures = element("div");
    host.append(replications.whole, seconds.whole, figures);
    return (now) => {
      replications.show(now.replications, now.budget, number);
      seconds.show(now.seconds_spent, now.seconds_budget, duration);
      const { told, pending, failed } = now.trials;
      const due = now.budget
        ? "replications of the budget that are neither done nor under way"
        : "pairs of the initial design and trials given back";
      figures.replaceChildren();
      cards(figures, [
        ["Under way", number(pending), "trials being simulated"],
        ["Told", number(told), "trials with a value"],
        ["Failed", number(failed), "trials without a value"],
        ["To come", number(now.to_come), due],
        ["Rate", now.per_second === null ? "–" : speed(now.per_second), "replications of late"],
        ["Time left", now.seconds_left === null ? "–" : wait(now.seconds_left), "at this rate"],
      ]);
      const share = now.budget
        ? `${Math.min(100, Math.floor((100 * now.replications) / now.budget))} % · `
        : "";
      document.title = `${share}${document.getElementById("title").textContent}`;
    };
  }

  /** An amount so far, and a bar where there is a limit. */
  function amount(label) {
    const words = element("span"),
      bar = element("progress", { max: 1, attributes: { "aria-label": label } });
    const whole = element("div", { className: "amount" }, words, bar);
    return {
      whole,
      show(value, limit, form) {
        words.textContent = `${label}: ${form(value)}` + (limit ? ` of ${form(limit)}` : "");
        bar.hidden = !limit;
        if (limit) bar.value = Math.min(1, value / limit);
      },
    };
  }

  function workers() {
    const host = section("workers", "Workers");
    const none = element("p", { className: "remark" }),
      place = element("div");
    host.append(none, place);
    let shown = null;
    return (now) => {
      const alive = now.workers.filter((worker) => worker.alive).length;
      none.textContent = now.workers.length
        ? `${alive} of ${count(now.workers.length, "worker")} alive.`
        : "No worker has reported: values are told by hand, or no worker has started.";
      const rows = now.workers.map((worker) => [
        worker.name,
        worker.host,
        worker.alive ? "alive" : "gone",
        worker.slots,
        worker.under_way,
        worker.utilisation,
        Math.round(worker.silent),
      ]);
      if (!rows.length) return;
      shown = replaced(shown, place, rows, {
        caption: "Who simulates",
        columns: [
          { name: "worker" },
          { name: "host" },
          { name: "state" },
          { name: "slots", kind: "number", help: "simulations at once" },
          { name: "under way", kind: "number" },
          { name: "busy", kind: "share", help: "share of its time spent simulating" },
          { name: "silent", kind: "number", title: "silent, s", help: "seconds since its last sign of life" },
        ],
        mark: (row) => (row[2] === "gone" && row[4] ? "undecided" : ""),
      });
    };
  }

  function failures() {
    const host = section("failures", "Failed simulations");
    const remark = element("p", { className: "remark" }),
      list = element("div"),
      aside = element("div");
    host.append(remark, list, aside);
    let failed = null,
      given = null;
    return (now) => {
      const total = now.trials.failed,
        out = now.set_aside;
      remark.textContent = total
        ? `${count(total, "trial")} gave no value.` +
          (now.failures.length < total ? ` The last ${now.failures.length} are listed.` : "")
        : "None.";
      if (total)
        failed = replaced(failed, list, now.failures, {
          caption: "Trials without a value",
          columns: [
            { name: "trial", kind: "number" },
            { name: "alternative" },
            { name: "context" },
            { name: "reason" },
          ],
          filter: true,
        });
      host.hidden = !total && !out.total; // nothing to say
      document.querySelector('#contents [href="#failures"]').parentNode.hidden = host.hidden;
      aside.hidden = !out.total;
      if (out.total)
        given = replaced(given, aside, out.pairs, {
          caption:
            "Set aside after repeated failures; argbest resume --readmit tries them again" +
            (out.pairs.length < out.total ? ` (${out.pairs.length} of ${number(out.total)} shown)` : ""),
          columns: [{ name: "alternative" }, { name: "context" }],
        });
    };
  }

  /** A table that is made once; later only its rows change, so that it stays sorted and filtered as it is. */
  function replaced(shown, place, rows, options) {
    if (shown === null) return argbest.table(place, { ...options, rows });
    shown.replace(rows);
    return shown;
  }

  argbest.standing = { progress, workers, failures, pace };
})((globalThis.argbest = globalThis.argbest || {}));
