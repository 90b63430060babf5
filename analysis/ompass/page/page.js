// SPDX-License-Identifier: Apache-2.0
// What the reader can do on the page: switch light and dark, sort tables, unfold rows. Draws the figures when they come
// into sight. Without scripts the page is complete but for the figures.
"use strict";
(() => {
    const root = document.documentElement;
    const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
    const specs = JSON.parse(document.getElementById("figures").textContent);
    const drawn = new Set();

    const isDark = () => root.dataset.theme === "dark";

    // Legends of long names have a name a line, others three.
    function makeNarrow(colour, room) {
        if (!colour || !colour.legend || colour.type !== "nominal") return;
        const long = colour.legend.labelLimit > 200;
        Object.assign(colour.legend, { columns: long ? 1 : Math.min(colour.legend.columns || 3, room < 460 ? 2 : 3) });
        if (long) colour.legend.labelLimit = room - 40;
    }

    function draw(place) {
        const dark = isDark();
        const ink = dark ? "#e4e8ec" : "#1d2126";
        const spec = structuredClone(specs[place.id]);
        const room = Math.max(place.clientWidth, 240);
        const faceted = spec.encoding && spec.encoding.row; // its width is that of the bars alone
        spec.width = faceted ? Math.max(room - 140, 160) : room;
        Object.assign(spec.config, { title: { color: ink } });
        for (const part of ["axis", "legend", "header"])
            spec.config[part] = {
                ...spec.config[part], labelColor: ink, titleColor: ink, gridColor: dark ? "#59636e" : "#c5ccd4",
                domainColor: dark ? "#8a949e" : "#888888", tickColor: dark ? "#8a949e" : "#888888",
            };
        if (room < 560) {
            spec.config.axis.labelLimit = 110;
            for (const part of [spec, ...(spec.layer || [])])
                for (const channel of ["color", "stroke"]) makeNarrow(part.encoding && part.encoding[channel], room);
        }
        const options = {
            renderer: "svg",
            actions: { export: true, source: false, compiled: false, editor: false },
            tooltip: { theme: dark ? "dark" : "light" },
        };
        drawn.add(place);
        return window.vegaEmbed(place, spec, options).catch((error) => {
            place.textContent = `This figure could not be drawn: ${error.message}`;
        });
    }

    const inSight = new IntersectionObserver((entries) => {
        for (const entry of entries)
            if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
    }, { rootMargin: "300px" });
    const plots = [];
    function watch(root) {
        const found = [...root.querySelectorAll(".plot")].filter((place) => specs[place.id]);
        found.forEach((place) => inSight.observe(place));
        plots.push(...found);
    }
    watch(document);
    // Figures that came later.
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
    window.addEventListener("beforeprint", () => plots.filter((place) => !drawn.has(place)).forEach(draw));

    function setTheme(dark) {
        root.dataset.theme = dark ? "dark" : "light";
        document.getElementById("theme").setAttribute("aria-pressed", String(dark));
        [...drawn].forEach(draw);
    }
    setTheme(wantsDark.matches);
    wantsDark.addEventListener("change", (event) => setTheme(event.matches));
    document.getElementById("theme").addEventListener("click", () => setTheme(!isDark()));

    function setUnfolded(row, open) {
        const button = row.querySelector(".unfold");
        if (!button) return;
        button.setAttribute("aria-expanded", String(open));
        row.nextElementSibling.hidden = !open;
    }

    // Rows are sorted together with what unfolds below them.
    function sort(header, column) {
        const table = header.closest("table");
        const down = header.getAttribute("aria-sort") !== "descending";
        for (const each of table.querySelectorAll("thead th[aria-sort]")) each.setAttribute("aria-sort", "none");
        header.setAttribute("aria-sort", down ? "descending" : "ascending");
        const numeric = header.classList.contains("number");
        const key = (row) => row.children[column].dataset.key ?? "";
        const order = (a, b) => (numeric ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
        const body = table.tBodies[0];
        const rows = [...body.querySelectorAll("tr.row")].map((row) => [row, row.nextElementSibling]);
        rows.sort(([a], [b]) => (down ? -order(a, b) : order(a, b)));
        for (const [row, details] of rows) {
            body.append(row);
            if (details && details.classList.contains("details")) body.append(details);
        }
    }

    // A filter of the rows, where they are many, and the rows that are shown as CSV.
    function equip(place) {
        const table = place.querySelector("table");
        const rows = [...table.querySelectorAll("tbody > tr.row")];
        const tools = document.createElement("div");
        tools.className = "tools";
        if (rows.length > 2) {
            const filter = document.createElement("input");
            filter.type = "search";
            filter.placeholder = "filter rows";
            filter.setAttribute("aria-label", `Filter rows of ${place.getAttribute("aria-label")}`);
            filter.addEventListener("input", () => {
                const wanted = filter.value.toLowerCase();
                for (const row of rows) {
                    row.hidden = !row.textContent.toLowerCase().includes(wanted);
                    if (row.hidden) setUnfolded(row, false);
                }
            });
            tools.append(filter);
        }
        const copy = document.createElement("button");
        copy.type = "button";
        copy.textContent = "Copy as CSV";
        copy.addEventListener("click", () => {
            const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
            // A spreadsheet would compute what begins like this; numbers it may have.
            const harmless = (text) => (/^[=+\-@\t]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text);
            const shown = [...table.querySelectorAll("thead tr, tbody > tr.row")].filter((row) => !row.hidden);
            const lines = shown.map((row) =>
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
        if (button.dataset.column !== undefined) sort(button.closest("th"), Number(button.dataset.column));
        else if (button.classList.contains("unfold"))
            setUnfolded(button.closest("tr"), button.getAttribute("aria-expanded") !== "true");
    });
})();
