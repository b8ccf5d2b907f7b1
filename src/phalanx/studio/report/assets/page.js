// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// The page: theme, tables that sort, and the view with its colours.

/** From dark blue over grey to yellow: even in lightness, and distinguishable by everybody. */
function heat(t) {
  const stops = [[0, 0.13, 0.3], [0.34, 0.38, 0.44], [0.62, 0.58, 0.46], [1, 0.92, 0.27]];
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  return stops[k].map((x, i) => x + (at - k) * (stops[k + 1][i] - x));
}

const rgbOf = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);

function setTheme(redraw) {
  const root = document.documentElement;
  const toggle = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const tell = () => {
    toggle.textContent = dark() ? "Light" : "Dark";
    redraw();
  };
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    tell();
  });
  system.addEventListener("change", tell);
  tell();
}

function sortTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, k) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keyOf = (row) => {
          const { value } = row.cells[k].dataset;
          return value === undefined ? row.cells[k].textContent : value === "" ? Infinity : Number(value);
        };
        const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row), row]);
        rows.sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b || 0 : String(a).localeCompare(String(b))));
        if (down) rows.reverse();
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }
}

/** Boxes that scroll sideways say beyond which of their edges there is more. */
function markScrolling() {
  const mark = (box) => {
    const more = [];
    if (box.scrollLeft > 1) more.push("left");
    if (box.scrollLeft + box.clientWidth < box.scrollWidth - 1) more.push("right");
    box.dataset.more = more.join(" ");
  };
  const sizes = new ResizeObserver((found) => found.forEach(({ target }) => mark(target)));
  for (const box of document.querySelectorAll(".scrolls")) {
    box.addEventListener("scroll", () => mark(box), { passive: true });
    sizes.observe(box);
  }
}

/** Colours of links by a quantity: what is chosen, and a line that tells what it means. */
function makeColours(view, legend) {
  const choices = [["own", "own colours"]];
  if (ROBOT.sliders.some((s) => s.effort)) choices.push(["force", "force over limit"]);
  choices.push(["mass", "mass"]);
  for (const [name, f] of Object.entries(DATA.functions)) {
    if (f.operations[f.recommended]) choices.push([name, `operations: ${name.replaceAll("_", " ")}`]);
  }
  const colours = { kind: "own", running: null, forces: null, choices };
  const owners = new Map();
  ROBOT.joints.forEach((joint, link) => joint.moves.forEach((m) => owners.set(link, m.v)));
  const byRate = new Map(ROBOT.sliders.map((s) => [s.v, s]));

  const valuesOf = () => {
    if (colours.kind === "mass") return [ROBOT.masses, "kg"];
    const f = DATA.functions[colours.kind];
    return f ? [f.operations[f.recommended], `operations of ${f.recommended}`] : [null, ""];
  };
  const setLegend = (parts) => legend.replaceChildren(...parts);
  const ramp = () => {
    const bar = make("span", { className: "ramp" });
    bar.style.background = `linear-gradient(to right, ${[0, 0.33, 0.67, 1].map((t) => `rgb(${heat(t).map((x) => Math.round(255 * x))})`).join(",")})`;
    return bar;
  };
  colours.apply = () => {
    const [values, unit] = valuesOf();
    const most = values ? Math.max(...values) || 1 : 1;
    view.tint = (link) => {
      if (colours.running) return link >= 0 && colours.running.has(link) ? [...rgbOf(colours.running.get(link)), 0.92] : [0.6, 0.62, 0.65, 0.75];
      if (link < 0 || colours.kind === "own") return null;
      if (colours.kind === "force") {
        const slider = byRate.get(owners.get(link));
        const share = slider?.effort && colours.forces ? Math.abs(colours.forces[slider.v]) / slider.effort : null;
        return share === null ? [0.6, 0.62, 0.65, 0.75] : [...heat(share), 0.9];
      }
      return [...heat(values[link] / most), 0.9];
    };
    if (colours.running) setLegend(["links whose equations run now, in the colours of the chart"]);
    else if (colours.kind === "force") setLegend(["no force ", ramp(), " at the limit"]);
    else if (values) setLegend(["0 ", ramp(), ` ${shown(most, 4)} ${unit}`]);
    else setLegend([DATA.shapes.generated ? "Shapes are made from the joints. " : "", "Drag to turn, with shift to move; wheel or two fingers zoom. Keys: arrows, +, −, Home."]);
    view.draw();
  };
  return colours;
}

function pointAt(canvas, view, tip) {
  const hide = () => (tip.hidden = true);
  let waiting = false;
  canvas.addEventListener("pointerleave", hide);
  canvas.addEventListener("pointerdown", hide);
  canvas.addEventListener("pointermove", (e) => {
    if (waiting || e.buttons) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const link = view.pick(e.offsetX, e.offsetY);
      tip.hidden = link === null;
      if (link === null) return;
      tip.textContent = link < 0 ? "base, fixed to the world" : `${ROBOT.links[link]}, ${shown(ROBOT.masses[link])} kg, on ${ROBOT.joints[link].name}`;
      tip.style.left = `${Math.min(e.offsetX + 14, canvas.clientWidth - 150)}px`;
      tip.style.top = `${e.offsetY + 16}px`;
    });
  });
}

function makeStage() {
  const [canvas, picture, toolbar] = ["view", "picture", "toolbar"].map((id) => document.getElementById(id));
  canvas.hidden = false;
  const view = makeView(canvas);
  if (!view) {
    canvas.hidden = true;
    document.getElementById("legend").textContent = "No WebGL here: the picture shows the pose that the sliders begin with.";
    return null;
  }
  picture.hidden = true;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${ROBOT.name} in 3D; arrow keys turn it, plus and minus zoom, Home shows all`);
  canvas.addEventListener("webglcontextlost", () => {
    canvas.hidden = true;
    picture.hidden = false;
  });
  const colours = makeColours(view, document.getElementById("legend"));
  const mark = (label, name) => button(label, (b) => {
    view.show[name] = !view.show[name];
    b.setAttribute("aria-pressed", String(view.show[name]));
    view.draw();
  }, { ariaPressed: "false" });
  toolbar.append(
    choice("Colours", colours.choices, (kind) => {
      colours.kind = kind;
      colours.running = null;
      colours.apply();
    }),
    mark("Mass centres", "masses"),
    mark("Axes", "axes"),
    button("Fit", () => view.home(), { title: "Home key, or a double click" }),
  );
  toolbar.hidden = false;
  pointAt(canvas, view, document.getElementById("tip"));
  new ResizeObserver(() => view.draw()).observe(canvas);
  return { view, colours };
}

async function main() {
  sortTables();
  const stage = makeStage();
  const changed = ({ poses, tau, gravity }) => {
    if (!stage) return;
    stage.view.poses = poses;
    stage.colours.forces = tau ?? gravity;
    stage.view.draw();
  };
  if (stage) stage.view.poses = posesOf(ROBOT.start);
  setTheme(() => stage?.view.draw());
  stage?.colours.apply();
  stage?.view.home();
  if (ROBOT.nv) window.phalanx = await makeRobot(document.getElementById("controls"), changed);
  makeGantt(document.getElementById("schedules"), (links) => {
    if (!stage) return;
    stage.colours.running = links;
    stage.colours.apply();
  });
  markScrolling();
  document.documentElement.dataset.ready = "true";
}

main();
