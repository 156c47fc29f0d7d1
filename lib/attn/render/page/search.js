// Finds tokens: `/` goes to the field, Enter from one to the next.

class Search {
    /** `place()` is the element whose tokens are looked through. */
    constructor(place) {
        this.place = place;
        this.hits = [];
        this.hit = -1;
        this.field = element("input", {
            type: "search",
            id: "search",
            placeholder: "find a token ( / )",
            "aria-label": "find a token",
            oninput: () => this.find(),
            onkeydown: (event) => this.onKey(event),
        });
        this.count = element("output", { id: "found", "aria-live": "polite" });
    }

    find() {
        const wanted = this.field.value.trim().toLowerCase();
        for (const each of this.place().querySelectorAll(".found")) each.classList.remove("found");
        this.hits = [...this.place().querySelectorAll("th[data-token], button[data-token]")].filter(
            (each) => wanted !== "" && each.dataset.token.toLowerCase().includes(wanted),
        );
        for (const hit of this.hits) hit.classList.add("found");
        this.hit = -1;
        this.count.textContent = wanted === "" ? "" : `${this.hits.length} found`;
    }

    onKey(event) {
        if (event.key === "Escape") {
            this.field.value = "";
            this.find();
            this.field.blur();
        }
        const visible = this.hits.filter((hit) => hit.offsetParent !== null);
        if (event.key !== "Enter" || visible.length === 0) return;
        const step = event.shiftKey ? visible.length - 1 : 1;
        this.hit = (this.hit + step) % visible.length;
        visible[this.hit].scrollIntoView({ block: "center", inline: "nearest" });
        this.count.textContent = `${this.hit + 1} of ${visible.length}`;
    }
}
