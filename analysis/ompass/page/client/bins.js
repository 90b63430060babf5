// SPDX-License-Identifier: Apache-2.0
// Where the timeline's data comes from: a local server (`ompass view`), or the page itself (`report --html`). Both give
// tiles of 256 bins of 2^shift nanoseconds, with a column for each colour, and the stretches of a window one by one.
// The files of this folder are one program: page/assemble.py joins them.

const BINS_IN_TILE = 256;
const MOST_TILES = 4000;

class Bins {
    constructor(description) {
        this.description = description;
        this.tiles = new Map(); // by name, least recently used first
        this.onload = () => {};
        this.problem = "";
    }

    columns(dimension) {
        const states = this.description.states.length;
        return dimension === "state" ? states : this.description.dimensions[dimension].entries.length + states;
    }

    // Sums of [begin, end) of a row in `n` columns of equal length. Where a tile has not come yet, a coarser one stands
    // in for it, or nothing.
    fill(row, dimension, begin, end, n) {
        const columns = this.columns(dimension);
        const values = new Float64Array(n * columns);
        const wanted = Math.max(Math.floor(Math.log2(Math.max((end - begin) / n, 1))), this.finest(row.run));
        const last = Math.min(end, this.description.runs[row.run].end);
        let time = Math.max(begin, 0);
        while (time < last) {
            let shift = wanted;
            let index = Math.floor(time / (BINS_IN_TILE * 2 ** shift));
            let tile = this.tile(row, dimension, shift, index, true);
            for (let coarser = 1; !tile && coarser <= 12; coarser++) {
                index = Math.floor(time / (BINS_IN_TILE * 2 ** (wanted + coarser)));
                tile = this.tile(row, dimension, wanted + coarser, index, false);
                if (tile) shift = wanted + coarser;
            }
            const wantedEnd = (Math.floor(time / (BINS_IN_TILE * 2 ** wanted)) + 1) * BINS_IN_TILE * 2 ** wanted;
            if (tile) this.add(tile, index, shift, columns, Math.max(time, begin), Math.min(wantedEnd, last), begin, end, values, n, this.description.runs[row.run].end);
            time = wantedEnd;
        }
        return values;
    }

    // The part of a tile in [from, to), shared out over the columns of [begin, end). The last bin ends with the run.
    add(tile, index, shift, columns, from, to, begin, end, values, n, endOfRun) {
        const length = 2 ** shift;
        const origin = index * BINS_IN_TILE;
        const perColumn = (end - begin) / n;
        for (let bin = Math.floor(from / length); bin * length < to; bin++) {
            const low = Math.max(bin * length, from);
            const high = Math.min((bin + 1) * length, to);
            const place = (bin - origin) * columns;
            if (place < 0 || place >= tile.length) continue;
            const firstColumn = Math.max(Math.floor((low - begin) / perColumn), 0);
            for (let column = firstColumn; column < n; column++) {
                const columnLow = begin + column * perColumn;
                if (columnLow >= high) break;
                const part = (Math.min(high, columnLow + perColumn) - Math.max(low, columnLow)) / (Math.min((bin + 1) * length, endOfRun) - bin * length);
                if (part <= 0) continue;
                for (let k = 0; k < columns; k++) values[column * columns + k] += tile[place + k] * part;
            }
        }
    }

    keep(name, tile) {
        this.tiles.delete(name);
        this.tiles.set(name, tile);
        if (this.tiles.size > MOST_TILES) this.tiles.delete(this.tiles.keys().next().value);
    }
}

class ServedBins extends Bins {
    constructor(description) {
        super(description);
        this.missing = new Map();
        this.loading = new Set();
        this.windows = new Map();
    }

    get isServed() { return true; }
    finest() { return 0; }

    tile(row, dimension, shift, index, fetched) {
        const name = `${row.id} ${dimension} ${shift} ${index}`;
        const tile = this.tiles.get(name);
        if (tile || !fetched || this.loading.has(name)) return tile;
        const of = `${row.run} ${dimension} ${shift} ${index}`;
        if (!this.missing.has(of)) this.missing.set(of, { run: row.run, dimension, shift, index, rows: [] });
        this.missing.get(of).rows.push(row);
        return undefined;
    }

    // Fetches what fill() found missing since the last time.
    async load() {
        const missing = [...this.missing.values()];
        this.missing.clear();
        await Promise.all(missing.map((wanted) => this.loadTile(wanted)));
    }

