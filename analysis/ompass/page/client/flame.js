// SPDX-License-Identifier: Apache-2.0
// Sampled stacks as an icicle: each function is below its caller and as wide as its samples. In a differential
// icicle, a function has the larger width of the two runs, and its colour shows whether it grew or shrank.

const FLAME_ROW = 21;

class Flame {
    constructor(place) {
        const { tree, names, colours, unit, before, after, grain } = JSON.parse(place.dataset.flame);
        Object.assign(this, { place, names, colours, unit, before, after, grain });
        this.isDifferent = Boolean(before);
        this.root = this.unpacked(tree, null, 0, "");
        this.open = this.root;
        this.greatest = Math.max(...this.all(this.root).map((node) => Math.abs(this.growth(node))), 1e-9);
        const reset = document.createElement("button");
        reset.type = "button";
        reset.textContent = "All";
        reset.title = "Show all stacks (Escape)";
        reset.addEventListener("click", () => this.show(this.root));
        const saved = document.createElement("button");
        saved.type = "button";
        saved.textContent = "SVG";
        saved.title = "Save the picture as SVG";
        saved.addEventListener("click", () => save("stacks.svg", new Blob([this.standalone()], { type: "image/svg+xml" })));
        this.path = document.createElement("span");
        this.path.className = "found";
        this.path.setAttribute("role", "status");
        const tools = document.createElement("div");
        tools.className = "tools";
        const group = document.createElement("span");
        group.className = "joined";
        group.append(reset, saved);
        tools.append(group, this.path);
        this.picture = document.createElement("div");
        place.append(tools, this.picture);
        this.draw(); // printing does not wait for the observer
        new ResizeObserver(() => this.draw()).observe(place);
        new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
        place.addEventListener("keydown", (event) => this.key(event));
    }

    unpacked([name, n, before, parts], parent, level, colour) {
        const node = { name: this.names[name], n, before, parent, level, colour };
        node.parts = parts.map((part, k) => this.unpacked(part, node, level + 1, colour || this.colours[k % this.colours.length]));
        return node;
    }
    all(node) { return [node, ...node.parts.flatMap((part) => this.all(part))]; }
    // Returns the width of a node. In a differential icicle, a function that shrank keeps its earlier width.
    size(node) { return this.isDifferent ? Math.max(node.n, node.before) : node.n; }

    text(node) {
        const whole = (100 * node.n) / (this.root.n || 1);
        const amount = (n) => `${Number(n.toPrecision(3)).toLocaleString("en")} ${this.unit}`;
        if (!this.isDifferent) return `${node.name}: ${amount(node.n)} (${whole.toFixed(1)}%)`;
        const by = node.n - node.before;
        return `${node.name}: ${amount(node.n)} ${this.after}, ${amount(node.before)} ${this.before} (${by >= 0 ? "+" : "−"}${amount(Math.abs(by))})`;
    }

    // Returns the difference between the runs, or 0 if it is below twice the standard deviation of independent samples.
    growth({ n, before }) { return (n - before) ** 2 > 4 * (n + before) * this.grain ? n - before : 0; }

    // Returns the owner's colour or, in a differential icicle, a colour from blue (shrank) over grey to red (grew).
    fill(node) {
        if (node.level === 0) return cssColour("--line");
        if (!this.isDifferent) return hexOf(blend(colourOf(node.colour), [255, 255, 255], Math.min(0.07 * (node.level - 1), 0.55)));
        const by = this.growth(node);
        return hexOf(blend([214, 218, 222], by > 0 ? [190, 30, 45] : [0, 92, 175], Math.sqrt(Math.abs(by) / this.greatest)));
    }

    show(node) {
        this.open = node;
        this.path.textContent = node === this.root ? "" : this.text(node);
        this.draw();
    }

    draw() {
        const width = this.place.clientWidth;
        if (!width) return;
        const focused = this.focused;
        this.boxes = new Map();
        const picture = svgElement("svg", { xmlns: SVG, width, "font-family": "sans-serif", "font-size": 11, role: "group", "aria-label": "Sampled stacks" });
        let lowest = 0;
        const put = (node, left, room) => {
            const top = node.level * FLAME_ROW;
            lowest = Math.max(lowest, top + FLAME_ROW);
            const fill = this.fill(node);
            const letters = Math.floor((room - 8) / 6.3);
            const text = this.text(node);
            const box = svgElement(
                "g", { tabindex: node === this.open ? 0 : -1, role: "button", "aria-label": text, class: "group" }, svgElement("title", {}, text),
                svgElement("rect", { x: left, y: top, width: Math.max(room - 0.6, 0.3), height: FLAME_ROW - 1, rx: 2, fill }),
                svgElement("text", { x: left + 4, y: top + 14, fill: inkOn(colourOf(fill)) }, letters > 2 ? clip(node.name, letters) : ""),
            );
            box.addEventListener("click", () => this.show(node));
            box.addEventListener("focus", () => (this.focused = node));
            this.boxes.set(node, box);
            picture.append(box);
        };
        const visit = (node, left, room) => {
            if (room < 0.4) return;
            put(node, left, room);
            const whole = Math.max(node.parts.reduce((sum, part) => sum + this.size(part), 0), this.size(node)) || 1;
            let at = left;
            for (const part of node.parts) {
                const own = (room * this.size(part)) / whole;
                visit(part, at, own);
                at += own;
            }
        };
        for (let above = this.open.parent; above; above = above.parent) put(above, 0, width);
        visit(this.open, 0, width);
        picture.setAttribute("height", lowest);
        picture.setAttribute("viewBox", `0 0 ${width} ${lowest}`);
        this.picture.replaceChildren(picture);
        if (focused && document.activeElement === document.body) this.boxes.get(focused)?.focus();
    }

    key(event) {
        if (event.target.closest("button")) return; // "All" and "SVG" act on these keys
        const node = this.focused || this.open;
        const among = node.parent ? node.parent.parts : [node];
        const next = {
            ArrowDown: node.parts[0], ArrowUp: node.parent, ArrowLeft: among[among.indexOf(node) - 1],
            ArrowRight: among[among.indexOf(node) + 1],
        }[event.key];
        if (event.key === "Enter" || event.key === " ") this.show(node);
        else if (event.key === "Escape") this.show(this.root);
        else if (next && this.boxes.has(next)) this.boxes.get(next).focus();
        else return;
        event.preventDefault();
    }

    standalone() { return this.picture.innerHTML; }
}

function startFlames(root) {
    root.querySelectorAll(".flame[data-flame]").forEach((place) => new Flame(place));
}
startFlames(document);
