// SPDX-License-Identifier: Apache-2.0
// Parts of the page that need a server: sections filled when they become visible, and a connection that lasts
// while the page is open.

function fillLater(section) {
    ask("part", partOf(section)).then((reply) => reply.json()).then((part) => fill(section, part))
        .catch((error) => (section.querySelector(".note").textContent = error.message));
}

function partOf(section) { return { run: Number(section.id.split("-").pop()) - 1, part: section.dataset.later }; }

function fill(section, { markup, figures }) {
    if (!section.isConnected) return; // filled before printing
    const made = document.createElement("div");
    made.innerHTML = markup; // from the server, which escapes every name
    const filled = made.firstElementChild;
    section.replaceWith(filled);
    window.ompassAdopt(filled, figures);
    startGraphs(filled);
    startFlames(filled);
}

// Fills all other sections before the page is printed. Printing does not wait for promises, so these requests block.
window.addEventListener("beforeprint", () => {
    for (const section of document.querySelectorAll("section[data-later]"))
        try {
            fill(section, JSON.parse(askNow("POST", "part", JSON.stringify(partOf(section)))));
        } catch (error) {
            section.querySelector(".note").textContent = error.message;
        }
    window.ompassDrawFigures();
});

const laterInSight = new IntersectionObserver((entries) => {
    for (const entry of entries)
        if (entry.isIntersecting) {
            laterInSight.unobserve(entry.target);
            fillLater(entry.target);
        }
}, { rootMargin: "200px" });
document.querySelectorAll("section[data-later]").forEach((section) => laterInSight.observe(section));

// Adds the figures of each run's head that need its task graph.
for (const tiles of document.querySelectorAll(".tiles[data-bounds]")) {
    const run = Number(tiles.closest("article").id.split("-").pop()) - 1;
    ask("bounds", { run }).then((reply) => reply.json())
        .then(({ markup }) => tiles.insertAdjacentHTML("beforeend", markup)) // from the server, which escapes every name
        .catch(() => {}); // a profile has no graph
}

const MOST_FAILURES = 6; // in a row

// Keeps a connection open while the page is open. A connection that delivers data resets the count of failures, so the
// page reconnects whenever a laptop wakes up.
async function stayAlive(pause = 1000) {
    for (let failures = 0; failures <= MOST_FAILURES; failures++) {
        try {
            const reader = (await fetch("alive")).body.getReader();
            while (!(await reader.read()).done) failures = 0;
        } catch { /* the loop tries again */ }
        await new Promise((resolve) => setTimeout(resolve, pause));
    }
}
stayAlive();
