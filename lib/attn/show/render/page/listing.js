// A program next to the walk: its lines, and below a line of attention its steps, each with its
// verdict. A step opens its tensor; a selected number marks the line that computed it.

const appAlone = { makeWalk: App.prototype.makeWalk };
const stepsAlone = { lightUp: Steps.prototype.lightUp };

class Listing {
    constructor(app) {
        this.app = app;
        this.made = []; // the elements of lines, each with the names of its steps
        const { title, lines, opening } = JSON.parse(root.getElementById("listing-lines").textContent);
        const rows = lines.map((line) => this.rowOf(line));
        const about = { id: "listing", "aria-label": "program" };
        const words = opening.map((text) => element("p", text));
        this.element = element("section", about, words, element("ol", rows));
        root.querySelector("h1").textContent = title;
    }

    rowOf({ place, text, steps }) {
        const source = element("code", element("span", place), text || " ");
        const isWrong = steps.some((each) => each.wrong);
        const name = steps.length === 0 ? "li" : isWrong ? "li.own.off" : "li.own";
        return element(name, source, steps.map((each) => this.stepOf(each)));
    }

    stepOf({ name, part, steps, shape, verdict, wrong, notes }) {
        const opens = () => this.open(steps);
        const words = [element("b", steps.join(", ")), ` ${shape} `, element(wrong ? "em" : "i", verdict)];
        const made = button("", opens, { title: part ? name : undefined });
        made.append(...words);
        const paragraphs = notes.map(([head, body]) => element("p", head ? element("b", head, " ") : "", body));
        const whole = element("div", made, part ? element("code", name) : "", paragraphs);
        this.made.push({ whole, made, steps });
        return whole;
    }

    /** Opens a line's step that differs from the other walk, at the first such cell; otherwise its first step. */
    open(steps) {
        const { app } = this;
        const made = steps.map((each) => app.steps.parts.get(each)).filter(Boolean);
        const firstOff = ({ section }) => [...(section.values ?? []).keys()].find(app.differs(section));
        const step = made.find((each) => firstOff(each) !== undefined) ?? made[0];
        if (!step) return;
        app.steps.open(step);
        if (step.section.size > 0) app.choose(step.section, firstOff(step) ?? app.cellAt(step.section));
    }

    /** Marks the line that computed a step. */
    mark(name) {
        for (const { whole, made, steps } of this.made) {
            const isThis = steps.includes(name);
            isThis ? made.setAttribute("aria-current", "true") : made.removeAttribute("aria-current");
            if (!isThis) continue;
            const [box, own] = [this.element.getBoundingClientRect(), whole.getBoundingClientRect()];
            const isSeen = own.top >= box.top && own.bottom <= box.bottom;
            if (!isSeen) this.element.scrollTop += own.top - box.top - box.height / 3;
        }
    }
}

/** @this {any} */
App.prototype.makeWalk = function () {
    if (!this.listing) {
        this.listing = new Listing(this);
        const below = this.steps.element.parentElement;
        below.classList.add("coded");
        below.replaceChildren(this.listing.element, element("div", this.strip.element, this.steps.element));
    }
    appAlone.makeWalk.call(this);
};

/** @this {any} */
Steps.prototype.lightUp = function (section, flat, far) {
    stepsAlone.lightUp.call(this, section, flat, far);
    this.app.listing.mark(section.name);
};
