// A model's page: every head of every layer as a small picture of its weights, each of which opens
// the walk through its layer.

/** The layers of a model; the walk of each is read when it is first looked at. */
class Model {
    constructor(text) {
        const { model, ids, heads } = JSON.parse(text);
        Object.assign(this, { name: model, tokens: ids.length, heads });
        this.layers = heads.at(-1).layer + 1;
        this.walks = [];
    }
    walk(layer) {
        return (this.walks[layer] ??= new Walk(`layer-${layer}-`));
    }
    of(layer) {
        return this.heads.filter((head) => head.layer === layer);
    }
}

/** What is said of a head below its picture. */
function figuresOf(head) {
    const figures = [
        ["entropy", head.entropy],
        ["itself", head.self],
        ["previous", head.previous],
        ["first", head.first],
    ];
    if (head.sink > 1e-9) figures.push(["sink", head.sink]);
    return figures.map(([word, number]) => `${word} ${fixed(number, 2)}`);
}

/** The colours of the scale in the style that applies now. */
function scaleColors(levels) {
    const probe = frame.appendChild(element("i", { hidden: true }));
    const colors = [];
    for (let level = 0; level < levels; ++level) {
        probe.className = `s${level}`;
        colors.push(getComputedStyle(probe).backgroundColor.match(/\d+/g).map(Number));
    }
    probe.remove();
    return colors;
}

/** Draws the weights of one head, a pixel each, from 0 to 1. */
function drawHead(canvas, section, head, colors) {
    const [rows, columns] = section.shape.slice(-2);
    Object.assign(canvas, { width: columns, height: rows });
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(columns, rows);
    for (let i = 0; i < rows * columns; ++i) {
        const weight = section.values[head * rows * columns + i];
        const share = Number.isFinite(weight) ? Math.min(Math.max(weight, 0), 1) : 0;
        pixels.data.set(colors[Math.round(share * (colors.length - 1))], 4 * i);
        pixels.data[4 * i + 3] = 255;
    }
    context.putImageData(pixels, 0, 0);
}

/** The table of all heads. */
class Overview {
    constructor(app) {
        this.app = app;
        this.model = app.model;
        this.table = element("table", { class: "heads" });
        this.table.append(
            element(
                "caption",
                {},
                "the weights of each head: a row a layer; in a picture queries go down, keys across",
            ),
            this.heading(),
            element("tbody", {}, ...this.rows()),
        );
        this.table.querySelector(".tile").tabIndex = 0;
        this.table.addEventListener("keydown", (event) => this.onKey(event));
        const bar = element("span", { class: "bar", "aria-hidden": "true" });
        const legend = element("p", { class: "legend" }, "weight 0", bar, "1");
        for (let level = 0; level < app.levels; level += 2) {
            bar.append(element("i", { class: `s${level}` }));
        }
        this.element = element(
            "section",
            { id: "heads-of-model", "aria-label": "layers and heads" },
            element("div", { class: "scroll" }, this.table),
            legend,
        );
        this.watch();
    }

    heading() {
        const row = element("tr", {}, element("td"));
        for (const { head } of this.model.of(0)) {
            row.append(element("th", { scope: "col" }, `head ${head}`));
        }
        return element("thead", {}, row);
    }

    rows() {
        return Array.from({ length: this.model.layers }, (_, layer) =>
            element(
                "tr",
                { "data-layer": layer },
                element("th", { scope: "row" }, `layer ${layer}`),
                ...this.model.of(layer).map((head) => element("td", {}, this.tile(head))),
            ),
        );
    }

    tile(head) {
        const figures = figuresOf(head);
        return element(
            "button",
            {
                type: "button",
                class: "tile",
                tabindex: -1,
                "data-head": `${head.layer}.${head.head}`,
                "aria-label": [`layer ${head.layer}, head ${head.head}`, head.name, ...figures]
                    .filter(Boolean)
                    .join(", "),
                onclick: () => this.app.openLayer(head.layer, head.head),
            },
            element("canvas", { width: 1, height: 1 }),
            element("b", {}, head.name || "\u00a0"),
            ...figures.map((text) => element("small", {}, text)),
        );
    }

    /** Draws each layer when it comes into sight, and again in other colours. */
    watch() {
        this.seen = new Set();
        const observer = new IntersectionObserver(
            (entries) => {
                for (const { isIntersecting, target } of entries) {
                    if (!isIntersecting) continue;
                    observer.unobserve(target);
                    this.seen.add(Number(target.dataset.layer));
                    this.draw([Number(target.dataset.layer)]);
                }
            },
            { rootMargin: "300px" },
        );
        for (const row of this.table.tBodies[0].rows) observer.observe(row);
        for (const media of ["(prefers-color-scheme: dark)", "print"]) {
            matchMedia(media).addEventListener("change", () => this.draw(this.seen));
        }
        addEventListener("beforeprint", () => {
            for (let layer = 0; layer < this.model.layers; ++layer) this.seen.add(layer);
            this.draw(this.seen);
        });
    }

    draw(layers) {
        const colors = scaleColors(this.app.levels);
        for (const layer of layers) {
            const weights = this.model.walk(layer).byName.get("weights");
            for (const canvas of this.table.querySelectorAll(
                `[data-layer="${layer}"] canvas`,
            )) {
                const head = Number(canvas.parentElement.dataset.head.split(".")[1]);
                drawHead(canvas, weights, head, colors);
            }
        }
    }

    at(layer, head) {
        return this.table.querySelector(`[data-head="${layer}.${head}"]`);
    }

    /** Marks the head whose layer is open, and makes it the one that Tab reaches. */
    mark(layer, head) {
        for (const tile of this.table.querySelectorAll(".tile")) {
            const open = tile === this.at(layer, head);
            tile.tabIndex = open ? 0 : -1;
            open ? tile.setAttribute("aria-current", "true") : tile.removeAttribute("aria-current");
        }
    }

    focus() {
        const tile = this.table.querySelector('.tile[tabindex="0"]');
        this.element.scrollIntoView({ block: "start" });
        tile.focus({ preventScroll: true });
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
