// SPDX-License-Identifier: Apache-2.0
// The folded task graph of a run, drawn twice: as an icicle, in which each group is below its creator and as
// wide as its cost, and as boxes with dependences. The critical path is red.

const SVG = "http://www.w3.org/2000/svg";
const MEASURES = { work: "work", create: "creation", dispatch: "idle while tasks were ready", tasks: "tasks", critical: "critical path" };
const CRITICAL = "var(--critical)";

function svgElement(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

class GraphPicture {
    constructor(place) {
        this.place = place;
        this.groups = JSON.parse(place.dataset.graph).groups;
        this.dependences = JSON.parse(place.dataset.graph).dependences;
        this.measure = "work";
        this.root = 0;
        const chooser = document.createElement("select");
        chooser.setAttribute("aria-label", "Width of the task tree by");
        for (const [name, label] of Object.entries(MEASURES)) chooser.append(new Option(`width by ${label}`, name));
        chooser.addEventListener("change", () => {
            this.measure = chooser.value;
            this.draw();
        });
        const tools = document.createElement("div");
        tools.className = "tools";
        tools.append(chooser, this.button("Whole tree", () => this.open(0)), this.button("SVG", () => this.saveSvg()), this.button("PNG", () => this.savePng()));
        this.icicle = document.createElement("div");
        this.boxes = document.createElement("div");
        this.boxes.className = "boxes";
        this.boxes.tabIndex = 0;
        place.append(tools, this.icicle, this.boxes);
        this.draw(); // printing does not wait for the observer
        new ResizeObserver(() => this.draw()).observe(place);
        new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    }

    button(text, act) {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = text;
        made.addEventListener("click", act);
        return made;
    }

    children(number) { return this.groups.filter((group) => group.number !== number && group.parent === number); }
    total(number) {
        return this.groups[number][this.measure] + this.children(number).reduce((sum, child) => sum + this.total(child.number), 0);
    }
    levels(number) { return 1 + Math.max(0, ...this.children(number).map((child) => this.levels(child.number))); }

    text(group) {
        const value = this.measure === "tasks" ? counted(group.tasks, "task") : timeText(group[this.measure]);
        return `${group.label}: ${value} of its own, ${counted(group.tasks, "task")}${group.folded ? ", folded" : ""}`;
    }

    // Shows a group alone, and highlights its construct in the timeline.
    open(number) {
        this.root = number;
        this.draw();
        const timeline = window.ompassTimeline;
        const dimension = timeline && timeline.about.dimensions.construct;
        if (!dimension) return;
        const entry = dimension.entries.findIndex((each) => each.label === this.groups[number].construct);
        if (number === 0 || entry < 0) {
            timeline.picked.clear();
            timeline.drawLegend();
            return timeline.draw();
        }
        timeline.setDimension("construct");
        timeline.picked.add(entry);
        timeline.drawLegend();
        return timeline.draw();
    }

    draw() {
        if (!this.place.clientWidth) return;
        const focused = this.place.contains(document.activeElement) ? document.activeElement.dataset.number : undefined;
        this.drawIcicle();
        this.drawBoxes();
        if (focused !== undefined) this.place.querySelector(`[data-number="${focused}"]`)?.focus();
    }

    clickable(group, ...parts) {
        const made = svgElement("g", { tabindex: 0, role: "button", "aria-label": this.text(group), class: "group", "data-number": group.number }, svgElement("title", {}, this.text(group)), ...parts);
        made.addEventListener("click", () => this.open(group.number));
        made.addEventListener("keydown", (event) => {
            if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                this.open(group.number);
            }
        });
        return made;
    }

    sheet(width, height) {
        return svgElement("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", "font-size": 11 });
    }

    drawIcicle() {
        const width = this.place.clientWidth;
        const height = 24;
        const picture = this.sheet(width, this.levels(this.root) * height);
        const visit = (number, left, room, level) => {
            if (room < 0.3) return;
            const group = this.groups[number];
            const box = svgElement("rect", {
                x: left, y: level * height, width: Math.max(room - 0.5, 0.3), height: height - 1, fill: group.colour,
                stroke: group.critical ? CRITICAL : "none", "stroke-width": group.critical ? 1.5 : 0,
            });
            const letters = Math.floor((room - 6) / 6.2);
            const label = svgElement("text", { x: left + 4, y: level * height + 16, fill: inkOn(colourOf(group.colour)) }, letters > 3 ? clip(group.label, letters) : "");
            picture.append(this.clickable(group, box, label));
            const whole = this.total(number) || 1;
            let at = left;
            for (const child of this.children(number)) {
                const part = (room * this.total(child.number)) / whole;
                visit(child.number, at, part, level + 1);
                at += part;
            }
        };
        visit(this.root, 0, width, 0);
        this.icicle.replaceChildren(picture);
    }

    drawBoxes() {
        const [across, down, wide, high] = [190, 84, 174, 44];
        const place = new Map();
        let leaves = 0;
        const lay = (number, level) => {
            const below = this.children(number).map((child) => lay(child.number, level + 1));
            const x = below.length ? (below[0] + below[below.length - 1]) / 2 : leaves++ * across;
            place.set(number, [x, level * down]);
            return x;
        };
        lay(this.root, 0);
        const width = Math.max(leaves * across, this.place.clientWidth - 20);
        const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim() || "#000000";
        const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() || "#ffffff";
        const picture = this.sheet(width, this.levels(this.root) * down + 30);
        for (const [number, [x, y]] of place) {
            const group = this.groups[number];
            const from = place.get(group.parent);
            if (!from || number === this.root) continue;
            picture.append(svgElement("path", {
                d: `M${from[0] + wide / 2} ${from[1] + high} C${from[0] + wide / 2} ${y - 14} ${x + wide / 2} ${from[1] + high + 14} ${x + wide / 2} ${y}`,
                fill: "none", stroke: group.critical ? CRITICAL : ink, "stroke-width": group.critical ? 2.5 : 1, opacity: group.critical ? 1 : 0.5,
            }));
        }
        for (const { from, to, n } of this.dependences) {
            const [a, b] = [place.get(from), place.get(to)];
            if (!a || !b) continue;
            const [x0, x1] = [a[0] + wide * 0.6, b[0] + wide * 0.4];
            const [y0, y1] = [a[1] + high, b[1] + high];
            const low = Math.max(y0, y1) + 14 + Math.abs(x1 - x0) / 24;
            picture.append(
                svgElement("path", { d: `M${x0} ${y0} C${x0} ${low} ${x1} ${low} ${x1} ${y1}`, fill: "none", stroke: ink, "stroke-dasharray": "4 3" }, svgElement("title", {}, counted(n, "dependence"))),
                svgElement("path", { d: `M${x1} ${y1} l-4 8 l8 0 z`, fill: ink }),
            );
        }
        for (const [number, [x, y]] of place) {
            const group = this.groups[number];
            const box = svgElement("rect", { x: x + 1, y: y + 1, width: wide, height: high, rx: 5, fill: paper, stroke: group.critical ? CRITICAL : ink, "stroke-width": group.critical ? 2.5 : 1 });
            const stripe = svgElement("rect", { x: x + 1, y: y + 1, width: 5, height: high, rx: 2, fill: group.colour });
            const lines = [clip(group.label, 27), `${counted(group.tasks, "task")}, work ${timeText(group.work)}`, group.critical ? `${timeText(group.critical)} of the critical path` : ""];
            const text = lines.map((line, k) => svgElement("text", { x: x + 11, y: y + 13 + 13 * k, fill: ink }, line));
            picture.append(this.clickable(group, box, stripe, ...text));
        }
        this.boxes.replaceChildren(picture);
        this.boxes.scrollLeft = place.get(this.root)[0] + (wide - this.boxes.clientWidth) / 2; // the root in the middle
    }

    pictures() { return [...this.place.querySelectorAll("svg")].map((svg) => svg.outerHTML); }
    saveSvg() {
        const [icicle, boxes] = [...this.place.querySelectorAll("svg")];
        const height = icicle.height.baseVal.value;
        boxes.setAttribute("y", height + 20);
        const whole = `<svg xmlns="${SVG}" width="${Math.max(icicle.width.baseVal.value, boxes.width.baseVal.value)}" height="${height + 20 + boxes.height.baseVal.value}">${icicle.outerHTML}${boxes.outerHTML}</svg>`;
        boxes.removeAttribute("y");
        this.saved = standalone(whole);
        save("task-graph.svg", new Blob([this.saved], { type: "image/svg+xml" }));
    }
    savePng() {
        const [, boxes] = [...this.place.querySelectorAll("svg")];
        const image = new Image();
        image.onload = () => {
            const canvas = document.createElement("canvas");
            canvas.width = 2 * boxes.width.baseVal.value;
            canvas.height = 2 * boxes.height.baseVal.value;
            canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
            canvas.toBlob((blob) => save("task-graph.png", blob));
            URL.revokeObjectURL(image.src);
        };
        image.src = URL.createObjectURL(new Blob([standalone(boxes.outerHTML)], { type: "image/svg+xml" }));
    }
}

// Returns the picture with the value of the page's colour in place of its name.
const standalone = (svg) => svg.replaceAll(CRITICAL, cssColour("--critical"));
const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const clip = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

function startGraphs(root) {
    root.querySelectorAll(".graph[data-graph]").forEach((place) => new GraphPicture(place));
}
startGraphs(document);
