// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// A schedule as a chart: processors from top to bottom, time to the right. A pen draws: on a canvas in the pages
// of `plot`, whose schedules may have many thousand tasks, and as SVG in reports.

/** The name of a task: its quantity and its link. */
const taskName = (chart, [, , , quantity, link]) => chart.quantities[quantity][0] + (link >= 0 ? `[${link}]` : "");

/**
 * Draw a chart (`Chart.data` in chart.py) in a view { width, row, left, from, to, ticks, isShown(task), messages };
 * the pen has tick, processor, inside (from here on only between the edges), bar and arrow. The result maps times to positions.
 */
function drawChart(pen, chart, view) {
  const { width, row, left, from, to } = view;
  const bottom = row * chart.processors.length;
  const x = (t) => left + ((t - from) / (to - from || 1)) * (width - left - 8);
  const size = 10 ** Math.floor(Math.log10((to - from || 1) / (view.ticks - 2)));
  const step = [1, 2, 5, 10].map((k) => k * size).find((k) => (to - from) / k <= view.ticks) ?? 1;
  for (let k = Math.ceil(from / step); k * step <= to * (1 + 1e-12); k++) pen.tick(x(k * step), bottom, +(k * step).toPrecision(6));
  const every = Math.ceil(12 / row);
  chart.processors.forEach((name, k) => k % every === 0 && pen.processor(left, row * (k + 0.5), name));
  pen.inside?.();
  for (const task of chart.tasks) {
    const [p, start, end, quantity] = task;
    if (end < from || start > to) continue;
    const [, colour, ink] = chart.quantities[quantity];
    const box = { x: x(start), y: row * p, width: x(end) - x(start), height: row };
    pen.bar(box, { colour, ink, label: taskName(chart, task), shown: view.isShown(task) }, task);
  }
  for (const [s, r, start, end, critical] of view.messages ?? []) {
    if (end < from || start > to) continue;
    const edge = r > s ? 0.4 : -0.4;
    pen.arrow([x(start), row * (s + 0.5 + edge)], [x(end), row * (r + 0.5 - edge)], critical);
  }
  return x;
}
