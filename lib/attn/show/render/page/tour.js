// The tour in the page: each stop is next to the box that it describes.

/** Returns the box of a step, from 1; the sentence shows other steps. */
const boxOf = { scores: 1, scaled_scores: 2, weights: 3, context: 4, merged: 4, output: 4 };

class Tour {
    constructor(live) {
        this.live = live;
        this.stops = JSON.parse(root.getElementById("tour").textContent);
        this.element = element("aside", { id: "stop", hidden: true, "aria-live": "polite", "aria-label": "tour" });
        live.app.strip.element.after(this.element);
    }

    /** Returns the stop in an address, if any: `tour=7`. */
    takes(place) {
        const number = Number(/^tour=(\d+)$/.exec(place)?.[1]);
        if (!this.stops[number - 1]) return false;
        this.show(number, false);
        return true;
    }

    show(number, isStep = true) {
        const { question, of, text } = this.stops[number - 1];
        this.live.app.strip.numbers.open = true;
        frame.dataset.stop = String(Math.max(...of.map((step) => boxOf[step] ?? 0)));
        const go = (word, to) => (this.stops[to - 1] ? button(word, () => this.show(to)) : "");
        const ways = [go("back", number - 1), go("next", number + 1), button("end", () => this.end())];
        const command = element("code", `attn-explain tour ${number}`);
        const title = element("h2", `${number} of ${this.stops.length}. ${question}`);
        this.element.replaceChildren(title, element("p", text), element("p", ways, " with numbers: ", command));
        this.element.hidden = false;
        this.element.scrollIntoView({ block: "nearest" });
        hash.write(`${this.live.flagsText()}tour=${number}`, isStep);
    }

    end() {
        this.element.hidden = true;
        delete frame.dataset.stop;
        hash.write(this.live.flagsText().slice(0, -1), false);
    }
}
