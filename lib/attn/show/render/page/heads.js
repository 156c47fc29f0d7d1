// A model's page: a small picture of the weights of every head in every layer, which opens the walk
// through its layer.

/** The layers of a model; the walk of a layer is parsed when it is first used. */
class Model {
    name = "";
    tokens = 0;
    /** @type {any[]} */
    heads = [];
    /** @type {Walk[]} */
    walks = [];

    constructor(text) {
        const { model, ids, heads } = JSON.parse(text);
        Object.assign(this, { name: model, tokens: ids.length, heads });
        this.layers = heads.at(-1).layer + 1;
        this.perLayer = heads.filter((head) => head.layer === 0).length;
    }
    walk(layer) {
        return (this.walks[layer] ??= new Walk(`layer-${layer}-`));
    }
    weights(layer) {
        return this.walk(layer).byName.get("weights");
    }
}

/** The figures below the picture of a head: name and meaning. */
const figures = {
    entropy: ["entropy", "how widely a row is spread: 0 for one word, more for many"],
    self: ["itself", "the weight of a word on itself, on average"],
    previous: ["previous", "the weight on the word before"],
    first: ["first", "the weight on the first word"],
    sink: ["sink", "the weight on no word at all"],
};

function figuresOf(head) {
    const told = Object.keys(figures).filter((key) => key !== "sink" || head.sink > 1e-9);
    return told.map((key) => `${figures[key][0]} ${fixed(head[key], 2)}`);
}

/** Returns the colours of the scale in the current style. */
function scaleColors(levels) {
    const probe = frame.appendChild(element("i", { hidden: true }));
    const colors = times(levels, (level) => {
        probe.className = `s${level}`;
        return getComputedStyle(probe).backgroundColor.match(/\d+/g).map(Number);
    });
    probe.remove();
    return colors;
}

/** Draws the weights of one head from 0 to 1, one pixel each; rows other than `row` fade. */
function drawHead(canvas, section, head, colors, row) {
    const [rows, columns] = section.shape.slice(-2);
    Object.assign(canvas, { width: columns, height: rows });
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(columns, rows);
    const paper = getComputedStyle(frame).backgroundColor.match(/\d+/g).slice(0, 3).map(Number);
    for (let i = 0; i < rows * columns; ++i) {
        const flat = head * rows * columns + i;
        const share = clipped(section.values[flat], 0);
        const fades = row !== undefined && Math.floor(i / columns) !== row;
        const color = colors[Math.round(share * (colors.length - 1))];
        pixels.data.set(section.hides(flat) ? paper : color, 4 * i);
        pixels.data[4 * i + 3] = fades ? 50 : 255;
    }
    context.putImageData(pixels, 0, 0);
}

/** The table of all heads. */
class Overview {
    constructor(app) {
        this.app = app;
        this.model = app.model;
        this.words = times(this.model.tokens, (i) => this.model.weights(0).label(1, i, [0, i, 0]));
        this.tiles = new Map(this.model.heads.map((head) => [head, this.tile(head)]));
        /** @type {Set<Element>} */
        this.seen = new Set();
        this.sort = "";
        this.name = "";
        this.row = undefined;
        this.rowShown = undefined;
        this.table = element("table.heads", { onkeydown: (event) => this.onKey(event) });
        const label = "layers and heads";
        const parts = [this.sentence(), this.choices(), this.meaning()];
        const scroll = element("div.scroll", this.table);
        const legend = element("p.legend", "weight 0", scaleBar("s", app.levels), "1");
        this.lens = element("figure.lens", { hidden: true });
        this.element = element("main", { id: "heads-of-model", "aria-label": label }, parts);
        this.element.append(legend, element("div.beside", scroll, this.lens));
        this.watch();
        this.arrange();
    }

    // --- the walks of layers

