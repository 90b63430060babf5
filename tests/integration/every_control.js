// SPDX-License-Identifier: Apache-2.0
// Lists the controls of a page and their uses, for test_every_control.py, which puts selectors in the place of
// SELECTORS. A control is an element that a reader can press, fill or focus, or one with a listener. Elements inside
// figures do not count, except for the figure's menu.
(() => {
    const pressed = "button, input, select, textarea, summary, a[href], [tabindex='0'], [role=button], canvas";
    const areas = [".of-table", ".flame", ".graph", "#timeline"];
    const selectors = SELECTORS;
    const types = [
        "click", "dblclick", "input", "change", "keydown", "submit", "wheel", "focus",
        "mousedown", "pointerdown", "pointermove", "pointerup", "pointerleave",
    ];
    const listening = new Map(); // types of events by element
    const used = {}; // types of events by kind of control
    const listen = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (type, ...more) {
        if (this instanceof Element) listening.set(this, (listening.get(this) || new Set()).add(type));
        return listen.call(this, type, ...more);
    };

    const isControl = (it) =>
        it.isConnected && (listening.has(it) || it.matches(pressed)) && !it.matches(".plot, .plot *:not(summary, a)");
    const name = (it) => it.ariaLabel || it.title || it.textContent.trim();
    const kind = (it) =>
        selectors.find((selector) => it.matches(selector)) ||
        `${areas.find((area) => it.closest(area)) || ""} ${it.localName} "${name(it)}"`;

    for (const type of types)
        listen.call(window, type, ({ isTrusted, target }) => {
            for (let it = target; isTrusted && it instanceof Element; it = it.parentElement)
                if (isControl(it)) (used[kind(it)] ||= {})[type] = true;
        }, { capture: true });

    window.ompassControls = {
        used,
        // Returns the types of events to which each kind of control listens.
        all() {
            const found = {};
            for (const it of [...document.querySelectorAll("*")].filter(isControl)) {
                found[kind(it)] ||= {};
                for (const type of listening.get(it) || []) found[kind(it)][type] = true;
            }
            return found;
        },
        // Returns the first visible control of a kind that is not disabled.
        first(wanted) {
            const all = [...document.querySelectorAll("*")].filter((it) => isControl(it) && kind(it) === wanted);
            return all.find((it) => !it.disabled && it.checkVisibility() && it.getClientRects().length);
        },
    };
})();
