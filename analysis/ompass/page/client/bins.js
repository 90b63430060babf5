// SPDX-License-Identifier: Apache-2.0
// Source of the timeline's data: a local server (`ompass view`), or the page itself (`report --html`). Both
// provide tiles of 256 bins of 2^shift nanoseconds, with a column for each colour, and the state intervals of
// a window. The files of this directory form one program: page/assemble.py joins them.

const BINS_IN_TILE = 256;
const MOST_TILES = 4000; // kept although the last draws did not use them
const RETRY_MS = 2000; // from a failed request to the next one

class Bins {
    constructor(description) {
        this.description = description;
        this.tiles = new Map(); // by name, the least recently used first
        this.nDraws = 0;
        this.onload = () => {};
        this.problem = "";
    }

    columns(dimension) {
        const states = this.description.states.length;
        if (dimension === "absent") return 2 * states; // preempted and blocked time of each state
        return dimension === "state" ? states : this.description.dimensions[dimension].entries.length + states;
    }

    // Returns the time of each colour in `n` equal slices of [begin, end), summed over the parts of a row. A
    // coarser tile, if loaded, replaces a tile that has not arrived.
    fill(row, dimension, begin, end, n) {
        const values = new Float64Array(n * this.columns(dimension));
        for (const part of partsOf(row)) this.fillPart(part, dimension, begin, end, n, values);
        return values;
    }

    fillPart(row, dimension, begin, end, n, values) {
        const columns = this.columns(dimension);
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
    }

    // Distributes [from, to) of a tile over the `n` slices of [begin, end). The last bin ends with the run.
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
        this.use(name, tile);
        for (const [oldest, { draw }] of this.tiles) {
            // Keeps all tiles of the current view, which would otherwise request them again and again.
            if (this.tiles.size <= MOST_TILES || draw >= this.nDraws - 1) break;
            this.tiles.delete(oldest);
        }
    }

    // Returns a kept tile, which becomes the most recently used one; undefined if there is none.
    kept(name) {
        const tile = this.tiles.get(name);
        if (tile) this.use(name, tile);
        return tile;
    }

    use(name, tile) {
        tile.draw = this.nDraws;
        this.tiles.delete(name);
        this.tiles.set(name, tile);
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
    has() { return true; }
    // Returns the data of a layer of one run.
    async layer(name, run) { return (await ask(name, { run })).json(); }
    finest() { return 0; }

    tile(row, dimension, shift, index, fetched) {
        const name = `${row.id} ${dimension} ${shift} ${index}`;
        const tile = this.kept(name);
        if (tile || !fetched || this.loading.has(name)) return tile;
        const of = `${dimension} ${shift} ${index}`;
        if (!this.missing.has(of)) this.missing.set(of, { dimension, shift, index, rows: [] });
        this.missing.get(of).rows.push(row);
        this.loading.add(name); // requests the tile only once
        return undefined;
    }

    // Fetches the tiles that fill() has missed since the last call. Called after each draw.
    async load() {
        this.nDraws++;
        const missing = [...this.missing.values()];
        this.missing.clear();
        await Promise.all(missing.map((wanted) => this.loadTiles(wanted)));
    }

    // Fetches one tile of many rows, perhaps of several runs, in one request.
    async loadTiles({ dimension, shift, index, rows }) {
        const names = rows.map((row) => `${row.id} ${dimension} ${shift} ${index}`);
        try {
            const reply = await ask("tiles", {
                dimension, shift, first: index * BINS_IN_TILE, n: BINS_IN_TILE,
                rows: rows.map((row) => ({ run: row.run, threads: row.threads })),
            });
            const bytes = await reply.arrayBuffer();
            const all = reply.headers.get("X-Value") === "f8" ? new Float64Array(bytes) : new Uint32Array(bytes);
            const size = BINS_IN_TILE * this.columns(dimension);
            names.forEach((name, k) => this.keep(name, all.subarray(k * size, (k + 1) * size)));
            this.problem = "";
        } catch (error) {
            this.problem = `The server does not answer: ${error.message}`;
            this.onload();
            await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        } finally {
            names.forEach((name) => this.loading.delete(name));
        }
        this.onload();
    }

    // Returns the state intervals in the window by thread. If they are not loaded, requests them and returns null.
    intervals(run, threads, begin, end) {
        const known = this.windows.get(run);
        const span = end - begin;
        const isIn = known && known.begin <= begin && end <= known.end && threads.every((thread) => known.threads.has(thread));
        // If a window has too many intervals to load, a part of it may have few enough.
        if (isIn && (known.byThread || 4 * span > known.end - known.begin)) return known.byThread;
        const window = {
            run, threads, begin: Math.max(Math.floor(begin - span / 2), 0), end: Math.ceil(end + span / 2),
        };
        const wanted = JSON.stringify(window);
        if (!known || known.wanted !== wanted) this.loadIntervals(window, wanted);
        return null;
    }

    async loadIntervals(window, wanted) {
        this.windows.set(window.run, { wanted, begin: 0, end: 0, threads: new Set(), byThread: null });
        try {
            const found = await (await ask("intervals", window)).json();
            if (this.windows.get(window.run)?.wanted !== wanted) return; // the window has changed since
            this.windows.set(window.run, {
                wanted, begin: window.begin, end: window.end, threads: new Set(window.threads),
                byThread: found && intervalsByThread(found),
            });
            this.onload();
        } catch {
            if (this.windows.get(window.run)?.wanted === wanted) this.windows.delete(window.run);
        }
    }

    // Returns a task that runs on `thread` at `at`, with its predecessors and successors.
    async links(run, task, thread, at) { return rowsOf(await (await ask("links", { run, task, thread, at })).json()); }
    // Returns the state interval of each of these threads at a moment.
    async moment(run, threads, at) { return rowsOf(await (await ask("moment", { run, threads, at })).json()); }
    // Returns the source around a construct; null if it was not found.
    async excerpt(run, construct) { return (await ask("excerpt", { run, construct })).json(); }
}

