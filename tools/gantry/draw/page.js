
"use strict";
(() => {
  const drawing = document.querySelector(".drawing");
  const bar = drawing.querySelector(".bar");
  const functions = bar.querySelector(".functions");
  const search = bar.querySelector("input");
  const found = bar.querySelector(".found");
  const path = bar.querySelector(".path");
  const sheets = new Map([...drawing.querySelectorAll(".sheet")].map((sheet) => [sheet.id, sheet]));
  const nodes = [...drawing.querySelectorAll(".n[id]")];
  let shown = null;
  let hits = [], hit = -1;
  // by sheet
  const zooms = new Map();

  const sheetOf = (node) => node.closest(".sheet");
  const numberOf = (node) => node.id.slice(node.id.indexOf("n") + 1);
  const byNumber = (number) => document.getElementById(shown.id + "n" + number);

  function resize() {
    const svg = shown.querySelector("svg");
    const width = svg.viewBox.baseVal.width, room = shown.querySelector(".view").clientWidth;
    svg.style.width = width * (zooms.get(shown.id) ?? Math.min(1, Math.max(room / width, 0.25))) + "px";
  }

  function zoom(how) {
    const svg = shown.querySelector("svg");
    const now = svg.clientWidth / svg.viewBox.baseVal.width;
    if (how === "fit") {
      const view = shown.querySelector(".view"), box = svg.viewBox.baseVal;
      zooms.set(shown.id, Math.min(1, view.clientWidth / box.width, window.innerHeight * 0.75 / box.height));
    } else {
      zooms.set(shown.id, Math.min(8, Math.max(0.05, how === "in" ? now * 1.25 : now / 1.25)));
    }
    resize();
  }

  function writePath(sheet) {
    path.replaceChildren();
    const above = [];
    for (let at = sheet; at; at = sheets.get(at.dataset.above)) above.unshift(at);
    if (above.length < 2) return;
    above.forEach((at, i) => {
      if (i > 0) path.append(" \u203a ");
      const link = document.createElement(i + 1 < above.length ? "a" : "span");
      link.textContent = at.querySelector("h2").textContent;
      if (i + 1 < above.length) link.href = "#" + at.id;
      path.append(link);
    });
  }

  // Shows a sheet, and focuses a node of it.
  function show(id) {
    const node = id.includes("n") ? document.getElementById(id) : null;
    const sheet = sheets.get(id.split("n")[0]);
    if (!sheet) return;
    if (shown !== sheet) {
      if (shown) shown.classList.remove("shown");
      sheet.classList.add("shown");
      shown = sheet;
      functions.value = sheet.dataset.flow;
      writePath(sheet);
      resize();
    }
    if (node) {
      node.focus({ preventScroll: true });
      node.scrollIntoView({ block: "center", inline: "center" });
    }
  }

  function go(id) {
    if (location.hash === "#" + id) show(id);
    else location.hash = id;
  }

  function find() {
    const wanted = search.value.trim().toLowerCase();
    for (const node of hits) node.classList.remove("hit");
    hits = wanted === "" ? [] : nodes.filter((node) =>
      !node.matches(".port, .fold") && node.querySelector("title").textContent.toLowerCase().includes(wanted));
    for (const node of hits) node.classList.add("hit");
    hit = -1;
    found.textContent = wanted === "" ? "" : hits.length + (hits.length === 1 ? " node" : " nodes");
  }

  function nextHit(step) {
    if (hits.length === 0) return;
    hit = (hit + step + hits.length) % hits.length;
    found.textContent = (hit + 1) + " of " + hits.length;
    const node = hits[hit];
    show(node.id);
    history.replaceState(null, "", "#" + node.id);
    search.focus({ preventScroll: true });
    node.scrollIntoView({ block: "center", inline: "center" });
  }

  // The node that an arrow key leads to: along an edge, or beside.
  function neighbour(node, key) {
    const number = numberOf(node), down = key === "ArrowDown";
    if (down || key === "ArrowUp") {
      const edge = shown.querySelector(down ? `.e[data-from="${number}"]` : `.e[data-to="${number}"]`);
      return edge && byNumber(down ? edge.dataset.to : edge.dataset.from);
    }
    const at = node.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const other of shown.querySelectorAll(".n[id]")) {
      const box = other.getBoundingClientRect();
      const dx = (box.left + box.right - at.left - at.right) / 2, dy = Math.abs(box.top - at.top);
      const distance = Math.abs(dx) + 4 * dy;
      if ((key === "ArrowRight" ? dx > 1 : dx < -1) && distance < least) [best, least] = [other, distance];
    }
    return best;
  }

  function markEdges(node) {
    for (const edge of drawing.querySelectorAll(".e.near")) edge.classList.remove("near");
    if (!node) return;
    const number = numberOf(node);
    for (const edge of sheetOf(node).querySelectorAll(`.e[data-from="${number}"], .e[data-to="${number}"]`))
      edge.classList.add("near");
  }

  drawing.addEventListener("focusin", (event) => markEdges(event.target.closest(".n[id]")));
  drawing.addEventListener("click", (event) => {
    const node = event.target.closest(".n[data-opens]");
    if (node) go(node.dataset.opens);
    const button = event.target.closest("[data-zoom]");
    if (button) zoom(button.dataset.zoom);
  });
  functions.addEventListener("change", () => go(functions.value));
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      search.value = "";
      find();
      search.blur();
    }
    event.stopPropagation();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
    const node = document.activeElement?.closest?.(".n[id]");
    if (event.key === "/") search.focus();
    else if (event.key === "+" || event.key === "=") zoom("in");
    else if (event.key === "-") zoom("out");
    else if (event.key === "0") zoom("fit");
    else if (event.key === "Escape" && shown.dataset.above) go(shown.dataset.above);
    else if (event.key === "Enter" && node?.dataset.opens) go(node.dataset.opens);
    else if (event.key.startsWith("Arrow")) {
      const next = node ? neighbour(node, event.key) : shown.querySelector(".n[id]");
      if (!next) return;
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else return;
    event.preventDefault();
  });
  window.addEventListener("hashchange", () => show(location.hash.slice(1)));
  window.addEventListener("resize", resize);

  functions.closest("label").hidden = functions.options.length < 2;
  bar.hidden = false;
  document.documentElement.classList.add("scripted");
  show("s0");
  show(location.hash.slice(1));
})();
