// SPDX-License-Identifier: Apache-2.0
// Handles the reader's actions: switch between light and dark, sort tables, unfold rows. Draws figures
// when they become visible. Without scripts, the figures and the pictures of page/client are missing.
"use strict";
(() => {
    const root = document.documentElement;
    const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
    const specs = JSON.parse(document.getElementById("figures").textContent);
    const drawn = new Set();

    const isDark = () => root.dataset.theme === "dark";

    // Puts one long name, or two or three short names, on a line of a legend.
    function makeNarrow(colour, room) {
        if (!colour || !colour.legend || colour.type !== "nominal") return;
        const long = colour.legend.labelLimit > 200;
        Object.assign(colour.legend, { columns: long ? 1 : Math.min(colour.legend.columns || 3, room < 460 ? 2 : 3) });
        if (long) colour.legend.labelLimit = room - 40;
    }

    function draw(place) {
        const spec = structuredClone(specs[place.id]);
        const most = (spec.usermeta && spec.usermeta.mostWidth) || Infinity;
        const room = Math.min(Math.max(place.clientWidth, 240), most);
        const faceted = spec.encoding && spec.encoding.row; // if so, the width covers only the bars
        spec.width = faceted ? Math.max(room - 140, 160) : room;
        // Figures use variables of the page's style, so they need not be drawn again for a new theme or for printing.
        Object.assign(spec.config, { title: { color: "var(--ink)" } });
        for (const part of ["axis", "legend", "header"])
            spec.config[part] = {
                ...spec.config[part], labelColor: "var(--ink)", titleColor: "var(--ink)", gridColor: "var(--plot-line)",
                domainColor: "var(--plot-axis)", tickColor: "var(--plot-axis)",
            };
        if (room < 560) {
            spec.config.axis.labelLimit = 110;
            for (const part of [spec, ...(spec.layer || [])])
                for (const channel of ["color", "stroke"]) makeNarrow(part.encoding && part.encoding[channel], room);
        }
        const options = {
            renderer: "svg",
            actions: { export: true, source: false, compiled: false, editor: false },
            tooltip: { theme: "custom" },
        };
        drawn.add(place);
        return embedder().then((embed) => embed(place, spec, options)).then(() => {
            place.querySelector("summary")?.setAttribute("aria-label", "Save this figure");
        }).catch((error) => {
            place.textContent = `This figure could not be drawn: ${error.message}`;
        });
    }

    // Returns the function that draws figures, from the page, or from the server (requested once).
    let asked = null;
    function embedder() {
        if (window.vegaEmbed) return Promise.resolve(window.vegaEmbed);
        asked ||= fetch("figures.js").then(async (reply) => {
            if (!reply.ok) throw new Error((await reply.text()) || reply.statusText);
            return addFigureScript(await reply.text());
        }).catch((error) => {
            asked = null;
            throw error;
        });
        return asked;
    }
    function addFigureScript(text) {
        if (!window.vegaEmbed) document.head.append(made("script", {}, text));
        return window.vegaEmbed;
    }
    // Requests the script after the page is shown, when the browser is idle.
    window.addEventListener("load", () => plots.length && requestIdleCallback(drawInIdleTime));

    // Draws one figure after the other, so that all are there when the reader scrolls or prints.
    function drawInIdleTime() {
        const next = plots.find((place) => !drawn.has(place));
        if (next) draw(next).finally(() => requestIdleCallback(drawInIdleTime));
    }

    const inSight = new IntersectionObserver((entries) => {
        for (const entry of entries)
            if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
    }, { rootMargin: "300px" });
    const plots = [];
    function watch(root) {
        const found = [...root.querySelectorAll(".plot")].filter((place) => specs[place.id] && !drawn.has(place));
        found.forEach((place) => inSight.observe(place));
        plots.push(...found);
    }
    watch(document);
    // Adds the tools of tables, and the figures, to an element that was inserted later.
    window.ompassAdopt = (root, figures) => {
        Object.assign(specs, figures);
        root.querySelectorAll(".table").forEach(equip);
        watch(root);
    };
    let resized = 0;
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
        clearTimeout(resized);
        resized = setTimeout(() => {
            if (window.innerWidth !== width) [...drawn].forEach(draw);
            width = window.innerWidth;
        }, 200);
    });
    // Returns the server's answer. Blocks the page until it arrives.
    window.askNow = (method, name, body) => {
        const request = new XMLHttpRequest();
        request.open(method, name, false);
        if (body) request.setRequestHeader("Content-Type", "application/json");
        request.send(body);
        if (request.status !== 200) throw new Error(request.responseText || "the server does not answer");
        return request.responseText;
    };
    // Draws all missing figures. Printing does not wait for promises, so this function waits for the script.
    window.ompassDrawFigures = () => {
        if (plots.length && !window.vegaEmbed) addFigureScript(askNow("GET", "figures.js"));
        plots.filter((place) => !place.querySelector("svg.marks")).forEach(draw);
    };
    // Prints in the light theme.
    let themeBefore = "";
    window.addEventListener("beforeprint", () => {
        window.ompassDrawFigures();
        themeBefore = root.dataset.theme;
        root.dataset.theme = "light";
        window.ompassTimeline?.drawNow();
    });
    window.addEventListener("afterprint", () => {
        root.dataset.theme = themeBefore;
        window.ompassTimeline?.drawNow();
    });

    function setTheme(dark) {
        root.dataset.theme = dark ? "dark" : "light";
        document.getElementById("theme").setAttribute("aria-pressed", String(dark));
    }
    setTheme(wantsDark.matches);
    wantsDark.addEventListener("change", (event) => setTheme(event.matches));
    document.getElementById("theme").addEventListener("click", () => setTheme(!isDark()));

    const ROWS_ON_PAGE = 500;
    const books = new WeakMap(); // by table

    // All rows of a table. Filters and sorts them, and shows ROWS_ON_PAGE at a time. A row moves together
    // with its details.
    class Book {
        constructor(table) {
            this.table = table;
            this.body = table.tBodies[0];
            const further = table.querySelector("template");
            const bodies = [this.body, ...(further ? [further.content.querySelector("tbody")] : [])];
            this.rows = bodies.flatMap((body) => [...body.children].filter((row) => row.classList.contains("row")));
            this.details = new Map();
            for (const row of this.rows) {
                const next = row.nextElementSibling;
                if (next && next.classList.contains("details")) this.details.set(row, next);
            }
            further?.remove();
            this.chosen = this.rows;
            this.first = 0;
        }

        get isLong() { return this.rows.length > ROWS_ON_PAGE; }

        sort(header, column) {
            const down = header.getAttribute("aria-sort") !== "descending";
            for (const each of this.table.querySelectorAll("thead th[aria-sort]")) each.setAttribute("aria-sort", "none");
            header.setAttribute("aria-sort", down ? "descending" : "ascending");
            const key = (row) => row.children[column].dataset.key ?? "";
            const numeric = this.rows.every((row) => Number.isFinite(Number(key(row))));
            const order = (a, b) => (numeric ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
            this.rows.sort((a, b) => (down ? -order(a, b) : order(a, b)));
            this.filter(this.wanted || "");
        }

        filter(wanted) {
            this.wanted = wanted;
            this.chosen = wanted ? this.rows.filter((row) => row.textContent.toLowerCase().includes(wanted)) : this.rows;
            this.turn(0);
        }

        // Shows the chosen rows from number `first` on.
        turn(first) {
            this.first = Math.max(Math.min(first, Math.floor(Math.max(this.chosen.length - 1, 0) / ROWS_ON_PAGE) * ROWS_ON_PAGE), 0);
            const shown = this.chosen.slice(this.first, this.first + ROWS_ON_PAGE);
            const kept = new Set(shown);
            for (const row of this.rows) if (!kept.has(row) && row.isConnected) setUnfolded(row, this.details.get(row), false);
            this.body.replaceChildren(...shown.flatMap((row) => [row, ...(this.details.has(row) ? [this.details.get(row)] : [])]));
            this.tell?.();
        }
    }

    function setUnfolded(row, details, open) {
        const button = row.querySelector(".unfold");
        if (!button || !details) return;
        button.setAttribute("aria-expanded", String(open));
        details.hidden = !open;
    }

    const made = (tag, attributes, text = "") => {
        const element = document.createElement(tag);
        Object.assign(element, attributes);
        element.textContent = text;
        return element;
    };

    // Adds a filter, buttons to turn pages if there are many rows, and an export of the chosen rows as CSV.
    function equip(place) {
        const table = place.querySelector("table");
        const book = new Book(table);
        books.set(table, book);
        const tools = made("div", { className: "tools of-table" });
        if (book.rows.length > 2) {
            const filter = made("input", { type: "search", placeholder: "filter rows" });
            filter.setAttribute("aria-label", `Filter rows of ${place.getAttribute("aria-label")}`);
            filter.addEventListener("input", () => book.filter(filter.value.toLowerCase()));
            tools.append(filter);
        }
        if (book.isLong) {
            const at = made("span", { className: "at" });
            at.setAttribute("aria-live", "polite");
            const turn = (by) => () => book.turn(book.first + by * ROWS_ON_PAGE);
            const [back, forth] = [made("button", { type: "button" }, "◂ rows before"), made("button", { type: "button" }, "next rows ▸")];
            back.addEventListener("click", turn(-1));
            forth.addEventListener("click", turn(1));
            book.tell = () => {
                const last = Math.min(book.first + ROWS_ON_PAGE, book.chosen.length);
                at.textContent = `rows ${book.chosen.length ? book.first + 1 : 0} to ${last} of ${book.chosen.length}`;
                back.disabled = book.first === 0;
                forth.disabled = last === book.chosen.length;
            };
            book.tell();
            tools.append(back, at, forth);
            const more = place.nextElementSibling;
            if (more && more.querySelector(".more")) more.remove();
        }
        const copy = made("button", { type: "button", className: "copy" }, "Copy as CSV");
        copy.addEventListener("click", () => {
            const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
            // Quotes text that spreadsheets would compute; a number may begin with a sign.
            const harmless = (text) => (/^[=+\-@\t]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text);
            const lines = [...table.querySelectorAll("thead tr"), ...book.chosen].map((row) =>
                [...row.children].filter((each) => !each.querySelector(".unfold, .unseen"))
                    .map((each) => cell(harmless(each.dataset.key ?? each.textContent.trim()))).join(","));
            window.ompassCopied = `${lines.join("\n")}\n`;
            const done = () => (copy.textContent = "Copied");
            navigator.clipboard?.writeText(window.ompassCopied).then(done, () => (copy.textContent = "Not allowed here"));
        });
        tools.append(copy);
        place.before(tools);
    }
    document.querySelectorAll(".table").forEach(equip);

    document.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        const book = books.get(button.closest("table"));
        const row = button.closest("tr");
        if (book && button.dataset.column !== undefined) book.sort(button.closest("th"), Number(button.dataset.column));
        else if (book && button.classList.contains("unfold"))
            setUnfolded(row, book.details.get(row), button.getAttribute("aria-expanded") !== "true");
    });
})();
