// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// Runs before viser's client: fewer pixels where no graphics card draws, tables that show that they scroll, and
// names of links under the pointer.
"use strict";
((names) => {
  const plain = HTMLCanvasElement.prototype.getContext;
  const probe = plain.call(document.createElement("canvas"), "webgl2");
  const asked = probe?.getExtension("WEBGL_debug_renderer_info");
  const drawer = asked ? String(probe.getParameter(asked.UNMASKED_RENDERER_WEBGL)) : "";
  probe?.getExtension("WEBGL_lose_context")?.loseContext();
  if (/swiftshader|llvmpipe|softpipe|software|basic render/i.test(drawer)) {
    // Every pixel costs processor time: no antialiasing, two thirds of the resolution.
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
      const light = String(kind).startsWith("webgl") ? { ...options, antialias: false } : options;
      return plain.call(this, kind, light);
    };
    const query = new URLSearchParams(location.search);
    if (!query.has("fixedDpr")) {
      query.set("fixedDpr", String(Math.min(devicePixelRatio, 1) / 1.5));
      history.replaceState(null, "", `?${query}`);
    }
    // The client draws a background image over all pixels, also where there is none.
    const wait = setInterval(() => {
      const background = window.__viserMutable?.backgroundMaterial;
      if (!background) return;
      background.visible = false;
      clearInterval(wait);
    }, 100);
  }

  // Tables that are wider than the panel are marked at their edges (client.css).
  const marked = (box) => {
    const more = [];
    if (box.scrollLeft > 1) more.push("left");
    if (box.scrollLeft + box.clientWidth < box.scrollWidth - 1) more.push("right");
    const edges = more.join(" ");
    if ((box.dataset.more ?? "") !== edges) box.dataset.more = edges;
  };
  addEventListener("scroll", ({ target }) => target instanceof Element && target.matches(".scrolls") && marked(target), true);
  setInterval(() => document.querySelectorAll(".scrolls").forEach(marked), 400);

  // The client keeps what is under the pointer; without these names of its own there is only no label.
  const hovered = () => {
    const viewer = window.__viserMutable;
    const under = viewer?.scene?.__r3f?.root?.getState?.().internal?.hovered;
    for (const { object } of under?.values() ?? []) {
      const above = new Set();
      for (let o = object; o; o = o.parent) above.add(o);
      for (const [node, group] of Object.entries(viewer.nodeRefFromName)) {
        const found = above.has(group) && /\/(?:link(\d+)|world\d+)(?:\/|$)/.exec(node);
        if (found) return names[found[1] === undefined ? names.length - 1 : Number(found[1])];
      }
    }
    return undefined;
  };
  let label = null;
  let last = null;
  const show = () => {
    const { clientX: x, clientY: y, target, buttons } = last;
    last = null;
    const text = !buttons && target instanceof HTMLCanvasElement ? hovered() : undefined;
    if (!label) {
      if (!text) return;
      label = document.body.appendChild(document.createElement("div"));
      label.setAttribute("role", "tooltip");
      label.dataset.name = "hovered";
      label.style.cssText =
        "position:fixed;z-index:1000;pointer-events:none;max-width:22em;padding:0.25em 0.6em;border-radius:4px;" +
        "font:0.8em/1.35 system-ui,sans-serif;white-space:pre-line;color:#fff;background:rgba(30,34,40,0.9)";
    }
    label.hidden = !text;
    label.textContent = text ?? "";
    label.style.left = `${x + 14}px`;
    label.style.top = `${y + 14}px`;
  };
  addEventListener("pointermove", (event) => {
    if (!last) setTimeout(show, 40); // the latest of a swarm of moves
    last = event;
  });
})(NAMES);
