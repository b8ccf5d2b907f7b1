// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// A schedule that plays: its chart (gantt.js), and which links compute at the moment.

const SVG = "http" + "://www.w3.org/2000/svg"; // a name that SVG elements are made with, not an address
const PLAY = 8; // seconds that a schedule takes to play
const MOST_LABELS = 400; // tasks up to which bars have names
const MOST_COLOURS = 11; // quantities with a colour of their own

function drawn(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The player for all schedules of the page; `onTasks(active)` gets what runs: a colour for each link. */
function makeGantt(host, onTasks) {
  const functions = Object.entries(DATA.functions).filter(([, f]) => f.charts.length);
  if (!functions.length) return;
  let [current, chart] = [functions[0], functions[0][1].charts[0]];
  let [time, playing, before, critical] = [0, false, 0, false];
  const tabs = make("div", { className: "tabs", role: "group", ariaLabel: "Function" });
  const machines = make("select", { id: "machine", ariaLabel: "Algorithm and machine" });
  const player = button("▶ Play", toggle, { id: "play" });
  const scrub = make("input", { type: "range", min: 0, max: 1, step: 0.001, value: 0, id: "scrub", ariaLabel: "Time in the schedule" });
  const clock = make("output", { className: "number", id: "clock" });
  const chain = button("Critical chain", () => {
    critical = !critical;
    chain.setAttribute("aria-pressed", String(critical));
    draw();
  }, { ariaPressed: "false", title: "Only tasks from beginning to end that each wait for the one before" });
  const facts = make("p", { className: "note" });
  const stage = make("div", { className: "gantt", id: "gantt" });
  const legend = make("div", { className: "legend" });
  let [cursor, veil, xOf, left, bottom] = [null, null, null, 0, 0];

  for (const entry of functions) {
    const title = entry[0].replaceAll("_", " ");
    tabs.append(button(title, () => choose(entry), { "data-function": entry[0] }));
  }
  machines.addEventListener("change", () => show(current[1].charts[Number(machines.value)]));
  scrub.addEventListener("input", () => {
    playing = false;
    seek(Number(scrub.value) * chart.makespan);
  });

  function choose(entry) {
    current = entry;
    for (const b of tabs.children) b.setAttribute("aria-pressed", String(b.dataset.function === entry[0]));
    machines.replaceChildren(...entry[1].charts.map((c, k) => make("option", { value: k, textContent: `${c.algorithm} on ${c.machine}` })));
    show(entry[1].charts[0]);
  }

  function show(next) {
    chart = next;
    playing = false;
    facts.textContent = chart.facts;
    const entries = chart.quantities.slice(0, MOST_COLOURS).map(([name, colour, , meaning]) => {
      const dot = make("i");
      dot.style.background = colour;
      return make("span", {}, dot, make("b", { textContent: name }), meaning ? ` ${meaning}` : "");
    });
    if (chart.quantities.length > MOST_COLOURS) entries.push(make("span", { textContent: `grey: ${chart.quantities.length - MOST_COLOURS} others, named where you point` }));
    if (chart.kinds) entries.push(make("span", { textContent: `processors: ${chart.kinds}` }));
    legend.replaceChildren(...entries);
    draw();
    seek(0);
    onTasks(null);
  }

  function draw() {
    const width = Math.max(320, stage.clientWidth || 640);
    const names = chart.processors;
    const row = Math.max(7, Math.min(30, 420 / names.length));
    left = Math.min(0.3 * width, 16 + 7 * Math.max(...names.map((n) => n.length)));
    bottom = row * names.length;
    const parts = [];
    const pen = {
      tick(x, bottom, time) {
        parts.push(drawn("line", { x1: x, x2: x, y1: 0, y2: bottom, class: "grid" }));
        parts.push(drawn("text", { x, y: bottom + 15, "text-anchor": "middle" }, shown(time, 4)));
      },
      processor: (x, y, name) => parts.push(drawn("text", { x: x - 6, y: y + 4, "text-anchor": "end" }, name)),
      bar({ x, y, width, height }, { colour, ink, label, shown: isShown }, [p, start, end, quantity, link]) {
        const w = Math.max(width - 0.6, 0.6);
        const meaning = chart.quantities[quantity][3];
        const title = `${label}${meaning ? `, ${meaning}` : ""}${link >= 0 ? ` (${ROBOT.links[link] ?? ""})` : ""}: ${names[p]}, ${shown(start, 6)} to ${shown(end, 6)} ${chart.unit}`;
        const g = drawn("g", isShown ? {} : { class: "faded" }, drawn("title", {}, title), drawn("rect", { x, y: y + 1, width: w, height: height - 2, fill: colour, rx: Math.min(2, w / 3) }));
        if (height > 12 && w > 6.5 * label.length + 4 && chart.tasks.length < MOST_LABELS) {
          const text = drawn("text", { x: x + w / 2, y: y + height / 2 + 4, "text-anchor": "middle", class: "inside" }, label);
          text.style.fill = ink;
          g.append(text);
        }
        parts.push(g);
      },
    };
    const view = { width, row, left, from: 0, to: chart.makespan, ticks: 8, isShown: (task) => !critical || task[5] };
    xOf = drawChart(pen, chart, view);
    veil = drawn("rect", { x: left, y: 0, width: 0, height: bottom, class: "veil" });
    cursor = drawn("line", { x1: left, x2: left, y1: 0, y2: bottom, class: "cursor" });
    parts.push(veil, cursor, drawn("text", { x: width - 8, y: bottom + 30, "text-anchor": "end" }, `time in ${chart.unit}`));
    stage.replaceChildren(drawn("svg", { viewBox: `0 0 ${width} ${bottom + 36}`, width, height: bottom + 36, role: "img", "aria-label": "Gantt chart" }, ...parts));
    seek(time);
  }

  function seek(to) {
    time = Math.min(Math.max(to, 0), chart.makespan);
    const x = xOf(time);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    veil.setAttribute("x", x);
    veil.setAttribute("width", time > 0 ? Math.max(0, xOf(chart.makespan) - x) : 0);
    scrub.value = time / (chart.makespan || 1);
    const active = chart.tasks.filter(([, start, end]) => start <= time && time < end);
    clock.textContent = `${shown(time, 4)} ${chart.unit}, ${active.length} at work`;
    const links = new Map();
    for (const [, , , quantity, link] of active) if (link >= 0) links.set(link, chart.quantities[quantity][1]);
    onTasks(time > 0 ? links : null);
  }

  function toggle() {
    playing = !playing;
    player.textContent = playing ? "❚❚ Pause" : "▶ Play";
    if (!playing) return;
    if (time >= chart.makespan) time = 0;
    before = performance.now();
    requestAnimationFrame(frame);
  }

  function frame(now) {
    if (!playing) {
      player.textContent = "▶ Play";
      return;
    }
    seek(time + ((now - before) / 1000 / PLAY) * chart.makespan);
    before = now;
    if (time >= chart.makespan) {
      playing = false;
      player.textContent = "▶ Play";
      onTasks(null);
    } else requestAnimationFrame(frame);
  }

  host.append(
    make("p", { textContent: "Each bar is an equation of one link. Play: the links light up in 3D as their equations run." }),
    tabs,
    make("div", { className: "tools" }, machines, player, scrub, clock, chain),
    stage,
    legend,
    facts,
  );
  host.hidden = false;
  choose(current);
  for (const still of document.querySelectorAll(".still")) still.hidden = true;
  new ResizeObserver(() => draw()).observe(host);
}
