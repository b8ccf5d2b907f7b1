// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// The page of one schedule: zoom, point, choose quantities, follow the critical chain and the messages.

const canvas = document.querySelector("canvas"), g = canvas.getContext("2d"), tip = document.getElementById("tip");
const end = D.makespan || 1, foot = 34;
const left = Math.min(190, 24 + 7 * Math.max(...D.processors.map((p) => p.length)));
const row = Math.max(6, Math.min(34, 720 / D.processors.length)), height = row * D.processors.length + foot;
const only = new Set();
let [from, to, width, arrows, critical, held] = [0, end, 0, D.messages.length <= D.arrows, false, null];

const text = (words, x, y, align, colour, size = 12) => {
  g.font = `${size}px system-ui,sans-serif`;
  g.textAlign = align;
  g.fillStyle = colour;
  g.fillText(words, x, y);
};
const pen = {
  tick(x, bottom, time) {
    g.strokeStyle = "#ddd";
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x, bottom);
    g.stroke();
    text(time, x, bottom + 10, "center", "#333");
  },
  processor: (x, y, name) => text(name, x - 8, y, "right", "#111"),
  inside() {
    g.save();
    g.beginPath();
    g.rect(left, 0, width - left, height - foot);
    g.clip();
  },
  bar(box, { colour, ink, label, shown }) {
    const w = Math.max(box.width, 0.6);
    g.globalAlpha = shown ? 1 : 0.12;
    g.fillStyle = colour;
    g.fillRect(box.x, box.y + 0.1 * box.height, w > 2 ? w - 0.6 : w, 0.8 * box.height);
    if (shown && box.height >= 11 && w > label.length * 6.6) text(label, box.x + w / 2, box.y + box.height / 2, "center", ink, 11);
  },
  arrow([x0, y0], [x1, y1], chained) {
    const u = Math.atan2(y1 - y0, x1 - x0);
    g.globalAlpha = !critical || chained ? 0.75 : 0.08;
    g.strokeStyle = g.fillStyle = "#222";
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    for (const side of [-0.35, 0.35]) g.lineTo(x1 - 6 * Math.cos(u + side), y1 - 6 * Math.sin(u + side));
    g.fill();
  },
};

function draw() {
  const ratio = window.devicePixelRatio || 1;
  width = canvas.parentElement.clientWidth;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.textBaseline = "middle";
  const isShown = ([, , , quantity, , chained]) => (!only.size || only.has(quantity)) && (!critical || chained);
  drawChart(pen, D, { width, row, left, from, to, ticks: 10, isShown, messages: arrows ? D.messages : [] });
  g.restore();
  text(`time in ${D.unit}`, (left + width) / 2, height - 8, "center", "#333");
}

function button(label, pressed, act, colour) {
  const b = document.createElement("button");
  if (colour) b.appendChild(document.createElement("i")).style.background = colour;
  b.append(label);
  b.setAttribute("aria-pressed", pressed);
  b.onclick = () => {
    b.setAttribute("aria-pressed", act());
    draw();
  };
  document.getElementById("bar").append(b);
}
D.quantities.forEach(([name, colour, , meaning], q) =>
  button(meaning ? `${name}: ${meaning}` : name, false, () => !only.delete(q) && only.add(q).has(q), colour));
button("critical chain", false, () => (critical = !critical));
if (D.messages.length) button("messages", arrows, () => (arrows = !arrows));

const timeAt = (px) => from + ((px - left) / (width - left - 8)) * (to - from);
canvas.onwheel = (e) => {
  e.preventDefault();
  const t = timeAt(e.offsetX), k = Math.exp(e.deltaY * 0.0015);
  from = Math.max(0, t - (t - from) * k);
  to = Math.max(Math.min(end, t + (to - t) * k), from + 1e-6 * end);
  draw();
};
canvas.onpointerdown = (e) => {
  held = [e.offsetX, from, to];
  canvas.setPointerCapture(e.pointerId);
};
canvas.onpointerup = () => (held = null);
canvas.ondblclick = () => {
  [from, to] = [0, end];
  draw();
};
canvas.onpointerleave = () => (tip.style.display = "none");
canvas.onpointermove = (e) => {
  if (held) {
    const span = held[2] - held[1], moved = ((held[0] - e.offsetX) / (width - left - 8)) * span;
    from = Math.max(0, Math.min(end - span, held[1] + moved));
    to = from + span;
    draw();
    return;
  }
  const p = Math.floor(e.offsetY / row), t = timeAt(e.offsetX);
  const k = e.offsetX < left ? -1 : D.tasks.findIndex(([q, start, stop]) => q === p && start <= t && t < stop);
  tip.style.display = k < 0 ? "none" : "block";
  if (k < 0) return;
  const [, start, stop, quantity, link, chained] = D.tasks[k], meaning = D.quantities[quantity][3];
  tip.textContent = [
    taskName(D, D.tasks[k]) + (D.links[link] ? `  (${D.links[link]})` : ""),
    ...(meaning ? [meaning] : []),
    D.work[k],
    `${D.processors[p]}, ${+start.toPrecision(8)} to ${+stop.toPrecision(8)}`,
    ...(chained ? ["on the critical chain"] : []),
  ].join("\n");
  tip.style.left = `${Math.min(e.clientX + 14, innerWidth - 260)}px`;
  tip.style.top = `${e.clientY + 14}px`;
};
window.onresize = draw;
draw();