    /** Shows the walk through a layer. */
    turnLayer(layer, head) {
        const { app } = this;
        frame.classList.remove("closed");
        app.walk = app.model.walk(layer);
        app.layer = layer;
        app.tabs.chosen.head = head;
        app.makeWalk();
        app.clear();
        this.mark(layer, head);
    }

    /** Opens a layer at the word that looks; a layer too large for this page at its weights. */
    openLayer(layer, head) {
        const { strip, state, steps } = this.app;
        this.turnLayer(layer, head);
        if (strip.roles) this.app.follow({ query: state.query });
        else steps.open(steps.parts.get("weights"));
        if (strip.roles) strip.element.scrollIntoView({ block: "start", behavior: "instant" });
        firstStop(this.app)?.focus({ preventScroll: true });
    }

    // --- selection and order

    /** Returns the words of the text: pointing at one highlights its row in all pictures. */
    sentence() {
        const word = (label, i) => {
            const about = { class: "word", dir: "auto", "aria-pressed": "false" };
            const made = button(shortened(label, 14), () => this.follow(i === this.row ? undefined : i), about);
            made.addEventListener("pointerenter", () => this.showRow(i));
            made.addEventListener("pointerleave", () => this.showRow(this.row));
            return element("li", made);
        };
        return element("ol.sentence", this.words.map(word));
    }
    follow(row) {
        this.row = row;
        const press = (word, i) => word.setAttribute("aria-pressed", String(i === row));
        this.element.querySelectorAll(".word").forEach(press);
        this.showRow(row);
    }
    showRow(row) {
        this.rowShown = row;
        this.draw();
    }

    choices() {
        const keys = Object.entries(figures).map(([key, [word]]) => [key, word]);
        const names = [...new Set(this.model.heads.map((head) => head.name).filter(Boolean))];
        const select = (label, how, pairs) => {
            const onchange = (event) => {
                this[how] = event.target.value;
                this.arrange();
            };
            return element("label", label, choiceOf(pairs, { onchange }));
        };
        const sort = select("in the order of ", "sort", [["", "layers"], ...keys]);
        const shown = names.map((name) => [name, name]);
        return element("p.choose", sort, select(" show ", "name", [["", "all heads"], ...shown]));
    }

    meaning() {
        const told = Object.values(figures).flatMap(([word, means]) => [element("dt", word), element("dd", means)]);
        const names = "named after where more than half of the weight goes; uniform: everywhere";
        return element("details.meaning", element("summary", "what the figures mean"), element("dl", told), element("p", names));
    }

    /** Arranges the pictures: one row per layer, or sorted by a figure. */
    arrange() {
        const { sort, name, model } = this;
        const heads = model.heads.filter((head) => !name || head.name === name);
        if (sort) heads.sort((a, b) => b[sort] - a[sort]);
        const isGrid = !sort && !name;
        const rows = times(Math.ceil(heads.length / model.perLayer), (r) => {
            const own = heads.slice(r * model.perLayer, (r + 1) * model.perLayer);
            const first = r * model.perLayer + 1;
            const title = isGrid ? `layer ${r}` : `${first} to ${first + own.length - 1}`;
            const tiles = own.map((head) => element("td", this.tiles.get(head)));
            return element("tr", { "data-layer": r }, element("th", { scope: "row" }, title), tiles);
        });
        const words = "the weights of each head: queries down, keys across";
        const columns = isGrid ? times(model.perLayer, (i) => element("th", { scope: "col" }, `head ${i}`)) : [];
        const head = element("thead", element("tr", element("td"), columns));
        this.table.replaceChildren(element("caption", words), head, element("tbody", rows));
        for (const tile of this.tiles.values()) tile.tabIndex = -1;
        const first = this.table.querySelector(".tile[aria-current]") ?? this.table.querySelector(".tile");
        if (first) first.tabIndex = 0;
    }

