// Line charts on uPlot: bands, points with bars, a readout that follows mouse and arrow keys, a table beside.
(function (argbest) {
  "use strict";

  const { element, number } = argbest.text;
  const COLOURS = 8; // as many as the style sheet names
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
  const LEAST_ROOM = 50; // pixels beside a chart
  const charts = new Set();

  function style(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  const colour = (i) => style(`--line-${i % COLOURS}`);

  /** Texts of ticks, with as many digits as tell them exactly: large and small ones with an exponent. */
  function tickTexts(ticks) {
    const known = ticks.filter((tick) => tick !== null);
    const largest = Math.max(...known.map(Math.abs), 0);
    const step = Math.min(...known.slice(1).map((tick, i) => tick - known[i]), largest);
    const exponent = largest >= 1e6 || largest < 1e-3;
    const write = (tick, digits) => {
      if (tick === null) return "";
      if (Math.abs(tick) < 1e-9 * largest || tick === 0) return "0";
      return exponent ? tick.toExponential(digits - 1).replace("e+", "e") : number(tick, Math.max(digits, 4));
    };
    const exact = (digits) =>
      known.every((tick) => Math.abs(Number(write(tick, digits).replaceAll(",", "")) - tick) < 1e-3 * step);
    let digits = 1;
    while (digits < 15 && !exact(digits)) digits++;
    return ticks.map((tick) => write(tick, digits));
  }

  /** The room that an axis needs beside the chart for the longest of its texts. */
  function room(u, texts, side, cycle) {
    const axis = u.axes[side];
    if (cycle > 1) return axis._size; // measured already; measuring again might go on for ever
    if (!texts) return LEAST_ROOM;
    u.ctx.save();
    u.ctx.font = axis.font[0];
    const longest = Math.max(0, ...texts.map((each) => u.ctx.measureText(each).width));
    u.ctx.restore();
    const wide = Math.ceil(longest / (devicePixelRatio || 1));
    return Math.max(LEAST_ROOM, wide + axis.ticks.size + axis.gap + 2);
  }

  /**
   * A chart that is drawn by `draw(spec)`: {title, x: {label, values}, y: {label, range}, lines, mark, bars}.
   * A line is {label, values, low, high, index, dots}: index picks colour and dash, dots means no line. Bars
   * are {x, y, half, index}. `mark` is a place on the x axis, which `mark(x)` moves. `onpick(x)` hears of
   * clicks.
   */
  function chart(host, { height = 300, onpick = null } = {}) {
    const legend = element("ul", { className: "legend" });
    const readout = element("output", { className: "readout", attributes: { "aria-live": "polite" } });
    const canvas = element("div", { className: "canvas", tabIndex: 0, attributes: { role: "group" } });
    const figure = element("figure", { className: "chart" }, canvas, legend, readout);
    host.append(figure);
    let plot = null,
      spec = null;

    function draw(next) {
      spec = next;
      build();
    }

    /** Move the mark, and leave all else as it is. */
    function mark(x) {
      spec.mark = x;
      plot.redraw(false);
    }

    function build() {
      if (!spec) return;
      if (plot) plot.destroy();
      canvas.setAttribute("aria-label", `Chart: ${spec.title}. Arrow keys read its values.`);
      plot = new uPlot(options(), data(), canvas);
      plot.root.querySelectorAll("canvas").forEach((each) => each.setAttribute("aria-hidden", "true"));
      legend.replaceChildren(...spec.lines.map(entry));
      readout.textContent = "";
    }

    function data() {
      const columns = [spec.x.values];
      for (const line of spec.lines) columns.push(line.values);
      for (const line of spec.lines) if (line.low) columns.push(line.high, line.low);
      return columns;
    }

    function options() {
      const ink = style("--ink"),
        grid = style("--grid"),
        lines = spec.lines;
      const series = [
        {},
        ...lines.map((line) => ({
          stroke: colour(line.index),
          width: line.dots ? 0 : 2,
          dash: DASHES[Math.floor(line.index / COLOURS) % DASHES.length],
          points: { show: Boolean(line.dots), size: 7, fill: colour(line.index) },
          paths: line.dots ? () => null : undefined,
        })),
      ];
      const bands = [];
      for (const line of lines) {
        if (!line.low) continue;
        bands.push({ series: [series.length, series.length + 1], fill: `${colour(line.index)}26` });
        series.push(...[0, 1].map(() => ({ stroke: "transparent", width: 0, points: { show: false } })));
      }
      const axis = {
        stroke: ink,
        grid: { stroke: grid, width: 1 },
        ticks: { stroke: grid },
        font: "12px system-ui, sans-serif",
        labelFont: "12px system-ui, sans-serif",
        values: (_, ticks) => tickTexts(ticks),
      };
      return {
        width: Math.max(canvas.clientWidth || 600, 240),
        height,
        scales: { x: { time: false }, y: spec.y.range ? { range: spec.y.range } : {} },
        axes: [
          { ...axis, label: spec.x.label, space: 80 },
          { ...axis, label: spec.y.label, size: room },
        ],
        padding: [null, 40, null, null], // half of the last text on the x axis
        legend: { show: false },
        cursor: { y: false, drag: { x: !onpick, y: false } },
        series,
        bands,
        hooks: { draw: [overlay], setCursor: [follow], ready: [listen] },
      };
    }

    function overlay(u) {
      const ctx = u.ctx,
        { left, top, width, height: tall } = u.bbox,
        ratio = devicePixelRatio || 1;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, tall);
      ctx.clip();
      ctx.lineWidth = 1.5 * ratio;
      if (spec.mark !== null && spec.mark !== undefined) {
        const x = u.valToPos(spec.mark, "x", true);
        ctx.strokeStyle = style("--ink");
        ctx.setLineDash([4 * ratio, 4 * ratio]);
        stroke(ctx, x, top, x, top + tall);
        ctx.setLineDash([]);
      }
      for (const level of spec.y.levels || []) {
        const y = u.valToPos(level, "y", true);
        ctx.strokeStyle = style("--alarm");
        ctx.setLineDash([6 * ratio, 4 * ratio]);
        stroke(ctx, left, y, left + width, y);
        ctx.setLineDash([]);
      }
      for (const bar of spec.bars || []) {
        const x = u.valToPos(bar.x, "x", true),
          y = u.valToPos(bar.y, "y", true);
        ctx.strokeStyle = ctx.fillStyle = colour(bar.index);
        if (bar.half)
          stroke(ctx, x, u.valToPos(bar.y - bar.half, "y", true), x, u.valToPos(bar.y + bar.half, "y", true));
        ctx.beginPath();
        ctx.arc(x, y, 3.5 * ratio, 0, 2 * Math.PI);
        ctx.fill();
      }
      ctx.restore();
    }

    function stroke(ctx, x0, y0, x1, y1) {
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
      ctx.stroke();
    }

    function follow(u) {
      const i = u.cursor.idx;
      if (i === null || i === undefined) {
        readout.textContent = "";
        return;
      }
      const values = spec.lines.filter((line) => line.values[i] !== null && line.values[i] !== undefined);
      const near = values.length > 8 ? values.slice(0, 8) : values;
      readout.textContent =
        `${spec.x.label} ${number(spec.x.values[i])}: ` +
        near.map((line) => `${line.label} ${number(line.values[i])}`).join("; ");
    }

    function listen(u) {
      if (onpick)
        u.over.addEventListener("click", () => {
          if (u.cursor.left >= 0) onpick(u.posToVal(u.cursor.left, "x"));
        });
    }

    canvas.addEventListener("keydown", (event) => {
      if (!plot) return;
      const last = spec.x.values.length - 1,
        now = plot.cursor.idx ?? -1;
      const to = {
        ArrowRight: now + 1,
        ArrowLeft: now < 0 ? last : now - 1,
        Home: 0,
        End: last,
        PageDown: now + 10,
        PageUp: now - 10,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const i = Math.min(Math.max(to, 0), last);
      plot.setCursor({ left: plot.valToPos(spec.x.values[i], "x"), top: 10 });
    });

    function entry(line) {
      const mark = element("span", {
        className: line.dots ? "dot" : "swatch",
        attributes: { "aria-hidden": "true" },
      });
      mark.style.setProperty("--colour", `var(--line-${line.index % COLOURS})`);
      const dash = DASHES[Math.floor(line.index / COLOURS) % DASHES.length];
      if (dash.length) mark.style.setProperty("--dash", stripes(dash));
      return element("li", {}, mark, line.label);
    }

    /** A line of dashes and gaps as a background. */
    function stripes(dash) {
      let at = 0;
      const parts = dash.map((long, i) => `${i % 2 ? "transparent" : "var(--colour)"} ${at}px ${(at += long)}px`);
      return `repeating-linear-gradient(to right, ${parts.join(", ")})`;
    }

    let width = 0;
    new ResizeObserver(() => {
      if (!plot || canvas.clientWidth === width || !canvas.clientWidth) return;
      width = canvas.clientWidth;
      plot.setSize({ width: Math.max(width, 240), height });
    }).observe(canvas);
    charts.add(build);
    return { draw, mark };
  }

  /** Draw all charts again, in the colours of the day, the night or the page. */
  function redraw() {
    for (const build of charts) build();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    redraw();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    redraw();
  });

  chart.forget = () => charts.clear();
  argbest.chart = chart;
})((globalThis.argbest = globalThis.argbest || {}));
