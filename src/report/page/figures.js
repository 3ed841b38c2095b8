// Figures show the values under the pointer or at the arrow keys, legends hide series, and time axes zoom. Without this
// script everything is visible, and browsers show the values of most shapes as tooltips. What it changes is not printed.
"use strict";
{
  const make = (name, attributes = {}) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const short = (value) => String(Number(value.toPrecision(4)));
  const numbers = (text) => text.split(" ").map(Number);
  const isShown = (element) => !element.closest(".off");

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);

  const hideTip = () => {
    tip.hidden = true;
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    for (const cursor of document.querySelectorAll(".cursor")) cursor.remove();
  };

  document.addEventListener("pointerdown", (event) => event.target.closest?.(".wide, .narrow") || hideTip());
  document.addEventListener("scroll", hideTip, { passive: true });

  /** Shows `lines` beside a point of the window. */
  const showTip = (lines, [x, y]) => {
    tip.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    const top = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
    tip.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(top, innerHeight - height - 4))}px`;
  };

  /** The chart of a panel: its lines or rows, and the part of its axis that is shown. */
  class Panel {
    constructor(group, drawing) {
      Object.assign(this, { group, drawing, area: numbers(group.dataset.area) });
      this.plot = group.querySelector("[data-plot]");
      this.ends = group.dataset.zoom ? numbers(group.dataset.zoom) : null;
      this.rows = group.dataset.rows === undefined ? null : group.dataset.rows.split(";");
      this.lines = Array.from(group.querySelectorAll("[data-values]"), (line) => {
        const places = line.querySelector("path").getAttribute("d").matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g);
        const values = line.dataset.values.split(";").map(numbers);
        const points = Array.from(places, ([, x, y]) => [Number(x), Number(y)]).slice(0, values.length);
        return { line, points, values };
      });
    }

    /** Where a place of the whole axis is shown. */
    shown(x) {
      const [from, to] = this.drawing.view;
      const [left, , width] = this.area;
      return left + width * (((x - left) / width - from) / (to - from));
    }

    has([x, y]) {
      const [left, top, width, height] = this.area;
      return x >= left - 6 && x <= left + width + 6 && y >= top - 6 && y <= top + height + 6;
    }

    isInside(x) {
      return x >= this.area[0] - 0.5 && x <= this.area[0] + this.area[2] + 0.5;
    }

    /** The values at the point that is nearest to a place, and of other lines at the same place of the axis. */
    valuesNear([x, y]) {
      const points = this.lines.filter(({ line }) => isShown(line)).flatMap(({ line, points, values }) =>
        points.map(([px, py], at) => ({ line, x: this.shown(px), y: py, value: values[at] })));
      const near = points.filter((point) => this.isInside(point.x));
      if (!near.length) return null;
      const distance = (point) => Math.hypot(point.x - x, (point.y - y) * 0.3);
      const best = near.reduce((a, b) => (distance(b) < distance(a) ? b : a));
      const same = near.filter((point) => Math.abs(point.x - best.x) < 0.6);
      const { x: name, xUnit, y: yName, yUnit } = this.group.dataset;
      const text = ({ line, value: [, value, half] }) => {
        const series = this.drawing.nameOf(line.dataset.series) || yName;
        return `${series}: ${value}${half === undefined ? "" : ` ± ${half}`} ${yUnit}`.trim();
      };
      return {
        lines: [`${name}: ${best.value[0]} ${xUnit}`.trim(), ...same.map(text)],
        at: [best.x, best.y],
        mark: () => this.mark(best.x, same),
      };
    }

    /** What the row at a place does then. */
    rowAt([x, y]) {
      const [left, top, width, height] = this.area;
      const row = Math.floor(((y - top) / height) * this.rows.length);
      const span = (this.spans()[row] || []).find((span) =>
        isShown(span.series) && this.shown(span.from) <= x && x <= this.shown(span.to));
      if (!span) return null;
      const time = (at) => short(this.ends[0] + ((at - left) / width) * (this.ends[1] - this.ends[0]));
      const { of, xUnit } = this.group.dataset;
      const doing = this.drawing.nameOf(span.series.dataset.series);
      const middle = (Math.max(left, this.shown(span.from)) + Math.min(left + width, this.shown(span.to))) / 2;
      return {
        lines: [`${of} ${this.rows[row]}`, `${doing}: ${time(span.from)} to ${time(span.to)} ${xUnit}`],
        at: [middle, top + ((row + 0.5) / this.rows.length) * height],
        mark: () => {},
      };
    }

    /** The spans of each row, read once. */
    spans() {
      if (this.known) return this.known;
      const [, top, , height] = this.area;
      this.known = this.rows.map(() => []);
      for (const series of this.group.querySelectorAll("[data-series]")) {
        for (const path of series.querySelectorAll("path")) {
          for (const [, x, y, w] of path.getAttribute("d").matchAll(/M(-?[\d.]+) (-?[\d.]+)h([\d.]+)/g)) {
            const row = Math.round(((Number(y) - top) / height) * this.rows.length);
            this.known[row]?.push({ series, from: Number(x), to: Number(x) + Number(w) });
          }
        }
      }
      for (const row of this.known) row.sort((a, b) => a.from - b.from);
      return this.known;
    }

    mark(x, points) {
      const cursor = make("g", { class: "cursor" });
      const [, top, , height] = this.area;
      cursor.append(make("path", { d: `M${x} ${top}v${height}` }));
      cursor.append(...points.map((point) => make("circle", { cx: point.x, cy: point.y, r: 4 })));
      this.group.append(cursor);
    }

    /** The places at which the arrow keys stop. */
    *stops() {
      if (this.rows) {
        for (const [row, spans] of this.spans().entries()) {
          const y = this.area[1] + ((row + 0.5) / this.rows.length) * this.area[3];
          for (const { series, from, to } of spans) {
            const ends = [from, to].map((at) => this.shown(at));
            const x = Math.max(ends[0], this.area[0]) / 2 + Math.min(ends[1], this.area[0] + this.area[2]) / 2;
            if (isShown(series) && ends[0] <= x && x <= ends[1]) yield () => this.rowAt([x, y]);
          }
        }
        return;
      }
      const lines = this.lines.filter(({ line }) => isShown(line));
      const places = lines.flatMap(({ points }) => points.map(([x, y]) => [this.shown(x), y]));
      places.sort((a, b) => a[0] - b[0]);
      let last = -Infinity;
      for (const place of places) {
        if (!this.isInside(place[0]) || place[0] - last < 0.6) continue;
        last = place[0];
        yield () => this.valuesNear(place);
      }
    }

    /** Draws the part of the axis that is shown. */
    draw() {
      if (!this.ends) return;
      const [from, to] = this.drawing.view;
      const [left, top, width, height] = this.area;
      const isWhole = from === 0 && to === 1;
      const factor = 1 / (to - from);
      this.plot.style.transform = isWhole ? "" : `matrix(${factor},0,0,1,${left - factor * (left + from * width)},0)`;
      this.clip(isWhole ? null : [left, top - 6, width, height + 12]);
      this.ticks?.remove();
      const old = this.group.querySelector("[data-ticks]");
      old.classList.toggle("whole", !isWhole);
      if (isWhole) return;
      const ends = [from, to].map((part) => this.ends[0] + part * (this.ends[1] - this.ends[0]));
      const line = old.querySelector("path"), text = old.querySelector("text");
      this.ticks = make("g", { class: "zoomed" });
      for (const [value, label] of ticksOf(ends, width)) {
        const x = left + (width * (value - ends[0])) / (ends[1] - ends[0]);
        const tick = line.cloneNode(), name = text.cloneNode();
        tick.setAttribute("d", `M${x} ${top + height}v4`);
        name.setAttribute("x", x);
        name.textContent = label;
        this.ticks.append(tick, name);
      }
      old.after(this.ticks);
    }

    clip(area) {
      if (!area) {
        this.clipped?.removeAttribute("clip-path");
        return;
      }
      if (!this.clipped) {
        Panel.count = (Panel.count || 0) + 1;
        this.clipId = `clip-${Panel.count}`;
        const [x, y, width, height] = area;
        const path = make("clipPath", { id: this.clipId });
        path.append(make("rect", { x, y, width, height }));
        this.clipped = make("g", { class: "clipped" });
        this.plot.replaceWith(path, this.clipped);
        this.clipped.append(this.plot);
      }
      this.clipped.setAttribute("clip-path", `url(#${this.clipId})`);
    }
  }

  /** Round numbers between two, with their texts. */
  const ticksOf = ([low, high], pixels) => {
    const least = (high - low) / Math.min(9, Math.max(2, pixels / 70));
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((of) => of * power).find((step) => step >= least * 0.999);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const ticks = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) {
      ticks.push([at * step, (at * step).toFixed(decimals)]);
    }
    return ticks;
  };

  /** A drawing of a figure, wide or narrow. */
  class Drawing {
    constructor(host, figure) {
      Object.assign(this, { host, figure, svg: host.querySelector("svg"), stop: -1 });
      this.says = Array.from(this.svg.querySelectorAll("title"), (title) => {
        const shape = title.parentNode;
        const said = { shape, lines: [title.textContent] };
        title.remove();
        return said;
      });
      this.saidBy = new Map(this.says.map((said) => [said.shape, said]));
      this.panels = Array.from(this.svg.querySelectorAll("[data-area]"), (group) => new Panel(group, this));
      this.cells = Array.from(this.svg.querySelectorAll("[data-cells]"), (group) => ({
        from: numbers(group.dataset.from),
        side: Number(group.dataset.side),
        names: group.dataset.names.split(";"),
        rows: group.dataset.cells.split(";").map((row) => row.split(",")),
        measure: group.dataset.measure,
      }));
      this.keys = Array.from(this.svg.querySelectorAll("[data-key]"));
      if (!this.says.length && !this.panels.length && !this.cells.length) return;
      host.tabIndex = 0;
      host.setAttribute("role", "group");
      host.setAttribute("aria-label", `${this.svg.getAttribute("aria-label")}: arrow keys read its values`);
      host.addEventListener("pointermove", (event) => this.hover(event));
      host.addEventListener("pointerdown", (event) => this.hover(event));
      // A finger that lifts leaves, too: its values stay until the next touch.
      host.addEventListener("pointerleave", (event) => event.pointerType === "touch" || hideTip());
      host.addEventListener("blur", hideTip);
      host.addEventListener("keydown", (event) => this.key(event));
      this.makeKeys();
    }

    get view() {
      return this.figure.view;
    }

    nameOf(series) {
      return this.keys.find((key) => key.dataset.key === series)?.dataset.name || "";
    }

    /** Legends are buttons; the rest of the drawing stays one picture to readers of screens. */
    makeKeys() {
      if (!this.keys.length) return;
      this.svg.setAttribute("role", "group");
      for (const child of this.svg.children) child.setAttribute("aria-hidden", "true");
      for (const key of this.keys) {
        key.removeAttribute("aria-hidden");
        key.setAttribute("role", "button");
        key.setAttribute("tabindex", "0");
        key.setAttribute("aria-pressed", "true");
        key.setAttribute("aria-label", key.dataset.name);
        const toggle = () => this.figure.toggle(key.dataset.key);
        key.addEventListener("click", toggle);
        key.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();
          toggle();
        });
      }
    }

    /** A place of the window as one of the drawing. */
    place(event) {
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
      return [x, y];
    }

    hover(event) {
      hideTip();
      const place = this.place(event);
      const found = this.saidBy.get(event.target) || this.valueAt(place) || this.linkNear(place);
      if (!found) return;
      showTip(found.lines, [event.clientX, event.clientY]);
      this.light(found);
    }

    light(found) {
      found.shape?.classList.add("lit");
      found.mark?.();
    }

    valueAt(place) {
      const panel = this.panels.find((panel) => panel.has(place));
      if (panel) return panel.rows ? panel.rowAt(place) : panel.valuesNear(place);
      for (const cells of this.cells) {
        const [column, row] = place.map((at, axis) => Math.floor((at - cells.from[axis]) / cells.side));
        const found = this.cell(cells, row, column);
        if (found) return found;
      }
      return null;
    }

    cell({ from, side, names, rows, measure }, row, column) {
      const value = rows[row]?.[column];
      if (!value) return null;
      return {
        lines: [`${names[row]} → ${names[column]}: ${value} ${measure}`],
        at: [from[0] + side * (column + 0.5), from[1] + side * (row + 0.5)],
      };
    }

    /** The line of a link near a place: lines are too thin to be met. */
    linkNear([x, y]) {
      let best = null, least = 9;
      for (const said of this.says) {
        if (said.shape.getAttribute("fill") !== "none") continue;
        said.points ||= (() => {
          const length = said.shape.getTotalLength();
          const parts = Array.from({ length: 25 }, (_, at) => said.shape.getPointAtLength((length * at) / 24));
          return parts.map((point) => [point.x, point.y]);
        })();
        for (const [px, py] of said.points) {
          const distance = Math.hypot(px - x, py - y);
          if (distance < least) [best, least] = [said, distance];
        }
      }
      return best;
    }

    /** The values that the arrow keys read, in the order of the drawing. */
    stops() {
      const said = this.says.filter(({ shape }) => isShown(shape)).map((said) => () => {
        const { x, y, width, height } = said.shape.getBBox();
        return { ...said, at: [x + width / 2, y + height / 2] };
      });
      const cells = this.cells.flatMap((cells) => cells.rows.flatMap((row, at) =>
        row.flatMap((value, column) => (value ? [() => this.cell(cells, at, column)] : []))));
      return [...said, ...this.panels.flatMap((panel) => Array.from(panel.stops())), ...cells];
    }

    key(event) {
      if (event.target !== this.host || event.ctrlKey || event.altKey || event.metaKey) return;
      const zoom = { "+": [0.5, 0], "=": [0.5, 0], "-": [2, 0], "0": [Infinity, 0] }[event.key];
      if (zoom && this.figure.zooms) {
        hideTip();
        this.figure.zoomBy(...zoom);
        return;
      }
      if (event.key === "Escape") {
        hideTip();
        return;
      }
      const stops = this.stops();
      const last = stops.length - 1;
      const next = { ArrowRight: this.stop + 1, ArrowLeft: this.stop - 1, Home: 0, End: last }[event.key];
      if (next === undefined || last < 0) return;
      event.preventDefault();
      this.stop = Math.max(0, Math.min(last, next));
      hideTip();
      const found = stops[this.stop]();
      if (!found) return;
      const at = new DOMPoint(...found.at).matrixTransform(this.svg.getScreenCTM());
      showTip(found.lines, [at.x, at.y]);
      this.light(found);
    }
  }

  /** A figure: its drawings, the series that are hidden, and the part of its axis that is shown, from 0 to 1. */
  class Figure {
    constructor(element) {
      Object.assign(this, { element, view: [0, 1] });
      const hosts = element.querySelectorAll(".wide, .narrow");
      this.drawings = Array.from(hosts, (host) => new Drawing(host, this));
      this.zooms = this.drawings.some(({ panels }) => panels?.some((panel) => panel.ends));
      if (this.zooms) this.makeTools();
    }

    toggle(series) {
      hideTip();
      for (const part of this.element.querySelectorAll(`[data-series="${series}"],[data-key="${series}"]`)) {
        const isOff = part.classList.toggle("off");
        if (part.dataset.key) part.setAttribute("aria-pressed", String(!isOff));
      }
      for (const stack of this.element.querySelectorAll("[data-stack]")) {
        let free = 0;
        for (const part of stack.children) {
          part.style.transform = free ? `translateX(${-free}px)` : "";
          const [, width] = part.querySelector("path").getAttribute("d").match(/h([\d.]+)/) || [0, 0];
          if (part.classList.contains("off")) free += Number(width);
        }
      }
    }

    /** Shows `factor` times the part that is shown, moved by parts of it. */
    zoomBy(factor, move) {
      const [from, to] = this.view;
      const wide = to - from;
      const half = (wide * factor) / 2, middle = (from + to) / 2 + move * wide;
      this.zoomTo(middle - half, middle + half);
    }

    zoomTo(from, to) {
      const wide = Math.min(1, Math.max(1e-4, to - from));
      const first = Number.isFinite(from) ? Math.max(0, Math.min(1 - wide, from)) : 0;
      this.view = [first, first + wide];
      const isWhole = wide === 1;
      this.element.classList.toggle("zooming", !isWhole);
      for (const button of this.tools.querySelectorAll(".part")) button.disabled = isWhole;
      for (const panel of this.drawings.flatMap(({ panels }) => panels || [])) panel.draw();
    }

    makeTools() {
      this.tools = document.createElement("div");
      this.tools.className = "tools";
      const button = (text, label, className, act) => {
        const made = Object.assign(document.createElement("button"), { type: "button", textContent: text, className });
        made.setAttribute("aria-label", label);
        made.title = label;
        made.addEventListener("click", () => {
          hideTip();
          act();
        });
        made.disabled = className === "part";
        this.tools.append(made);
      };
      button("+", "Zoom in", "", () => this.zoomBy(0.5, 0));
      button("−", "Zoom out", "part", () => this.zoomBy(2, 0));
      button("◀", "Move left", "part", () => this.zoomBy(1, -0.5));
      button("▶", "Move right", "part", () => this.zoomBy(1, 0.5));
      button("all", "Show the whole axis", "part", () => this.zoomTo(0, 1));
      this.element.querySelector("figcaption").after(this.tools);
      for (const drawing of this.drawings) this.dragOn(drawing);
    }

    /** A drag with the mouse or a pen selects the part that is shown; fingers scroll. */
    dragOn(drawing) {
      const { host, svg } = drawing;
      let drag = null;
      const end = () => {
        drag?.mark.remove();
        drag = null;
      };
      host.addEventListener("pointerdown", (event) => {
        const place = drawing.place(event);
        const panel = drawing.panels.find((panel) => panel.ends && panel.has(place));
        if (!panel || event.button !== 0 || event.pointerType === "touch") return;
        const mark = make("rect", { class: "selection", y: panel.area[1], height: panel.area[3], width: 0 });
        drag = { panel, from: place[0], to: place[0], mark };
        svg.append(mark);
        host.setPointerCapture(event.pointerId);
        event.preventDefault();
        host.focus({ preventScroll: true });
      });
      host.addEventListener("pointermove", (event) => {
        if (!drag) return;
        const [left, , width] = drag.panel.area;
        drag.to = Math.max(left, Math.min(left + width, drawing.place(event)[0]));
        drag.mark.setAttribute("x", Math.min(drag.from, drag.to));
        drag.mark.setAttribute("width", Math.abs(drag.to - drag.from));
      });
      host.addEventListener("pointerup", () => {
        if (drag && Math.abs(drag.to - drag.from) > 5) {
          const [left, , width] = drag.panel.area;
          const [from, to] = this.view;
          const part = (x) => from + ((x - left) / width) * (to - from);
          const ends = [drag.from, drag.to].map(part).sort((a, b) => a - b);
          hideTip();
          this.zoomTo(Math.max(0, ends[0]), Math.min(1, ends[1]));
        }
        end();
      });
      host.addEventListener("pointercancel", end);
      host.addEventListener("dblclick", (event) => {
        if (drawing.panels.some((panel) => panel.has(drawing.place(event)))) this.zoomTo(0, 1);
      });
      host.addEventListener("keydown", (event) => event.key === "Escape" && end());
    }
  }

  for (const figure of document.querySelectorAll("main figure")) new Figure(figure);
}
