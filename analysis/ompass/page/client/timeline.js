// SPDX-License-Identifier: Apache-2.0
// The timeline: the visible window, and the reader's actions with pointer, wheel and keys. The page's address
// contains the view, so a link shows the same view.

const KEYS = [
    ["w s", "zoom; also + and -, and the wheel"], ["a d", "move; also the arrows left and right, and drag"], ["f", "the whole run"],
    ["[ ]", "begin and end a selection at the middle; also drag with Shift"], ["z", "zoom to the selection"],
    ["n p", "next and previous interval; a click chooses one"], ["↑ ↓", "an interval of another thread"],
    ["/", "find a construct or line; Enter shows the next"], ["Esc", "drop the selection and the marks"], ["?", "these keys"],
];
const SHORTEST_NS = 20;
const LANES = [[4, 72], [6, 60], [10, 44], [20, 28], [48, 16], [120, 8], [Infinity, 4]]; // [most rows, height of a row in pixels]
const LABEL_HEIGHT = 12;
const GAP = 1;

class Timeline {
    constructor(place, source) {
        this.place = place;
        this.source = source;
        this.about = source.description;
        this.begin = this.about.begin;
        this.end = this.about.end;
        this.view = { begin: this.begin, end: this.end };
        this.dimension = "state";
        this.picked = new Set(); // highlighted entries of the legend; empty: all
        this.selection = null;
        this.open = new Set();
        this.layers = new Layers(this);
        this.build();
        this.overview = new Overview(this);
        this.chosen = new Chosen(this);
        this.fromAddress();
        source.onload = () => this.draw();
        new ResizeObserver(() => this.layOut()).observe(this.plot);
        new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
        window.addEventListener("hashchange", () => {
            const isOther = location.hash && !location.hash.startsWith("#view?"); // a section of the page
            if (!isOther && location.hash !== this.address) this.fromAddress();
        });
    }

    // ---------------------------------------------------------------- elements

