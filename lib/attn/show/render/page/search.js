// Finds words, steps and cells: `/` goes to the field, Enter to the next match.

class Search {
    constructor(app) {
        this.app = app;
        this.hits = [];
        this.hit = -1;
        this.field = element("input", {
            type: "search",
            id: "search",
            placeholder: "find a word or step ( / )",
            "aria-label": "find a word, a step or a cell",
            oninput: () => this.find(),
            onkeydown: (event) => this.onKey(event),
        });
        this.count = element("output", { id: "found", "aria-live": "polite" });
    }

    /** Returns the matches: the cell of that address, steps of that name, words of the sentence. */
    hitsFor(wanted) {
        const { app } = this;
        const cell = app.walk.cell(wanted);
        const hits = cell ? [() => app.choose(cell.section, cell.flat, { named: {} })] : [];
        for (const step of app.steps.parts.values()) {
            if (step.section.name.includes(wanted)) hits.push(() => app.steps.open(step));
        }
        if (!app.strip.roles) return hits;
        app.strip.keys().forEach(({ key, label }) => {
            if (label.toLowerCase().includes(wanted)) hits.push(() => app.follow({ key }));
        });
        return hits;
    }

    find() {
        const wanted = this.field.value.trim().toLowerCase();
        for (const each of frame.querySelectorAll(".found")) each.classList.remove("found");
        this.hit = -1;
        this.hits = wanted === "" ? [] : this.hitsFor(wanted);
        this.count.textContent = wanted === "" ? "" : `${this.hits.length} found`;
        if (wanted === "") return;
        for (const each of /** @type {any} */ (frame.querySelectorAll("[data-token]"))) {
            if (each.dataset.token.toLowerCase().includes(wanted)) each.classList.add("found");
        }
    }

    onKey(event) {
        if (event.key === "Escape") {
            event.stopPropagation();
            this.field.value = "";
            this.find();
            this.field.blur();
        }
        if (event.key !== "Enter" || this.hits.length === 0) return;
        this.hit = (this.hit + (event.shiftKey ? this.hits.length - 1 : 1)) % this.hits.length;
        this.hits[this.hit]();
        this.field.focus({ preventScroll: true });
        this.count.textContent = `${this.hit + 1} of ${this.hits.length}`;
    }
}
