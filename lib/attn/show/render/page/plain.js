// A page of one table, or of text: a selected cell shows its description and its command.

const cells = [...document.querySelectorAll("tbody td")];
const told = element("section", { id: "told", role: "status" });

function choose(cell) {
    for (const one of cells) {
        one.tabIndex = one === cell ? 0 : -1;
        one.toggleAttribute("aria-current", one === cell);
    }
    const { told: words, command } = cell.dataset;
    const { from } = cell.closest("table").dataset;
    const shows = command ? element("p", `${from}: `, element("code", command)) : "";
    told.replaceChildren(element("p", words), shows);
}
function select(cell) {
    choose(cell);
    hash.write(cell.id);
}

document.querySelector(".tools").append(themeButton(() => {}));
if (cells.length > 0) {
    const [table] = document.querySelectorAll("table");
    const cellOf = ({ target }) => target.closest("td");
    table.parentElement.after(told);
    table.addEventListener("click", (event) => cellOf(event) && select(cellOf(event)));
    table.addEventListener("keydown", (event) => {
        const next = cellOf(event) && neighbour(cellOf(event), event.key);
        if (!next) return;
        event.preventDefault();
        select(next);
        next.focus();
    });
    // The page opens at its top: an address written while it loads would scroll it.
    const first = document.getElementById(hash.read()) ?? document.querySelector("td[aria-current]");
    choose(first);
    table.parentElement.scrollLeft = first.offsetLeft - table.parentElement.clientWidth / 2;
}
