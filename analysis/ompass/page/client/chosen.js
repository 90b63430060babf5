// SPDX-License-Identifier: Apache-2.0
// Marks the interval under the pointer and the clicked interval. Draws arrows for the creation and the dependences
// of their tasks. Below the picture, describes the clicked interval, shows its source, and for a wait, the
// activity of every thread.

const ROLES = ["", "depends on", "is a predecessor of"];
const MOST_LISTED = 20;

class Chosen {
    constructor(timeline) {
        this.timeline = timeline;
        this.hit = null;
        this.wanted = null; // interval in the page's address, until it is drawn
        this.asked = new Map(); // promises of links, by run and task
        this.links = new Map();
    }

    // ---------------------------------------------------------------- choosing

    pointAt(hit) {
        clearTimeout(this.pointing);
        this.pointing = hit && setTimeout(() => this.load(hit).catch(() => {}), 40);
    }

    choose(hit) {
        if (!hit && !this.hit) return;
        this.hit = hit;
        this.wanted = null;
        this.timeline.details.replaceChildren();
        if (hit) this.describe(hit);
        this.timeline.draw();
        this.timeline.toAddress();
    }

    // Chooses the next interval on the line (`across`), or the interval at the same time on the next line (`down`).
    step(across, down) {
        const { shown, width } = this.timeline;
        if (!shown.length) return;
        const now = this.hit && shown.find((each) => this.isSame(each, this.hit));
        if (!now) return this.choose(shown.reduce((a, b) => (Math.abs(b.left + b.right - width) < Math.abs(a.left + a.right - width) ? b : a)));
        const lines = [...new Set(shown.map((each) => each.line))];
        const line = lines[lines.indexOf(now.line) + down];
        const own = shown.filter((each) => each.line === line);
        const middle = (now.left + now.right) / 2;
        const next = down ? own.find((each) => each.right > middle) || own[own.length - 1] : own[own.indexOf(now) + across];
        if (next) this.choose(next);
    }

    isSame(a, b) { return a.run === b.run && a.interval.thread === b.interval.thread && a.interval.begin < b.interval.end && b.interval.begin < a.interval.end; }

    place() { return [this.hit.run, this.hit.interval.thread, Math.round((this.hit.interval.begin + this.hit.interval.end) / 2)].join("."); }
    find(text) {
        const [run, thread, at] = text.split(".").map(Number);
        this.choose(null);
        this.wanted = Number.isFinite(at) ? { run, interval: { thread, begin: at, end: at + 1 } } : null;
    }

    // ---------------------------------------------------------------- arrows

    key({ run, interval }) { return `${run} ${interval.task}`; }

    // Requests the links of a task once, and keeps the answer in `links`.
    load(hit) {
        const key = this.key(hit);
        const { run, interval } = hit;
        if (interval.task === "0") return Promise.resolve(null);
        if (!this.asked.has(key)) {
            const asked = this.timeline.source.links(run, interval.task, interval.thread, Math.floor(interval.begin)).then((links) => {
                this.links.set(key, links);
                this.timeline.draw();
                return links;
            });
            asked.catch(() => this.asked.delete(key));
            this.asked.set(key, asked);
        }
        return this.asked.get(key);
    }

    draw(context) {
        const { timeline } = this;
        if (this.wanted) {
            const found = timeline.shown.find((each) => this.isSame(each, this.wanted));
            if (found) this.choose(found);
        }
        const hits = [this.hit, timeline.under].filter(Boolean);
        context.strokeStyle = context.fillStyle = timeline.ink();
        hits.forEach((hit) => this.drawOne(context, hit));
    }