class BakedBins extends Bins {
    constructor(description, baked) {
        super(description);
        this.runs = baked.runs.map((run) => ({
            ...run,
            place: new Map(run.threads.map((thread, k) => [thread, k])),
            values: Object.fromEntries(Object.entries(run.tiles).map(([name, text]) => [name, decode16(text)])),
            byThread: run.intervals && intervalsByThread(run.intervals),
            dependences: run.dependences || [],
        }));
        this.excerpts = baked.excerpts || {};
    }

    get isServed() { return false; }
    has(name) { return this.runs.some((run) => run[name] && run[name].length); }
    async layer(name, run) { return this.runs[run][name]; }
    finest(run) { return this.runs[run].shift; }
    load() { this.nDraws++; }
    intervals(run) { return this.runs[run].byThread; }

    async links(run, task) {
        const { byThread, dependences } = this.runs[run];
        const others = [[0, task]];
        for (const [before, after] of dependences)
            if (after === task) others.push([1, before]);
            else if (before === task) others.push([2, after]);
        return others.map(([role, id]) => {
            const own = [...byThread.values()].flat().filter((each) => each.task === id).sort((a, b) => a.begin - b.begin);
            const [first, last] = [own[0] || {}, own[own.length - 1] || {}];
            return {
                role, task: id, construct: first.construct || 0, start_thread: first.thread || 0, end_thread: last.thread || 0,
                created_ns: first.created || 0, start_ns: first.start || 0, end_ns: last.end || 0,
            };
        });
    }
    async moment(run, threads, at) {
        const at_moment = threads.map((thread) => (this.runs[run].byThread.get(thread) || []).find((each) => each.begin <= at && at < each.end));
        return at_moment.filter(Boolean).map((each) => ({
            ...each, begin_ns: each.begin, end_ns: each.end, start_ns: each.start, wait_kind: each.waitKind,
            wait_place: each.waitPlace, waited_for: each.waitedFor, wait_begin_ns: each.waitBegin, wait_end_ns: each.waitEnd,
        }));
    }
    async excerpt(run, construct) { return this.excerpts[`${run}.${construct}`] || null; }

    tile(row, dimension, shift, index) {
        const name = `${row.id} ${dimension} ${shift} ${index}`;
        let tile = this.kept(name);
        if (tile) return tile;
        const run = this.runs[row.run];
        const columns = this.columns(dimension);
        const values = run.values[dimension];
        const scale = 2 ** run.shift / 65535;
        const by = shift - run.shift;
        tile = new Float64Array(BINS_IN_TILE * columns);
        const origin = index * BINS_IN_TILE * 2 ** by - run.first; // the tile's first bin within the run's bins
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

// Returns the single-run rows that make up a row: the row itself, or the rows below it.
const partsOf = (row) => (row.run === undefined ? row.rows.flatMap(partsOf) : [row]);
const threadsIn = (row) => partsOf(row).reduce((sum, part) => sum + part.threads.length, 0);

// Converts columns to objects, one for each row.
function rowsOf(columns) {
    const names = Object.keys(columns);
    return columns[names[0]].map((_, k) => Object.fromEntries(names.map((name) => [name, columns[name][k]])));
}

// Returns the state intervals of each thread, each with its off-CPU parts.
function intervalsByThread(columns) {
    const byThread = new Map();
    let last = null;
    for (let k = 0; k < columns.thread.length; k++) {
        const thread = columns.thread[k];
        if (columns.absent[k]) {
            if (last) last.offCpu.push({ begin: columns.begin_ns[k], end: columns.end_ns[k], blocked: columns.absent[k] === 2 });
            continue;
        }
        if (!byThread.has(thread)) byThread.set(thread, []);
        last = {
            thread, state: columns.state[k], construct: columns.construct[k], home: columns.home[k],
            depth: columns.depth[k], task: columns.task[k], begin: columns.begin_ns[k], end: columns.end_ns[k],
            created: columns.created_ns[k], ready: columns.ready_ns[k], start: columns.start_ns[k], offCpu: [],
            waitKind: columns.wait_kind[k], waitPlace: columns.wait_place[k], waitedFor: columns.waited_for[k],
            waitBegin: columns.wait_begin_ns[k], waitEnd: columns.wait_end_ns[k],
        };
        byThread.get(thread).push(last);
    }
    return byThread;
}

// Sends a question to the server that delivered this page. Returns its reply; throws an error if it refuses.
async function ask(what, question) {
    const reply = await fetch(what, { method: "POST", body: JSON.stringify(question), headers: { "Content-Type": "application/json" } });
    if (!reply.ok) throw new Error((await reply.text()) || reply.statusText);
    return reply;
}
