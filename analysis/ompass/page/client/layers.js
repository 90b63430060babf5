// SPDX-License-Identifier: Apache-2.0
// Layers that the reader adds to the timeline: waits, dependences, the critical path, and the marks of constructs
// that a finding or a search names. The button on a finding's card colours the timeline by the finding's construct,
// marks its tasks or waits, and opens the source at its line.


const MOST_ARROWS = 400;

class Layers {
    constructor(timeline) {
        this.timeline = timeline;
        this.on = new Set();
        this.loaded = new Map(); // answers by layer: one for each run
        this.marked = null; // the set of marked constructs of each run
        this.found = [];
    }

    // ---------------------------------------------------------------- elements

    buttons(make, button) {
        const names = [["waits", "Waits", "Show where each wait begins and ends"]];
        const { source } = this.timeline;
        if (source.has("dependences")) names.push(["dependences", "Dependences", "Draw the dependences between the visible tasks"]);
        if (source.has("critical")) names.push(["critical", "Critical path", "Mark the tasks of the critical path"]);
        this.pressed = new Map();
        return make("span", { class: "joined" }, ...names.map(([name, text, title]) => {
            const made = button(text, title, () => this.toggle(name));
            made.setAttribute("aria-pressed", "false");
            this.pressed.set(name, made);
            return made;
        }));
    }

    finder(make) {
        this.input = make("input", { type: "search", placeholder: "find construct, line", "aria-label": "Find a construct or line", title: "Marks the tasks of matching constructs (/)", size: 20 });
        this.count = make("span", { class: "found", role: "status" });
        this.input.addEventListener("input", () => this.find(this.input.value));
        this.input.addEventListener("keydown", (event) => {
            if (event.key === "Enter") this.showNext();
            if (event.key === "Escape") this.clear();
        });
        return make("span", { class: "finder" }, this.input, this.count);
    }

    async toggle(name) {
        const button = this.pressed.get(name);
        const isOn = !this.on.delete(name);
        button.setAttribute("aria-pressed", String(isOn));
        if (isOn) {
            this.on.add(name);
            try {
                await this.load(name);
            } catch (error) {
                this.on.delete(name);
                button.setAttribute("aria-pressed", "false");
                this.timeline.source.problem = error.message;
            }
        }
        this.timeline.draw();
    }

    async load(name) {
        if (name === "waits" || this.loaded.has(name)) return;
        const button = this.pressed.get(name);
        button.disabled = true;
        try {
            const runs = this.timeline.about.runs.map((_, run) => this.timeline.source.layer(name, run));
            this.loaded.set(name, await Promise.all(runs));
        } finally {
            button.disabled = false;
        }
    }

    // ---------------------------------------------------------------- marks

    // Highlights constructs, a set for each run; null ends the highlighting. If the legend has none of them, as for
    // waits, highlights the states other than work and creation.
    mark(wanted) {
        const { timeline } = this;
        this.marked = wanted;
        if (wanted) {
            const labels = new Set(this.labels());
            const dimension = timeline.about.dimensions.construct;
            const picks = dimension ? dimension.entries.flatMap(({ label }, k) => (labels.has(label) ? [k] : [])) : [];
            timeline.setDimension(picks.length ? "construct" : "state");
            if (picks.length) picks.forEach((entry) => timeline.picked.add(entry));
            else timeline.about.states.forEach((_, k) => k > 1 && timeline.picked.add(k));
        } else timeline.picked.clear();
        timeline.drawLegend();
        timeline.draw();
        timeline.toAddress();
    }

    clear() {
        this.input.value = "";
        this.count.textContent = "";
        document.querySelectorAll("[data-show]").forEach((each) => each.setAttribute("aria-pressed", "false"));
        if (this.marked) this.mark(null);
    }

    labels() {
        return this.marked.flatMap((numbers, run) => [...numbers].map((number) => this.timeline.about.runs[run].constructs[number]));
    }

    isMarked(run, interval) {
        return Boolean(this.marked) && this.marked[run].has(interval.state > 1 ? interval.waitPlace : interval.construct);
    }

    find(text) {
        const wanted = text.trim().toLowerCase();
        if (!wanted) return this.clear();
        // The numbers of constructs differ between runs.
        const byRun = this.timeline.about.runs.map((run) => new Set(
            Object.entries(run.constructs).filter(([, label]) => label.toLowerCase().includes(wanted)).map(([number]) => Number(number))));
        const names = new Set(byRun.flatMap((numbers, k) => [...numbers].map((number) => this.timeline.about.runs[k].constructs[number])));
        this.count.textContent = names.size ? `${names.size} found` : "not found";
        return names.size ? this.mark(byRun) : this.marked && this.mark(null);
    }

    // Chooses the next marked interval. If all are too short to see, shows the part of the run with the most of them.
    showNext() {
        const { timeline } = this;
        if (!this.marked) return;
        const own = timeline.shown.filter((each) => this.isMarked(each.run, each.interval)).sort((a, b) => a.left - b.left);
        if (own.length) {
            const now = timeline.chosen.hit;
            const at = now ? own.findIndex((each) => timeline.chosen.isSame(each, now)) : -1;
            return timeline.chosen.choose(own[(at + 1) % own.length]);
        }
        const n = 200;
        const { begin, end } = timeline;
        const sums = new Float64Array(n);
        const each = timeline.entries().length;
        for (const row of timeline.about.rows)
            timeline.source.fill(row, timeline.dimension, begin, end, n).forEach((value, k) => {
                if (timeline.picked.has(k % each)) sums[Math.floor(k / each)] += value;
            });
        const most = sums.indexOf(Math.max(...sums));
        const length = (end - begin) / n;
        return timeline.show(begin + most * length, begin + (most + 1) * length);
    }