    drawOne(context, hit) {
        const { run, interval } = hit;
        const { timeline } = this;
        context.lineWidth = 2;
        for (const each of timeline.shown)
            if (each.run === run && (interval.task !== "0" ? each.interval.task === interval.task : this.isSame(each, hit)))
                context.strokeRect(each.left + 1, each.line.top + 1, each.right - each.left - 2, each.line.height - 2);
        if (interval.task === "0") return;
        this.drawWay(context, run, creatorOf(interval.task), interval.created, interval.thread, interval.start);
        const links = this.links.get(this.key(hit));
        if (!links) return;
        context.setLineDash([5, 3]);
        for (const { role, start_thread: startThread, start_ns: start, end_thread: endThread, end_ns: end } of links)
            if (role === 1) this.drawWay(context, run, endThread, end, links[0].start_thread, links[0].start_ns);
            else if (role === 2) this.drawWay(context, run, links[0].end_thread, links[0].end_ns, startThread, start);
        context.setLineDash([]);
    }

    drawWay(context, run, fromThread, fromTime, toThread, toTime) {
        const [from, to] = [this.timeline.lineOf(run, fromThread), this.timeline.lineOf(run, toThread)];
        if (!from || !to || !fromTime || !toTime) return;
        arrow(context, this.timeline.x(fromTime), from.top + from.height / 2, this.timeline.x(toTime), to.top + to.height / 2);
    }

    // ---------------------------------------------------------------- words

    name(run, construct) { return this.timeline.about.runs[run].constructs[construct] || "?"; }

    waitText(run, { waitKind, waitPlace, waitedFor, waitBegin, waitEnd }) {
        const parts = [`in a ${this.timeline.about.waits[waitKind] || "wait"}`];
        if (waitPlace) parts.push(`at ${this.name(run, waitPlace)}`);
        if (waitEnd) parts.push(`of ${timeText(waitEnd - waitBegin)}`);
        if (waitedFor) parts.push(`for ${this.name(run, waitedFor)}`);
        return parts.join(" ");
    }

    async describe(hit) {
        const { timeline } = this;
        const { make } = timeline;
        const { run, interval } = hit;
        const isWait = interval.state > 1;
        const title = `${timeline.about.states[interval.state].label} of thread ${interval.thread}: ${timeText(interval.end - interval.begin)}, ${timeline.nameOf(run, interval)}`;
        const parts = [make("h4", {}, title)];
        const put = (...more) => {
            if (this.hit !== hit) return;
            parts.push(...more);
            timeline.details.replaceChildren(...parts);
        };
        put();
        try {
            if (isWait) {
                const middle = Math.floor((Math.max(interval.begin, timeline.view.begin) + Math.min(interval.end, timeline.view.end)) / 2);
                const line = timeline.about.rows.flatMap(partsOf).find((row) => row.run === run && row.threads.includes(interval.thread));
                const moment = await timeline.source.moment(run, line.threads, middle);
                const own = moment.find((row) => row.thread === interval.thread);
                if (own && own.wait_kind) put(make("p", {}, this.waitText(run, this.waitOf(own))));
                put(this.momentTable(run, moment, middle, interval.thread));
            }
            const links = await this.load(hit);
            if (links && links.length && !isWait) put(this.linkList(run, links));
            const excerpt = await timeline.source.excerpt(run, isWait && interval.waitPlace ? interval.waitPlace : interval.construct);
            if (excerpt) put(sourceLines(make, excerpt));
        } catch (error) {
            put(make("p", { class: "warning" }, error.message));
        }
    }

    waitOf(row) {
        return { waitKind: row.wait_kind, waitPlace: row.wait_place, waitedFor: row.waited_for, waitBegin: row.wait_begin_ns, waitEnd: row.wait_end_ns };
    }

