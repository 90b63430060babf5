// SPDX-License-Identifier: Apache-2.0
// The strip below the threads while the timeline is zoomed: the whole run, with a frame around the visible
// window. A drag moves the window. The strip is not above the threads, because they would move under the pointer when
// it appears.

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