    async loadTile({ run, dimension, shift, index, rows }) {
        const names = rows.map((row) => `${row.id} ${dimension} ${shift} ${index}`);
        names.forEach((name) => this.loading.add(name));
        try {
            const reply = await ask("tile", {
                run, dimension, shift, first: index * BINS_IN_TILE, n: BINS_IN_TILE, rows: rows.map((row) => row.threads),
            });
            const bytes = await reply.arrayBuffer();
            const all = reply.headers.get("X-Value") === "f8" ? new Float64Array(bytes) : new Uint32Array(bytes);
            const size = BINS_IN_TILE * this.columns(dimension);
            names.forEach((name, k) => this.keep(name, all.subarray(k * size, (k + 1) * size)));
            this.problem = "";
        } catch (error) {
            this.problem = `The server does not answer: ${error.message}`;
        } finally {
            names.forEach((name) => this.loading.delete(name));
        }
        this.onload();
    }

    // The stretches of these threads in the window by thread, as far as they are here; asks for them otherwise.
    stretches(run, threads, begin, end) {
        const known = this.windows.get(run);
        if (known && known.begin <= begin && end <= known.end && threads.every((thread) => known.threads.has(thread)))
            return known.byThread;
        const span = end - begin;
        const window = {
            run, threads, begin: Math.max(Math.floor(begin - span / 2), 0), end: Math.ceil(end + span / 2),
        };
        const wanted = JSON.stringify(window);
        if (!known || known.wanted !== wanted) this.loadStretches(window, wanted);
        return null;
    }

    async loadStretches(window, wanted) {
        this.windows.set(window.run, { wanted, begin: 0, end: 0, threads: new Set(), byThread: null });
        try {
            const found = await (await ask("stretches", window)).json();
            if (this.windows.get(window.run).wanted !== wanted) return; // the reader has gone on
            this.windows.set(window.run, {
                wanted, begin: window.begin, end: window.end, threads: new Set(window.threads),
                byThread: found && stretchesByThread(found),
            });
            this.onload();
        } catch {
            this.windows.delete(window.run);
        }
    }
}

class BakedBins extends Bins {
    constructor(description, baked) {
        super(description);
        this.runs = baked.runs.map((run) => ({
            ...run,
            place: new Map(run.threads.map((thread, k) => [thread, k])),
            values: Object.fromEntries(Object.entries(run.tiles).map(([name, text]) => [name, decode16(text)])),
            byThread: run.stretches && stretchesByThread(run.stretches),
        }));
    }

    get isServed() { return false; }
    finest(run) { return this.runs[run].shift; }
    load() {}
    stretches(run) { return this.runs[run].byThread; }

    tile(row, dimension, shift, index) {
        const name = `${row.id} ${dimension} ${shift} ${index}`;
        let tile = this.tiles.get(name);
        if (tile) return tile;
        const run = this.runs[row.run];
        const columns = this.columns(dimension);
        const values = run.values[dimension];
        const scale = 2 ** run.shift / 65535;
        const by = shift - run.shift;
        tile = new Float64Array(BINS_IN_TILE * columns);
        const origin = index * BINS_IN_TILE * 2 ** by - run.first; // of the tile, in bins that are here
        const end = Math.min(origin + BINS_IN_TILE * 2 ** by, run.n);
        for (const thread of row.threads) {
            const base = run.place.get(thread) * run.n;
            for (let bin = Math.max(origin, 0); bin < end; bin++) {
                const to = Math.floor((bin - origin) / 2 ** by) * columns;
                for (let k = 0; k < columns; k++) tile[to + k] += values[(base + bin) * columns + k] * scale;
            }
        }
        this.keep(name, tile);
        return tile;
    }
}

function decode16(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Uint16Array(bytes.buffer);
}

function stretchesByThread(columns) {
    const byThread = new Map();
    for (let k = 0; k < columns.thread.length; k++) {
        const thread = columns.thread[k];
        if (!byThread.has(thread)) byThread.set(thread, []);
        byThread.get(thread).push({
            thread, state: columns.state[k], construct: columns.construct[k], home: columns.home[k],
            depth: columns.depth[k], task: columns.task[k], begin: columns.begin_ns[k], end: columns.end_ns[k],
            created: columns.created_ns[k], ready: columns.ready_ns[k], start: columns.start_ns[k],
        });
    }
    return byThread;
}

// To the server that brought this page, and to no other.
async function ask(what, question) {
    const reply = await fetch(what, { method: "POST", body: JSON.stringify(question), headers: { "Content-Type": "application/json" } });
    if (!reply.ok) throw new Error((await reply.text()) || reply.statusText);
    return reply;
}