    // Returns a table of the activity of every thread at a moment.
    momentTable(run, moment, at, thread) {
        const { make, about } = this.timeline;
        const rows = moment.map((row) => {
            const isHere = row.thread === thread;
            const what = row.wait_kind ? this.waitText(run, this.waitOf(row)) : this.timeline.nameOf(run, row);
            const since = at - (row.wait_begin_ns || (row.task === "0" ? 0 : row.start_ns) || row.begin_ns);
            return make(
                "tr", { class: isHere ? "row marked" : "row" }, make("td", {}, `thread ${row.thread}`),
                make("td", {}, about.states[row.state].label), make("td", {}, what), make("td", { class: "number" }, timeText(since)),
            );
        });
        const head = make("tr", {}, ...["thread", "state", `activity at ${timeText(at, 1000)}`, "for"].map((text) => make("th", { scope: "col" }, text)));
        return make("div", { class: "moment" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
    }

    linkList(run, links) {
        const { make } = this.timeline;
        const [own, ...others] = links;
        const at = (ns) => timeText(ns, Math.max(own.end_ns - own.start_ns, 10) / 10);
        const items = others.slice(0, MOST_LISTED).map((link) => {
            const known = link.start_ns && link.end_ns;
            const text = `${ROLES[link.role]} ${taskName(link.task)}${link.construct ? ` ${this.name(run, link.construct)}` : ""}`;
            const times = known ? `, ${at(link.start_ns)} to ${at(link.end_ns)} on thread ${link.end_thread}` : ", not found nearby";
            const item = make("li", {}, text, times);
            if (known) {
                const button = make("button", { type: "button" }, "Show both");
                button.addEventListener("click", () => this.showBoth(own, link));
                item.append(" ", button);
            }
            return item;
        });
        if (others.length > items.length) items.push(make("li", {}, `and ${others.length - items.length} more`));
        const times = make("p", {}, `${own.created_ns ? `created ${at(own.created_ns)}, ` : ""}started ${at(own.start_ns)} on thread ${own.start_thread}, ended ${at(own.end_ns)}` +
            (others.length ? "" : "; no dependences"));
        return make("div", { class: "links" }, times, make("ul", {}, ...items));
    }

    showBoth(own, link) {
        const times = [own, link].flatMap((each) => [each.start_ns, each.end_ns]).filter(Boolean);
        const [first, last] = [Math.min(...times), Math.max(...times)];
        this.timeline.show(first - (last - first) / 8, last + (last - first) / 8);
    }
}

// Returns lines with their numbers and bars for their samples; marks the construct's line.
function sourceLines(make, { file, first, line, lines, heat }) {
    const most = Math.max(...Object.values(heat || {}), 0);
    const rows = lines.map((text, k) => {
        const n = (heat || {})[first + k] || 0;
        const number = make("span", { class: "number" }, `${String(first + k).padStart(5)}  `);
        const bar = make("span", { class: "heat", title: n ? `${n} samples` : "" });
        bar.style.setProperty("--part", most ? n / most : 0);
        return make("span", { class: first + k === line ? "line marked" : "line" }, bar, number, text || " ");
    });
    return make("figure", {}, make("pre", { class: "source", tabindex: 0 }, ...rows), make("figcaption", { title: file }, `${file.split("/").pop()}:${line}`));
}

// Draws an arrow. Bends it if both ends are on one line, to keep several arrows apart.
function arrow(context, x0, y0, x1, y1) {
    const bend = y0 === y1 ? Math.min(16, 6 + Math.abs(x1 - x0) / 40) : 0;
    const angle = Math.atan2(y1 - y0 + (bend ? Math.min(2 * bend, Math.abs(x1 - x0) / 3) : 0), x1 - x0);
    context.beginPath();
    context.moveTo(x0, y0);
    context.quadraticCurveTo((x0 + x1) / 2, (y0 + y1) / 2 - bend, x1, y1);
    context.stroke();
    context.beginPath();
    for (const side of [-0.5, 0.5]) {
        context.moveTo(x1, y1);
        context.lineTo(x1 - 8 * Math.cos(angle + side), y1 - 8 * Math.sin(angle + side));
    }
    context.save();
    context.setLineDash([]);
    context.stroke();
    context.restore();
}