    // ---------------------------------------------------------------- drawing

    draw(context) {
        if (this.marked) this.drawMarks(context);
        if (this.on.has("waits")) this.drawWaits(context);
        if (this.on.has("dependences")) this.drawDependences(context);
        if (this.on.has("critical")) this.drawCritical(context);
    }

    drawMarks(context) {
        context.strokeStyle = cssColour("--accent");
        context.lineWidth = 2;
        for (const { run, interval, line, left, right } of this.timeline.shown)
            if (right - left > 4 && this.isMarked(run, interval)) context.strokeRect(left + 1, line.top + 1, right - left - 2, line.height - 2);
    }

    // Draws a bracket over each wait, from its begin to its end, with its name if there is room.
    drawWaits(context) {
        const { timeline } = this;
        const seen = new Set();
        context.fillStyle = context.strokeStyle = timeline.ink();
        context.lineWidth = 1.5;
        context.font = "10px system-ui, sans-serif";
        context.textBaseline = "top";
        for (const { run, interval, line } of timeline.shown) {
            const key = `${run} ${interval.thread} ${interval.waitBegin}`;
            if (!interval.waitKind || !interval.waitEnd || seen.has(key)) continue;
            seen.add(key);
            const [left, right] = [timeline.x(interval.waitBegin), timeline.x(interval.waitEnd)];
            const [from, to] = [Math.max(left, -2), Math.min(right, timeline.width + 2)];
            if (to - from < 3) continue;
            const y = line.top + 1.5;
            context.beginPath();
            context.moveTo(from, y + 5);
            context.lineTo(from, y);
            context.lineTo(to, y);
            context.lineTo(to, y + 5);
            context.stroke();
            if (to - from < 60 || line.height < 24) continue;
            context.save();
            context.beginPath();
            context.rect(from + 3, y, to - from - 6, 16);
            context.clip();
            const text = timeline.chosen.waitText(run, interval);
            context.fillStyle = hexOf(timeline.paper());
            context.globalAlpha = 0.8;
            context.fillRect(from + 3, y + 2, context.measureText(text).width + 4, 12);
            context.globalAlpha = 1;
            context.fillStyle = timeline.ink();
            context.fillText(text, from + 5, y + 3);
            context.restore();
        }
    }

    // Draws arrows between visible tasks, from the end of a predecessor to the start of its successor.
    drawDependences(context) {
        const { timeline } = this;
        const answers = this.loaded.get("dependences");
        if (!answers) return;
        const ends = new Map();
        for (const { run, interval, line, left, right } of timeline.shown) {
            if (interval.task === "0" || interval.state > 0) continue;
            const key = `${run} ${interval.task}`;
            const known = ends.get(key);
            if (!known) ends.set(key, { left, right, line, end: line });
            else if (right > known.right) Object.assign(known, { right, end: line });
        }
        context.strokeStyle = context.fillStyle = timeline.ink();
        context.lineWidth = 1;
        context.globalAlpha = 0.6;
        let drawn = 0;
        answers.forEach((pairs, run) => {
            for (const [before, after] of pairs || []) {
                const [from, to] = [ends.get(`${run} ${before}`), ends.get(`${run} ${after}`)];
                if (!from || !to || drawn >= MOST_ARROWS) continue;
                arrow(context, from.right, from.end.top + from.end.height / 2, to.left, to.line.top + to.line.height / 2);
                drawn++;
            }
        });
        context.globalAlpha = 1;
        this.arrows = drawn;
    }

    // Draws a band along each lane. A pixel's opacity is its share of time on the path, so short steps look short.
    drawCritical(context) {
        const { timeline } = this;
        const { begin, end } = timeline.view;
        const per = (end - begin) / timeline.width;
        const covered = new Map();
        (this.loaded.get("critical") || []).forEach((steps, run) => {
            for (const [thread, from, to] of steps || []) {
                if (to < begin || from > end) continue;
                const line = timeline.lineOf(run, thread);
                if (!line) continue;
                if (!covered.has(line)) covered.set(line, new Float64Array(timeline.width + 1));
                const parts = covered.get(line);
                const [first, last] = [Math.max((from - begin) / per, 0), Math.min((to - begin) / per, timeline.width)];
                for (let x = Math.floor(first); x < last; x++) parts[x] += Math.min(last, x + 1) - Math.max(first, x);
            }
        });
        context.fillStyle = cssColour("--critical");
        for (const [line, parts] of covered) {
            const height = Math.min(Math.max(line.height / 8, 2), 8);
            parts.forEach((part, x) => {
                if (part <= 0.002) return;
                context.globalAlpha = Math.min(Math.max(part, 0.12), 1);
                context.fillRect(x, line.top + line.height - height, 1, height);
            });
        }
        context.globalAlpha = 1;
    }
}

const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();


function showFinding(button) {
    const timeline = window.ompassTimeline;
    const wanted = JSON.parse(button.dataset.show);
    const shown = button.getAttribute("aria-pressed") === "true";
    document.querySelectorAll("[data-show]").forEach((each) => each.setAttribute("aria-pressed", "false"));
    const source = button.closest(".card").querySelector("details");
    if (source) source.open = !shown;
    if (shown) return timeline.mark(null);
    button.setAttribute("aria-pressed", "true");
    timeline.mark(timeline.about.runs.map((_, run) => new Set(run === wanted.run ? wanted.constructs : [])));
    timeline.place.scrollIntoView({ block: "start", behavior: "instant" });
    return timeline.canvas.focus({ preventScroll: true });
}

for (const button of document.querySelectorAll("[data-show]")) {
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => showFinding(button));
}
