// The picture of the first screen: a line of words, and curves into the word that looks.

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

/** Draws the curves of a line of words, where the browser has put them. */
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

    /** Draws the curves; a screen that is too narrow for the line has it from top to bottom. */
    draw() {
        if (!this.lines || this.element.clientWidth === 0) return;
        const { keys, query, picked } = this.strip.drawnKeys();
        const { classList, clientWidth } = this.element;
        classList.remove("down");
        const isWide = clientWidth > 560 || this.lines.at(-1).scrollWidth <= clientWidth;
        this.isDown = classList.toggle("down", !isWide);
        const [depth, length] = this.isDown
            ? [96, Math.max(...this.lines.map((line) => line.offsetHeight))]
            : [Math.max(80, Math.min(highestCurve, clientWidth / 5)), Math.max(...this.lines.map((line) => line.scrollWidth))];
        const [width, height] = this.isDown ? [depth, length] : [length, depth];
        for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
            this.svg.setAttribute(name, value);
        const ends = this.middles(this.lines.at(-1));
        const start = this.middles(this.lines[0])[query];
        const seen = keys.filter((one) => !one.hidden && one.weight > 0).sort((a, b) => a.weight - b.weight);
        seen.sort((a, b) => Number(a.key === picked) - Number(b.key === picked));
        const [most, far] = [largestOf(seen.map((one) => one.weight)), largestOf(seen.map(({ key }) => ends[key] - start)) || 1];
        const widest = Math.min(widestCurve, (0.3 * length) / ends.length);
        const { scrollLeft } = this.element;
        const isSeen = this.isDown || (start > scrollLeft && start < scrollLeft + clientWidth);
        if (!isSeen) this.element.scrollLeft = start - clientWidth / 2;
        this.svg.replaceChildren(...seen.flatMap((one) => {
            const path = this.path(start, ends[one.key], depth, far);
            const line = { d: path, "stroke-width": Math.max(0.8, (widest * one.weight) / (most || 1)) };
            const touch = drawn("path", { d: path, class: "touch" }, drawn("title", {}, this.strip.lookText(one)));
            touch.addEventListener("click", () => this.strip.app.follow({ key: one.key }));
            return [drawn("path", { ...line, class: one.key === picked ? "now" : "", "data-key": one.key }), touch];
        }));
    }

    /** Returns the path from a key to the query. */
    path(to, from, depth, far) {
        const at = (along, across) => (this.isDown ? `${across.toFixed(1)} ${along.toFixed(1)}` : `${along.toFixed(1)} ${across.toFixed(1)}`);
        if (this.lines.length > 1) {
            // Queries and keys are two lines, on both sides of the curves.
            return `M${at(from, depth)}C${at(from, depth / 2)} ${at(to, depth / 2)} ${at(to, 0)}`;
        }
        if (from === to) {
            const [high, wide] = [depth - Math.min(80, 0.7 * depth), this.isDown ? 30 : 46];
            return `M${at(from - 9, depth)}C${at(from - wide, high)} ${at(from + wide, high)} ${at(from + 9, depth)}`;
        }
        // A cubic curve reaches three quarters of the height of its handles.
        const high = depth - (depth - widestCurve) * 1.25 * (0.3 + (0.7 * Math.abs(from - to)) / far);
        return `M${at(from, depth)}C${at(from, high)} ${at(to, high)} ${at(to, depth)}`;
    }
}