    tile(head) {
        const place = `layer ${head.layer}, head ${head.head}`;
        const lines = figuresOf(head).flatMap((text) => [" ", element("small", text)]);
        const label = [place, head.name, ...figuresOf(head)].filter(Boolean).join(" ");
        const about = { class: "tile", "data-head": `${head.layer}.${head.head}`, "aria-label": label, title: place };
        const tile = button("", () => this.openLayer(head.layer, head.head), about);
        tile.append(element("canvas", { width: 1, height: 1 }), element("b", head.name || "\u00a0"), ...lines);
        tile.append(element("small.looks"));
        for (const event of ["pointerenter", "focus"]) tile.addEventListener(event, () => this.showLens(head));
        return tile;
    }

    // --- the pictures

    /** Draws each head when it becomes visible, and again when the colours change. */
    watch() {
        const observer = new IntersectionObserver(
            (entries) => {
                const isNew = ({ isIntersecting, target }) => isIntersecting && !this.seen.has(target);
                const fresh = entries.filter(isNew).map((entry) => entry.target);
                for (const tile of fresh) this.seen.add(tile);
                if (fresh.length > 0) this.draw(fresh);
            },
            { rootMargin: "300px" },
        );
        for (const tile of this.tiles.values()) observer.observe(tile);
        for (const media of ["(prefers-color-scheme: dark)", "print"]) {
            matchMedia(media).addEventListener("change", () => this.draw());
        }
        addEventListener("beforeprint", () => this.draw([...this.tiles.values()]));
    }

    draw(tiles = [...this.seen]) {
        const colors = scaleColors(this.app.levels);
        for (const [head, tile] of this.tiles) {
            if (!tiles.includes(tile)) continue;
            const weights = this.model.weights(head.layer);
            drawHead(tile.querySelector("canvas"), weights, head.head, colors, this.rowShown);
            tile.querySelector(".looks").textContent = this.looksText(weights, head.head);
        }
    }

    /** Names the key with the largest weight for the highlighted word. */
    looksText(weights, head) {
        if (this.rowShown === undefined) return "";
        const columns = weights.shape.at(-1);
        const start = (head * weights.shape.at(-2) + this.rowShown) * columns;
        const row = weights.values.slice(start, start + columns);
        const most = row.indexOf(largestOf([...row]));
        return `→ ${shortened(this.words[most] ?? "", 10)} ${fixed(row[most], 2)}`;
    }

    /** Enlarges one head, with the words along its edges. */
    showLens(head) {
        if (!isWide.matches || this.words.length > 40) return;
        const canvas = element("canvas");
        drawHead(canvas, this.model.weights(head.layer), head.head, scaleColors(this.app.levels), this.rowShown);
        const edge = (name) => element(`ol.${name}`, this.words.map((word) => element("li", { dir: "auto" }, shortened(word, 10))));
        const caption = element("figcaption", `layer ${head.layer}, head ${head.head}${head.name ? ": " + head.name : ""}`);
        this.lens.replaceChildren(caption, edge("across"), edge("down"), canvas);
        this.lens.hidden = false;
    }

    // --- the position

    at(layer, head) {
        return this.table.querySelector(`[data-head="${layer}.${head}"]`);
    }

    /** Marks the head whose layer is open; Tab reaches this one. */
    mark(layer, head) {
        for (const tile of this.table.querySelectorAll(".tile")) {
            const open = tile === this.at(layer, head);
            tile.tabIndex = open ? 0 : -1;
            open ? tile.setAttribute("aria-current", "true") : tile.removeAttribute("aria-current");
        }
    }

    focus() {
        this.element.scrollIntoView({ block: "start" });
        this.table.querySelector('.tile[tabindex="0"]')?.focus({ preventScroll: true });
    }

    onKey(event) {
        const tile = event.target.closest(".tile");
        if (!tile || event.altKey || event.ctrlKey || event.metaKey) return;
        const next = neighbour(tile.closest("td"), event.key)?.querySelector(".tile");
        if (!next) return;
        event.preventDefault();
        tile.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
    }
}
