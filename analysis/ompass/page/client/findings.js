// SPDX-License-Identifier: Apache-2.0
// The cards of findings: "show" colours the timeline by the finding's construct, marks its tasks or waits, and
// opens the source at its line.

function showFinding(button) {
    const timeline = window.ompassTimeline;
    const wanted = JSON.parse(button.dataset.show);
    const shown = button.getAttribute("aria-pressed") === "true";
    document.querySelectorAll("[data-show]").forEach((each) => each.setAttribute("aria-pressed", "false"));
    const source = button.closest(".card").querySelector("details");
    if (source) source.open = !shown;
    if (shown) return timeline.mark(null);
    button.setAttribute("aria-pressed", "true");
    timeline.mark(wanted);
    timeline.place.scrollIntoView({ block: "start", behavior: "instant" });
    return timeline.canvas.focus({ preventScroll: true });
}

for (const button of document.querySelectorAll("[data-show]")) {
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => showFinding(button));
}
