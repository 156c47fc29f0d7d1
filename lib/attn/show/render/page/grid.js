// Functions of every page: the choice of its style, and arrow keys in tables.

/** Returns the button that selects the style: the reader's own setting, light or dark. */
function themeButton(turned) {
    const sheet = root.getElementById("dark");
    const media = ["screen and (prefers-color-scheme: dark)", "not all", "screen"];
    const say = () => `theme: ${["auto", "light", "dark"][media.indexOf(sheet.media)]}`;
    const theme = button(say(), () => {
        sheet.media = media[(media.indexOf(sheet.media) + 1) % media.length];
        theme.textContent = say();
        turned();
    });
    theme.id = "theme";
    return theme;
}

/** Returns the cell that a key leads to, inside its table. */
function neighbour(cell, key) {
    const row = cell.parentElement;
    const cells = [...row.querySelectorAll("td")];
    const column = cells.indexOf(cell);
    const rows = [...row.parentElement.rows];
    const inColumn = (other) => other?.querySelectorAll("td")[column];
    const leads = {
        ArrowLeft: () => cells[column - 1],
        ArrowRight: () => cells[column + 1],
        ArrowUp: () => inColumn(row.previousElementSibling),
        ArrowDown: () => inColumn(row.nextElementSibling),
        Home: () => cells[0],
        End: () => cells.at(-1),
        PageUp: () => inColumn(rows[0]),
        PageDown: () => inColumn(rows.at(-1)),
    };
    return leads[key]?.();
}