    build() {
        const make = (tag, attributes = {}, ...children) => {
            const element = document.createElement(tag);
            for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
            element.append(...children);
            return element;
        };
        const button = (text, title, act) => {
            const made = make("button", { type: "button", title }, text);
            made.addEventListener("click", act);
            return made;
        };
        this.make = make;
        this.chooser = make("select", { "aria-label": "Colour by" });
        for (const name of ["state", ...Object.keys(this.about.dimensions)])
            this.chooser.append(make("option", { value: name }, `colour by ${name}`));
        this.chooser.addEventListener("change", () => this.setDimension(this.chooser.value));
        this.selecting = button("Select", "Drag selects a window, instead of moving the picture", () =>
            this.selecting.setAttribute("aria-pressed", this.selecting.getAttribute("aria-pressed") !== "true"));
        this.selecting.setAttribute("aria-pressed", "false");
        this.from = make("input", { "aria-label": "Begin of the selection", placeholder: "from 1.5ms", size: 7 });
        this.to = make("input", { "aria-label": "End of the selection", placeholder: "to", size: 7 });
        const typed = make("form", { class: "typed" }, this.from, this.to, make("button", { type: "submit", title: "Select the window between these times" }, "Go"));
        typed.addEventListener("submit", (event) => {
            event.preventDefault();
            const [begin, end] = [parseTime(this.from.value), parseTime(this.to.value)];
            if (begin !== null && end !== null && begin < end) this.select(begin, end);
        });
        const group = (...parts) => make("span", { class: "joined" }, ...parts);
        this.keysButton = button("?", "Keys (?)", () => this.toggleKeys());
        this.keysButton.setAttribute("aria-expanded", "false");
        const tools = make(
            "div", { class: "tools", role: "toolbar", "aria-label": "Timeline" }, this.chooser,
            group(
                button("All", "The whole run (f)", () => this.fit()), button("+", "Zoom in (w, +)", () => this.zoom(0.5)),
                button("−", "Zoom out (s, -)", () => this.zoom(2)), this.selecting,
            ),
            this.layers.buttons(make, button), this.layers.finder(make), typed,
            group(
                button("SVG", "Save the picture as SVG", () => this.saveSvg()),
                button("PNG", "Save the picture as PNG", () => this.savePng()), this.keysButton,
            ),
        );
        this.keysList = make("dl", { class: "keys" }, ...KEYS.map(([key, what]) => make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, what))));
        this.keysList.hidden = true;
        this.legend = make("div", { class: "legend", role: "group", "aria-label": "Legend: press entries to highlight them" });
        this.gutter = make("div", { class: "gutter" });
        this.canvas = make("canvas", {
            tabindex: 0, role: "application",
            "aria-label": `Timeline of the threads. Keys: ${KEYS.map((each) => each.join(" ")).join("; ")}`, "aria-roledescription": "timeline",
        });
        this.tip = make("div", { class: "tip", role: "status" });
        this.tip.hidden = true;
        this.plot = make("div", { class: "threads" }, this.gutter, this.canvas, this.tip);
        this.strip = make("canvas", { class: "strip", "aria-hidden": "true" });
        this.problem = make("p", { class: "warning", role: "alert" });
        this.problem.hidden = true;
        this.selected = make("div", { class: "selected", "aria-live": "polite" });
        this.details = make("div", { class: "chosen", "aria-live": "polite" });
        this.place.append(tools, this.keysList, this.legend, this.plot, this.strip, this.problem, this.details, this.selected);
        this.listen();
    }

    toggleKeys() {
        this.keysList.hidden = !this.keysList.hidden;
        this.keysButton.setAttribute("aria-expanded", String(!this.keysList.hidden));
    }

    rows() {
        const rows = [];
        const visit = (row, depth) => {
            const open = this.isOpen(row);
            rows.push({ row, depth, open });
            if (open) row.rows.forEach((each) => visit(each, depth + 1));
        };
        this.about.rows.forEach((row) => visit(row, 0));
        return rows;
    }
    isOpen(row) { return row.rows.length > 0 && this.open.has(row.id) !== Boolean(row.open); }

    layOut() {
        const rows = this.rows();
        const leaf = LANES.find(([most]) => rows.length <= most)[1];
        let top = AXIS_HEIGHT;
        this.lines = rows.map(({ row, depth, open }) => {
            // Threads have full height; the sums above them are lower.
            const height = row.rows.length ? Math.max(open ? Math.min(leaf, 36) : leaf, 14) : leaf;
            const line = { row, depth, open, top, height };
            top += height + (height > 6 ? GAP : 0);
            return line;
        });
        this.height = top;
        // Lanes that are lower than a label share a label.
        let below = 0;
        const labelled = this.lines.filter((line) => line.top >= below && (below = line.top + Math.max(line.height, LABEL_HEIGHT)));
        const labels = labelled.map((line) => {
            const attributes = { class: "label", style: "", title: line.row.label };
            const isGroup = line.row.rows.length > 0;
            const text = this.make("span", { class: "name" }, isGroup ? `${line.open ? "▾" : "▸"} ${line.row.label}` : line.row.label);
            const label = this.make(isGroup ? "button" : "span", attributes, text);
            label.style.top = `${line.top}px`;
            label.style.height = `${Math.max(line.height, LABEL_HEIGHT)}px`;
            label.style.paddingLeft = `${line.depth * 8}px`;
            if (isGroup) {
                label.type = "button";
                label.dataset.row = line.row.id;
                label.setAttribute("aria-expanded", String(line.open));
                label.addEventListener("click", () => this.toggleRow(line.row));
            }
            return label;
        });
        const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.row : null;
        this.gutter.replaceChildren(...labels);
        if (focused) labels.find((label) => label.dataset.row === focused)?.focus();
        this.plot.style.height = `${this.height}px`;
        this.width = Math.max(Math.floor(this.plot.clientWidth - this.gutter.clientWidth), 50);
        const scale = window.devicePixelRatio || 1;
        this.canvas.width = Math.round(this.width * scale);
        this.canvas.height = Math.round(this.height * scale);
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
        this.draw();
    }

    toggleRow(row) {
        if (!this.open.delete(row.id)) this.open.add(row.id);
        this.layOut();
        this.toAddress();
    }

    // ---------------------------------------------------------------- colours

    entries() {
        if (this.dimension === "state") return this.about.states;
        const dimension = this.about.dimensions[this.dimension];
        return [...dimension.entries, dimension.rest, ...this.about.states.slice(1)];
    }

    // Returns the colours of the columns of a bin; unpicked entries are pale.
    colours() {
        const paper = this.paper();
        return this.entries().map((entry, k) => {
            const colour = colourOf(entry.colour);
            return this.picked.size && !this.picked.has(k) ? blend(colour, paper, 0.88) : colour;
        });
    }
    paper() { return colourOf(getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() || "#ffffff"); }
    ink() { return getComputedStyle(document.documentElement).getPropertyValue("--ink").trim() || "#000000"; }

    entryOf(run, interval) {
        if (this.dimension === "state") return interval.state;
        const dimension = this.about.dimensions[this.dimension];
        const rest = dimension.entries.length;
        if (interval.state > 0) return rest + interval.state;
        const entry = dimension.keys[run][interval[this.dimension]];
        return entry === undefined ? rest : entry;
    }

    // Highlights these constructs of a run, and marks their tasks and waits; null highlights all.
    mark(wanted) { this.layers.mark(wanted); }

    setDimension(name) {
        this.dimension = name;
        this.picked.clear();
        this.chooser.value = name;
        this.drawLegend();
        this.draw();
        this.toAddress();
    }

    drawLegend() {
        this.legend.replaceChildren(
            ...this.entries().map((entry, k) => {
                const swatch = this.make("span", { class: "swatch" });
                swatch.style.background = entry.colour;
                const button = this.make("button", { type: "button", "aria-pressed": String(this.picked.has(k)) }, swatch, ` ${entry.label}`);
                button.addEventListener("click", () => {
                    if (!this.picked.delete(k)) this.picked.add(k);
                    button.setAttribute("aria-pressed", String(this.picked.has(k)));
                    this.draw();
                    this.toAddress();
                });
                return button;
            }),
            ...(this.about.offCpu ? ["preempted", "blocked"] : []).map((text) =>
                this.make("span", { class: "off-cpu" }, this.make("span", { class: `swatch ${text}` }), ` ${text}`)),
        );
    }

    // ---------------------------------------------------------------- drawing

    draw() {
        if (this.due) return;
        this.due = requestAnimationFrame(() => {
            this.due = 0;
            this.drawNow();
        });
    }

    x(time) { return ((time - this.view.begin) / (this.view.end - this.view.begin)) * this.width; }
    time(x) { return this.view.begin + (x / this.width) * (this.view.end - this.view.begin); }

    // Returns the values of every visible row, with the requested number of columns.
    values(n) {
        return this.lines.map((line) => ({ line, values: this.source.fill(line.row, this.dimension, this.view.begin, this.view.end, n) }));
    }
    // Returns the off-CPU parts of a line's columns, in the form of absentParts().
    offCpu(line, values, n) {
        if (!this.about.offCpu || this.picked.size) return [];
        const absent = this.source.fill(line.row, "absent", this.view.begin, this.view.end, n);
        return absentParts(values, absent, n, values.length / n, this.about.states.length);
    }

    drawNow() {
        if (!this.lines || !this.width) return;
        const started = performance.now();
        const context = this.canvas.getContext("2d");
        const scale = this.canvas.width / this.width;
        const paper = this.paper();
        const colours = this.colours();
        const n = this.canvas.width;
        const image = context.createImageData(this.canvas.width, this.canvas.height);
        const pixels = new Uint32Array(image.data.buffer);
        pixels.fill((255 << 24) | (paper[2] << 16) | (paper[1] << 8) | paper[0]);
        const column = (this.view.end - this.view.begin) / n;
        for (const { line, values } of this.values(n)) {
            const top = Math.round(line.top * scale);
            const height = Math.min(Math.round(line.height * scale), this.canvas.height - top);
            const capacity = column * threadsIn(line.row);
            paintColumns(pixels, this.canvas.width, 0, top, height, values, n, colours, capacity, paper);
            hatchColumns(pixels, this.canvas.width, top, height, this.offCpu(line, values, n), capacity, colourOf(this.ink()));
        }
        context.putImageData(image, 0, 0);
        context.setTransform(scale, 0, 0, scale, 0, 0);
        this.drawIntervals(context, colours);
        this.layers.draw(context);
        this.drawAxis(context);
        this.drawSelection(context);
        this.chosen.draw(context);
        this.overview.draw(colours, paper);
        context.setTransform(1, 0, 0, 1, 0, 0);
        this.problem.textContent = this.source.problem;
        this.problem.hidden = !this.source.problem;
        this.source.load();
        this.drawn = { at: performance.now(), took: performance.now() - started };
    }

    // Draws state intervals that are wide enough to be visible, over the columns.
    drawIntervals(context, colours) {
        this.shown = [];
        if (this.dimension === "kernel") return;
        this.patterns = [false, true].map((blocked) => hatching(context, blocked, this.ink()));
        const runs = new Map();
        for (const line of this.lines.filter((each) => each.row.run !== undefined && each.row.threads.length === 1 && !each.row.rows.length)) {
            if (!runs.has(line.row.run)) runs.set(line.row.run, []);
            runs.get(line.row.run).push(line);
        }
        for (const [run, lines] of runs) {
            const { finest } = this.about.runs[run];
            if ((this.view.end - this.view.begin) / this.width > 2 ** (finest + 1) && this.source.isServed) continue;
            const byThread = this.source.intervals(run, lines.map((line) => line.row.threads[0]), this.view.begin, this.view.end);
            if (!byThread) continue;
            for (const line of lines)
                for (const interval of byThread.get(line.row.threads[0]) || []) {
                    if (interval.end <= this.view.begin || interval.begin >= this.view.end) continue;
                    this.drawInterval(context, colours, line, run, interval);
                }
        }
    }

    drawInterval(context, colours, line, run, interval) {
        const left = Math.max(this.x(interval.begin), 0);
        const right = Math.min(this.x(interval.end), this.width);
        if (right - left < 2) return;
        this.shown.push({ line, run, interval, left, right });
        context.fillStyle = hexOf(colours[this.entryOf(run, interval)]);
        context.fillRect(left, line.top, right - left - (right - left > 4 ? 0.5 : 0), line.height);
        if (!this.picked.size)
            for (const { begin, end, blocked } of interval.offCpu) {
                const [from, to] = [Math.max(this.x(begin), left), Math.min(this.x(end), right)];
                context.fillStyle = this.patterns[Number(blocked)];
                if (to > from) context.fillRect(from, line.top, to - from, line.height);
            }
        if (interval.state !== 0 || right - left < 46 || line.height < 14) return;
        context.save();
        context.beginPath();
        context.rect(left + 2, line.top, right - left - 4, line.height);
        context.clip();
        const colour = colours[this.entryOf(run, interval)];
        context.font = "11px system-ui, sans-serif";
        context.textBaseline = "middle";
        // The outline keeps the name readable over the patterns of off-CPU time.
        const name = [this.nameOf(run, interval), left + 4, line.top + line.height / 2];
        context.strokeStyle = hexOf(colour);
        context.lineWidth = 4;
        context.lineJoin = "round";
        context.strokeText(...name);
        context.fillStyle = inkOn(colour);
        context.fillText(...name);
        context.restore();
    }

    // Returns the name of a task's home in the legend; empty if the run has none.
    homeOf(run, interval) {
        const homes = this.about.dimensions.home;
        const entry = homes && homes.keys[run][interval.home];
        return entry === undefined ? "" : homes.entries[entry].label;
    }

    nameOf(run, interval) {
        const construct = this.about.runs[run].constructs[interval.construct] || "?";
        return interval.task === "0" ? construct : `${taskName(interval.task)} ${construct}`;
    }

    drawAxis(context) {
        const { ticks, step } = ticksOf(this.view.begin, this.view.end, this.width, 90);
        const base = baseOf(this.view.begin, this.view.end, step);
        context.fillStyle = this.ink();
        context.font = "11px system-ui, sans-serif";
        context.textBaseline = "top";
        let taken = -Infinity;
        if (base) {
            const text = `${timeText(base, 10 ** Math.ceil(Math.log10(this.view.end - this.view.begin)))} +`;
            context.font = "bold 11px system-ui, sans-serif";
            context.fillText(text, 0, 3);
            taken = context.measureText(text).width + 6;
            context.font = "11px system-ui, sans-serif";
        }
        for (const tick of ticks) {
            const x = this.x(tick);
            context.globalAlpha = 0.16;
            context.fillRect(x, AXIS_HEIGHT - 6, 1, this.height);
            context.globalAlpha = 1;
            const text = timeText(tick - base, step, ticks.at(-1) - base);
            const room = context.measureText(text).width;
            const left = Math.min(Math.max(x - room / 2, 0), this.width - room);
            if (left > taken) context.fillText(text, left, 3);
            taken = left + room + 6;
        }
    }

    drawSelection(context) {
        const shown = this.dragged && this.dragged.selection ? this.dragged.selection : this.selection;
        if (!shown) return;
        const [left, right] = [this.x(shown.begin), this.x(shown.end)];
        context.fillStyle = this.ink();
        context.globalAlpha = 0.25;
        context.fillRect(0, 0, Math.max(left, 0), this.height);
        context.fillRect(right, 0, Math.max(this.width - right, 0), this.height);
        context.globalAlpha = 1;
        context.fillRect(left - 1, 0, 1.5, this.height);
        context.fillRect(right, 0, 1.5, this.height);
    }

    lineOf(run, thread) {
        const own = this.lines.filter(({ row }) => partsOf(row).some((part) => part.run === run && part.threads.includes(thread)));
        return own.sort((a, b) => threadsIn(a.row) - threadsIn(b.row))[0];
    }

    // ---------------------------------------------------------------- moving

    show(begin, end) {
        const span = Math.min(Math.max(end - begin, SHORTEST_NS), this.end - this.begin);
        const first = Math.min(Math.max(begin + (end - begin - span) / 2, this.begin), this.end - span);
        this.view = { begin: first, end: first + span };
        this.under = null;
        this.tip.hidden = true;
        this.draw();
        this.toAddress();
    }
    fit() { this.show(this.begin, this.end); }
    zoom(factor, at = (this.view.begin + this.view.end) / 2) {
        this.show(at - (at - this.view.begin) * factor, at + (this.view.end - at) * factor);
    }
    pan(part) {
        const by = (this.view.end - this.view.begin) * part;
        const moved = Math.min(Math.max(by, this.begin - this.view.begin), this.end - this.view.end);
        this.show(this.view.begin + moved, this.view.end + moved);
    }

    listen() {
        const canvas = this.canvas;
        canvas.addEventListener("wheel", (event) => {
            event.preventDefault();
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
                this.pan((event.deltaX || event.deltaY) / this.width);
            else this.zoom(1.0015 ** event.deltaY, this.time(event.offsetX));
        }, { passive: false });
        canvas.addEventListener("pointerdown", (event) => {
            if (event.button !== 0) return;
            canvas.setPointerCapture(event.pointerId);
            const selects = event.shiftKey || this.selecting.getAttribute("aria-pressed") === "true";
            this.dragged = { x: event.offsetX, view: { ...this.view }, from: this.time(event.offsetX), selects };
        });
        canvas.addEventListener("pointermove", (event) => {
            if (!this.dragged) return this.pointAt(event.offsetX, event.offsetY);
            if (this.dragged.selects) {
                const times = [this.dragged.from, this.time(Math.min(Math.max(event.offsetX, 0), this.width))].sort((a, b) => a - b);
                this.dragged.selection = { begin: times[0], end: times[1] };
                return this.draw();
            }
            const { begin, end } = this.dragged.view;
            const by = ((this.dragged.x - event.offsetX) / this.width) * (end - begin);
            const moved = Math.min(Math.max(by, this.begin - begin), this.end - end);
            this.dragged.moved ||= Math.abs(this.dragged.x - event.offsetX) > 2;
            return this.dragged.moved && this.show(begin + moved, end + moved);
        });
        const drop = (event) => {
            const dragged = this.dragged;
            this.dragged = null;
            if (!dragged) return;
            if (dragged.selection && Math.abs(event.offsetX - dragged.x) > 2)
                this.select(dragged.selection.begin, dragged.selection.end);
            else if (Math.abs(event.offsetX - dragged.x) <= 2 && !dragged.moved) {
                this.pointAt(event.offsetX, event.offsetY);
                this.chosen.choose(this.under);
            }
        };
        canvas.addEventListener("pointerup", drop);
        canvas.addEventListener("pointercancel", () => (this.dragged = null));
        canvas.addEventListener("pointerleave", () => {
            this.tip.hidden = true;
            this.under = null;
            this.draw();
        });
        canvas.addEventListener("dblclick", (event) => this.zoom(0.25, this.time(event.offsetX)));
        canvas.addEventListener("keydown", (event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            const act = this.keys()[event.key.length === 1 ? event.key.toLowerCase() : event.key];
            if (!act) return;
            event.preventDefault();
            act();
        });
    }

    keys() {
        const middle = () => (this.view.begin + this.view.end) / 2;
        return {
            w: () => this.zoom(0.6), "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), s: () => this.zoom(1 / 0.6),
            "-": () => this.zoom(1 / 0.6), a: () => this.pan(-0.2), d: () => this.pan(0.2), f: () => this.fit(),
            0: () => this.fit(), ArrowLeft: () => this.pan(-0.05), ArrowRight: () => this.pan(0.05),
            "[": () => this.select(middle(), this.selection && this.selection.end > middle() ? this.selection.end : this.view.end),
            "]": () => this.select(this.selection && this.selection.begin < middle() ? this.selection.begin : this.view.begin, middle()),
            z: () => this.selection && this.show(this.selection.begin, this.selection.end),
            Escape: () => {
                this.select(null);
                this.chosen.choose(null);
                this.layers.clear();
            },
            "/": () => this.layers.input.focus(), "?": () => this.toggleKeys(),
            n: () => this.chosen.step(1, 0), p: () => this.chosen.step(-1, 0),
            ArrowDown: () => this.chosen.step(0, 1), ArrowUp: () => this.chosen.step(0, -1),
        };
    }

    pointAt(x, y) {
        const line = this.lines.find((each) => y >= each.top && y < each.top + each.height);
        const hit = line && this.shown.find((each) => each.line === line && x >= each.left && x < each.right);
        const changed = (this.under && this.under.interval) !== (hit && hit.interval);
        this.under = hit || null;
        if (changed) this.chosen.pointAt(this.under);
        if (!line) this.tip.hidden = true;
        else this.showTip(line, hit, x, y);
        if (changed) this.draw();
    }

    showTip(line, hit, x, y) {
        const lines = [];
        if (hit) {
            const { interval, run } = hit;
            lines.push(`${this.about.states[interval.state].label} ${timeText(interval.end - interval.begin)}`, this.nameOf(run, interval));
            if (interval.task !== "0" && interval.start)
                lines.push(interval.created
                    ? `created ${timeText(interval.created)} by thread ${creatorOf(interval.task)}, started ${timeText(interval.start - interval.created)} later`
                    : `created by thread ${creatorOf(interval.task)}, started ${timeText(interval.start)}`);
            if (interval.waitKind) lines.push(this.chosen.waitText(run, interval));
            for (const { begin, end, blocked } of interval.offCpu.slice(0, 3))
                lines.push(`${blocked ? "blocked" : "preempted"} for ${timeText(end - begin)}`);
            const home = this.homeOf(run, interval);
            if (interval.task !== "0" && home) lines.push(`home: ${home}`);
            if (interval.depth) lines.push(`depth ${interval.depth} on the stack of tasks`);
        } else {
            const column = (this.view.end - this.view.begin) / this.width;
            const values = this.source.fill(line.row, this.dimension, this.time(Math.floor(x)), this.time(Math.floor(x)) + column, 1);
            const total = values.reduce((sum, value) => sum + value, 0);
            this.entries().forEach((entry, k) => {
                if (values[k] / total >= 0.005) lines.push(`${entry.label} ${((100 * values[k]) / total).toFixed(1)}%`);
            });
            if (this.source.missing?.size) this.draw(); // requests the missing tiles
        }
        this.tip.replaceChildren(...[`${line.row.label}, ${timeText(this.time(x), (this.view.end - this.view.begin) / this.width)}`, ...lines].map((text) => this.make("div", {}, text)));
        this.tip.hidden = false;
        const left = this.gutter.clientWidth + x;
        this.tip.style.left = `${Math.min(left + 14, Math.max(this.plot.clientWidth - this.tip.offsetWidth - 4, 0))}px`;
        this.tip.style.top = `${y + 18}px`;
    }

    // ---------------------------------------------------------------- the selection

    select(begin, end) {
        this.selection = begin === null ? null : { begin: Math.max(Math.round(begin), this.begin), end: Math.min(Math.round(end), this.end) };
        if (this.selection && this.selection.end <= this.selection.begin) this.selection = null;
        this.from.value = this.selection ? `${this.selection.begin}ns` : "";
        this.to.value = this.selection ? `${this.selection.end}ns` : "";
        this.draw();
        this.toAddress();
        this.describeSelection();
    }

    async describeSelection() {
        const selection = this.selection;
        if (!selection) return this.selected.replaceChildren();
        const step = (selection.end - selection.begin) / 100;
        const title = this.make("h4", {}, `From ${timeText(selection.begin, step)} to ${timeText(selection.end, step)}`);
        if (!this.source.isServed) return this.selected.replaceChildren(title, this.shareTable(selection));
        const busy = this.make("p", { class: "note" }, "Reading the events of this window …");
        this.selected.replaceChildren(title, busy);
        try {
            const reply = await (await ask("window", { ...selection })).json();
            if (this.selection !== selection) return undefined;
            const report = this.make("div", { class: "window" });
            report.innerHTML = reply.markup; // from the server, which escapes every name
            this.selected.replaceChildren(title, report);
            window.ompassAdopt(report, {});
            report.dataset.window = `${selection.begin}:${selection.end}`;
        } catch (error) {
            busy.textContent = error.message;
        }
        return undefined;
    }

    // Returns a table of the selected time by entry of the legend.
    shareTable(selection) {
        const entries = this.entries();
        const sums = new Float64Array(entries.length);
        for (const row of this.about.rows) this.source.fill(row, this.dimension, selection.begin, selection.end, 1000).forEach((value, k) => (sums[k % sums.length] += value));
        const total = sums.reduce((sum, value) => sum + value, 0) || 1;
        const body = this.make("tbody");
        entries.forEach((entry, k) => {
            if (!sums[k]) return;
            const time = this.make("td", { class: "number", "data-key": Math.round(sums[k]) }, timeText(sums[k]));
            const share = this.make("td", { class: "number" }, `${((100 * sums[k]) / total).toFixed(1)}%`);
            body.append(this.make("tr", { class: "row" }, this.make("td", {}, entry.label), time, share));
        });
        const head = this.make("tr", {}, ...[this.dimension, "time", "share"].map((text) => this.make("th", { scope: "col" }, text)));
        return this.make("table", { class: "shares" }, this.make("thead", {}, head), body);
    }

    // ---------------------------------------------------------------- pictures

    name() { return `timeline-${this.about.runs[0].name.replace(/[^\w.-]+/g, "_")}`; }

    savePng() { this.canvas.toBlob((blob) => save(`${this.name()}.png`, blob)); }

    svg() {
        const n = Math.round(this.width);
        const colours = this.colours();
        const column = (this.view.end - this.view.begin) / n;
        const left = 120;
        const parts = this.values(n).map(({ line, values }) => {
            const capacity = column * threadsIn(line.row);
            return `<text x="4" y="${line.top + line.height / 2 + 4}">${line.height >= 10 ? svgText(line.row.label) : ""}</text>` +
                columnRectangles(values, n, colours, capacity, left, line.top, line.height) +
                hatchRectangles(this.offCpu(line, values, n), capacity, left, line.top, line.height);
        });
        const { ticks, step } = ticksOf(this.view.begin, this.view.end, this.width, 90);
        const axis = ticks.map((tick) => `<text x="${left + this.x(tick)}" y="12" text-anchor="middle">${svgText(timeText(tick, step, ticks.at(-1)))}</text>`);
        let at = 4;
        const legend = this.entries().map((entry) => {
            const text = `<rect x="${at}" y="${this.height + 8}" width="10" height="10" fill="${hexOf(colourOf(entry.colour))}"/><text x="${at + 14}" y="${this.height + 17}">${svgText(entry.label)}</text>`;
            at += 26 + entry.label.length * 6.4;
            return text;
        });
        return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.max(left + n + 10, at)}" height="${this.height + 26}" font-family="sans-serif" font-size="11">` +
            `${svgHatching(this.ink())}<rect width="100%" height="100%" fill="${hexOf(this.paper())}"/><g fill="${this.ink()}">${axis.join("")}</g>` +
            `<g fill="${this.ink()}">${parts.join("")}${legend.join("")}</g></svg>`;
    }
    saveSvg() { save(`${this.name()}.svg`, new Blob([this.svg()], { type: "image/svg+xml" })); }

    // ---------------------------------------------------------------- the address

    toAddress() {
        clearTimeout(this.addressing);
        this.addressing = setTimeout(() => {
            const parts = new URLSearchParams();
            if (this.view.begin > this.begin || this.view.end < this.end) parts.set("t", `${Math.round(this.view.begin)}:${Math.round(this.view.end)}`);
            if (this.dimension !== "state") parts.set("c", this.dimension);
            if (this.picked.size) parts.set("p", [...this.picked].join("."));
            if (this.chosen.hit) parts.set("x", this.chosen.place());
            if (this.selection) parts.set("s", `${this.selection.begin}:${this.selection.end}`);
            if (this.open.size) parts.set("o", [...this.open].join("~"));
            this.address = parts.size ? `#view?${parts}` : location.hash.startsWith("#view?") ? "#" : location.hash;
            if (location.hash !== this.address) history.replaceState(null, "", this.address || "#");
        }, 150);
    }

    fromAddress() {
        const parts = new URLSearchParams(location.hash.startsWith("#view?") ? location.hash.slice(6) : "");
        const range = (text) => {
            const [begin, end] = (text || "").split(":").map(Number);
            return Number.isFinite(begin) && Number.isFinite(end) && begin < end ? { begin, end } : null;
        };
        const names = ["state", ...Object.keys(this.about.dimensions)];
        this.dimension = names.includes(parts.get("c")) ? parts.get("c") : "state";
        this.chooser.value = this.dimension;
        this.picked = new Set((parts.get("p") || "").split(".").filter(Boolean).map(Number));
        this.open = new Set((parts.get("o") || "").split("~").filter(Boolean));
        this.drawLegend();
        this.layOut();
        const view = range(parts.get("t")) || { begin: this.begin, end: this.end };
        this.show(view.begin, view.end);
        this.chosen.find(parts.get("x") || "");
        const selection = range(parts.get("s"));
        if (selection) this.select(selection.begin, selection.end);
        else this.select(null);
    }
}

// Returns the parts of a task id: the creating thread, and a counter (the low 40 bits).
const creatorOf = (task) => Number(BigInt(task) >> 40n);
const taskName = (task) => `${creatorOf(task)}.${BigInt(task) & ((1n << 40n) - 1n)}`;

// Returns a time such as 1.5ms or 2s in nanoseconds, the default unit; null for other text.
function parseTime(text) {
    const match = /^\s*([\d.]+)\s*(ns|us|µs|ms|s)?\s*$/.exec(text);
    const value = match ? Number(match[1]) * { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }[match[2] || "ns"] : NaN;
    return Number.isFinite(value) ? value : null;
}

function startTimeline() {
    const place = document.getElementById("timeline-plot");
    const data = document.getElementById("timeline-data");
    if (!place || !data) return;
    const { description, baked } = JSON.parse(data.textContent);
    window.ompassTimeline = new Timeline(place, baked ? new BakedBins(description, baked) : new ServedBins(description));
}
startTimeline();
