// The picture of the first screen: a line of words, and curves to the current query.

const svgSpace = "http://www.w3.org/2000/svg";

function drawn(name, attributes, ...children) {
    const made = document.createElementNS(svgSpace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

/** Width of the largest share, and the largest height of a curve, in pixels. */
const widestCurve = 15;
const highestCurve = 150;

/** The number of curves of a query; if more keys have weights, only the strongest are drawn. */
const curvesDrawn = 16;
const curvesOfMany = 8;

/** Draws the curves of a line of words, at the places that the browser has chosen for these. */
class Curves {
    constructor(strip) {
        this.strip = strip;
        this.svg = drawn("svg", { class: "curves", ...mute });
        this.element = element("div.scene");
        new ResizeObserver(() => this.draw()).observe(this.element);
    }

    /** Shows the lines of words: one if the queries are the keys, else the queries above the keys. */
    show(lines) {
        const { scrollLeft, scrollTop } = this.element;
        this.lines = lines;
        this.element.replaceChildren(...(lines.length > 1 ? [lines[0], this.svg, lines[1]] : [this.svg, lines[0]]));
        this.draw();
        Object.assign(this.element, { scrollLeft, scrollTop });
    }

    /** Returns the middle of each word along the line. */
    middles(line) {
        const { x, y } = this.svg.getBoundingClientRect();
        return [...line.children].map((one) => {
            const box = one.getBoundingClientRect();
            return this.isDown ? box.y + box.height / 2 - y : box.x + box.width / 2 - x;
        });
    }

    /** Draws the curves; on a screen that is too narrow, the line runs from top to bottom. */
    draw() {
        const { classList, clientWidth, scrollLeft } = this.element;
        if (!this.lines || clientWidth === 0) return;
        const { keys, query, picked } = this.strip.drawnKeys();
        classList.remove("down");
        const row = this.lines.at(-1);
        this.isDown = classList.toggle("down", clientWidth <= 560 && row.scrollWidth > clientWidth);
        const depth = this.isDown ? 96 : Math.max(80, Math.min(highestCurve, clientWidth / 5));
        const length = Math.max(...this.lines.map((line) => (this.isDown ? line.offsetHeight : line.scrollWidth)));
        const [width, height] = this.isDown ? [depth, length] : [length, depth];
        const size = { width, height, viewBox: `0 0 ${width} ${height}` };
        for (const name of Object.keys(size)) this.svg.setAttribute(name, size[name]);
        const [ends, starts] = [row, this.lines[0]].map((line) => this.middles(line));
        const start = starts[query];
        if (!this.isDown && (start < scrollLeft || start > scrollLeft + clientWidth)) this.element.scrollLeft = start - clientWidth / 2;
        const all = this.strip.seenKeys(keys).filter((one) => one.weight !== 0);
        // The strongest of many; the picked one is drawn last, above the others.
        const seen = all.filter((one, i) => i < (all.length > curvesDrawn ? curvesOfMany : curvesDrawn) || one.key === picked);
        seen.sort((a, b) => (a.key === picked) - (b.key === picked) || Math.abs(a.weight) - Math.abs(b.weight));
        const most = largestOf(seen.map((one) => one.weight));
        const far = largestOf(seen.map(({ key }) => ends[key] - start)) || 1;
        const widest = Math.min(widestCurve, (0.3 * length) / ends.length);
        this.svg.replaceChildren(...seen.flatMap((one) => {
            const d = this.path(start, ends[one.key], depth, far);
            const touch = drawn("path", { d, class: "touch" }, drawn("title", {}, this.strip.lookText(one)));
            touch.addEventListener("click", () => this.strip.app.follow({ key: one.key }));
            const wide = Math.max(0.8, (widest * Math.abs(one.weight)) / most);
            const name = (one.key === picked ? "now" : "") + (this.strip.roles.areShares ? "" : one.weight < 0 ? " minus" : " plus");
            return [drawn("path", { d, "stroke-width": wide, class: name, "data-key": one.key }), touch];
        }));
    }

    /** Returns the path from a key to the query. */
    path(to, from, depth, far) {
        const at = (...place) => (this.isDown ? place.reverse() : place).map((one) => one.toFixed(1)).join(" ");
        // If queries and keys are different words, they are on opposite sides of the curves.
        if (this.lines.length > 1) return `M${at(from, depth)}C${at(from, depth / 2)} ${at(to, depth / 2)} ${at(to, 0)}`;
        if (from === to) {
            const [high, wide] = [depth - Math.min(80, 0.7 * depth), this.isDown ? 30 : 46];
            return `M${at(from - 9, depth)}C${at(from - wide, high)} ${at(from + wide, high)} ${at(from + 9, depth)}`;
        }
        // A cubic curve reaches three quarters of the height of its handles.
        const high = depth - (depth - widestCurve) * 1.25 * (0.3 + (0.7 * Math.abs(from - to)) / far);
        return `M${at(from, depth)}C${at(from, high)} ${at(to, high)} ${at(to, depth)}`;
    }
}
