// SPDX-License-Identifier: Apache-2.0
// Parts of the timeline's picture, on a canvas or as SVG: columns of pixels with colours in proportion,
// hatching for off-CPU time, and the times on the axis. While the timeline is zoomed, a strip below the threads shows
// the whole run, with a frame around the visible window. A drag moves the window. The strip is not above the threads,
// because they would move under the pointer when it appears.


const AXIS_HEIGHT = 24;

// Returns red, green and blue of a CSS colour.
const colourOf = (() => {
    const known = new Map();
    const context = document.createElement("canvas").getContext("2d");
    return (text) => {
        if (!known.has(text)) {
            context.fillStyle = text;
            const hex = context.fillStyle;
            known.set(text, [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16)));
        }
        return known.get(text);
    };
})();

const hexOf = (colour) => `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
const blend = (colour, other, part) => colour.map((value, k) => value * (1 - part) + other[k] * part);

// Returns a time with three digits, or with enough digits to distinguish times `step` apart, in a unit for `longest`.
function timeText(ns, step = 0, longest = Math.abs(ns)) {
    const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
    const [unit, size] = units.find(([, each]) => Math.max(longest, step) >= each) || units[3];
    const least = step || Math.abs(ns) / 100;
    const digits = Math.min(Math.max(Math.ceil(-Math.log10(Math.max(least, 1e-3) / size)), 0), 9);
    return `${(ns / size).toFixed(digits)} ${unit}`;
}

// Returns round times for the axis, at least `room` pixels apart.
function ticksOf(begin, end, width, room) {
    const least = ((end - begin) * room) / Math.max(width, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least);
    const ticks = [];
    for (let k = Math.ceil(begin / step); k * step <= end; k++) ticks.push(k * step);
    return { ticks, step };
}

// Returns a time to subtract from all labels of the axis if they would otherwise be long; else 0.
function baseOf(begin, end, step) {
    const unit = 10 ** Math.ceil(Math.log10(Math.max(end - begin, 1)));
    const base = Math.floor(begin / unit) * unit;
    return base / step > 1000 ? base : 0;
}

// Returns black or white, whichever is easier to read on a colour.
const inkOn = ([red, green, blue]) => (0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff");

// Draws the columns of one row as pixels. `values` has n columns with a value per colour; `capacity` is the
// value of a full column.
function paintColumns(pixels, stride, left, top, height, values, n, colours, capacity, paper) {
    const each = colours.length;
    for (let column = 0; column < n; column++) {
        let at = 0; // height from the top
        let y = 0;
        let red = 0, green = 0, blue = 0, filled = 0; // of the pixel at y
        const put = () => {
            const rest = 1 - filled;
            pixels[(top + y) * stride + left + column] =
                (255 << 24) | (Math.round(blue + paper[2] * rest) << 16) | (Math.round(green + paper[1] * rest) << 8) |
                Math.round(red + paper[0] * rest);
            y++;
            red = green = blue = filled = 0;
        };
        for (let k = 0; k < each; k++) {
            const value = values[column * each + k];
            if (value <= 0) continue;
            const until = Math.min(at + (value / capacity) * height, height);
            const [r, g, b] = colours[k];
            while (at < until && y < height) {
                const next = Math.min(until, y + 1);
                const part = next - at;
                red += r * part;
                green += g * part;
                blue += b * part;
                filled += part;
                at = next;
                if (at >= y + 1) put();
            }
        }
        while (y < height) put();
    }
}

// Returns the columns of one row as SVG rectangles; merges equal neighbours.
function columnRectangles(values, n, colours, capacity, left, top, height) {
    const each = colours.length;
    const parts = [];
    const open = new Array(each).fill(null);
    for (let column = 0; column <= n; column++) {
        let at = 0;
        for (let k = 0; k < each; k++) {
            const value = column < n ? Math.max(values[column * each + k], 0) : 0;
            const low = at;
            at = Math.min(at + (value / capacity) * height, height);
            const now = open[k];
            if (now && Math.abs(now.low - low) < 0.05 && Math.abs(now.high - at) < 0.05 && column < n) continue;
            if (now && now.high - now.low > 0.02)
                parts.push(
                    `<rect x="${left + now.column}" y="${(top + now.low).toFixed(2)}" width="${column - now.column}" ` +
                        `height="${(now.high - now.low).toFixed(2)}" fill="${hexOf(colours[k])}"/>`,
                );
            open[k] = { column, low, high: at };
        }
    }
    return parts.join("");
}

// Returns the off-CPU parts of a row's columns: [column, from, to, blocked], with `from` and `to` in the
// unit of `values`. `absent` has two values per state, drawn at the end of the state.
function absentParts(values, absent, n, each, states) {
    const parts = [];
    for (let column = 0; column < n; column++) {
        let at = 0;
        for (let k = 0; k < each; k++) {
            at += Math.max(values[column * each + k], 0);
            const state = k - (each - states); // everything before the second state is work
            if (state < 0) continue;
            const [preempted, blocked] = [absent[2 * (column * states + state)], absent[2 * (column * states + state) + 1]];
            if (preempted > 0) parts.push([column, at - blocked - preempted, at - blocked, false]);
            if (blocked > 0) parts.push([column, at - blocked, at, true]);
        }
    }
    return parts;
}

// True if a pixel of the canvas is on a hatching line: lines rise for preempted time and fall for blocked time.
const isHatched = (x, y, blocked) => (blocked ? (x - y) & 7 : (x + y) & 7) < 2;

function hatchColumns(pixels, stride, top, height, parts, capacity, ink) {
    for (const [column, from, to, blocked] of parts) {
        const last = Math.min(top + (to / capacity) * height, top + height);
        for (let y = Math.round(top + Math.max(from / capacity, 0) * height); y < Math.round(last); y++) {
            if (!isHatched(column, y, blocked)) continue;
            const place = y * stride + column;
            const shown = pixels[place];
            const part = (k) => Math.round(((shown >> (8 * k)) & 255) * 0.35 + ink[k] * 0.65) << (8 * k);
            pixels[place] = (255 << 24) | part(2) | part(1) | part(0);
        }
    }
}

// Returns a fill pattern with the hatching lines.
function hatching(context, blocked, ink) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const drawn = tile.getContext("2d");
    drawn.fillStyle = ink;
    drawn.globalAlpha = 0.65;
    for (let x = 0; x < 8; x++) for (let y = 0; y < 8; y++) if (isHatched(x, y, blocked)) drawn.fillRect(x, y, 1, 1);
    const pattern = context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / (window.devicePixelRatio || 1)));
    return pattern;
}

const svgHatching = (ink) => `<defs>${[false, true].map((blocked) =>
    `<pattern id="${blocked ? "blocked" : "preempted"}" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(${blocked ? -45 : 45})">` +
    `<rect width="1.6" height="5" fill="${ink}" opacity="0.65"/></pattern>`).join("")}</defs>`;

const hatchRectangles = (parts, capacity, left, top, height) =>
    parts.filter(([, from, to]) => ((to - from) / capacity) * height > 0.2).map(([column, from, to, blocked]) =>
        `<rect x="${left + column}" y="${(top + (from / capacity) * height).toFixed(2)}" width="1" ` +
        `height="${(((to - from) / capacity) * height).toFixed(2)}" fill="url(#${blocked ? "blocked" : "preempted"})"/>`).join("");

const svgText = (text) =>
    text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);

function save(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}


const STRIP_HEIGHT = 30;

class Overview {
    constructor(timeline) {
        this.timeline = timeline;
        this.canvas = timeline.strip;
        const move = (event) => {
            const { begin, end, view } = timeline;
            const at = begin + (event.offsetX / Math.max(timeline.width, 1)) * (end - begin);
            const half = (view.end - view.begin) / 2;
            timeline.show(at - half, at + half);
        };
        this.canvas.addEventListener("pointerdown", (event) => {
            this.canvas.setPointerCapture(event.pointerId);
            this.isHeld = true;
            move(event);
        });
        this.canvas.addEventListener("pointermove", (event) => this.isHeld && move(event));
        for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => (this.isHeld = false));
    }

    get isZoomed() {
        const { begin, end, view } = this.timeline;
        return view.begin > begin || view.end < end;
    }

    draw(colours, paper) {
        const { timeline, canvas } = this;
        canvas.hidden = !this.isZoomed;
        if (!this.isZoomed) return;
        const scale = window.devicePixelRatio || 1;
        const n = Math.round(timeline.width * scale);
        const height = Math.round(STRIP_HEIGHT * scale);
        if (canvas.width !== n || canvas.height !== height) [canvas.width, canvas.height] = [n, height];
        canvas.style.width = `${timeline.width}px`;
        canvas.style.height = `${STRIP_HEIGHT}px`;
        const { begin, end, about } = timeline;
        const values = new Float64Array(n * colours.length);
        let threads = 0;
        for (const row of about.rows) {
            timeline.source.fill(row, timeline.dimension, begin, end, n).forEach((value, k) => (values[k] += value));
            threads += threadsIn(row);
        }
        const context = canvas.getContext("2d");
        const image = context.createImageData(n, height);
        paintColumns(new Uint32Array(image.data.buffer), n, 0, 0, height, values, n, colours, ((end - begin) / n) * threads, paper);
        context.putImageData(image, 0, 0);
        const [left, right] = [timeline.view.begin, timeline.view.end].map((time) => ((time - begin) / (end - begin)) * n);
        context.fillStyle = hexOf(paper);
        context.globalAlpha = 0.65;
        context.fillRect(0, 0, left, height);
        context.fillRect(right, 0, n - right, height);
        context.globalAlpha = 1;
        context.strokeStyle = timeline.ink();
        context.lineWidth = 1.5 * scale;
        context.strokeRect(left, 1, Math.max(right - left, 2), height - 2);
    }
}
