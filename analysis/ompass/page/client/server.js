// SPDX-License-Identifier: Apache-2.0
// Parts of the page that need a server: sections filled when they become visible, and a connection that lasts
// while the page is open.

function fillLater(section) {
    const run = Number(section.id.split("-").pop()) - 1;
    ask("part", { run, part: section.dataset.later })
        .then((reply) => reply.json())
        .then(({ markup, figures }) => {
            const made = document.createElement("div");
            made.innerHTML = markup; // from the server, which escapes every name
            const filled = made.firstElementChild;
            section.replaceWith(filled);
            window.ompassAdopt(filled, figures);
            startGraphs(filled);
        })
        .catch((error) => (section.querySelector(".note").textContent = error.message));
}

const laterInSight = new IntersectionObserver((entries) => {
    for (const entry of entries)
        if (entry.isIntersecting) {
            laterInSight.unobserve(entry.target);
            fillLater(entry.target);
        }
}, { rootMargin: "200px" });
document.querySelectorAll("section[data-later]").forEach((section) => laterInSight.observe(section));

async function stayAlive() {
    for (;;) {
        try {
            const reader = (await fetch("alive")).body.getReader();
            while (!(await reader.read()).done);
        } catch { /* the loop tries again */ }
        await new Promise((resolve) => setTimeout(resolve, 1000));
        if (stayAlive.failures++ > 5) return;
    }
}
stayAlive.failures = 0;
stayAlive();
