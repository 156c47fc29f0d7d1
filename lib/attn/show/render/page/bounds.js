// Marks the digits that rounding could change, on a page with bounds.

/** Returns the range of the digits that differ in some number within the bound. */
function uncertainDigits(section, flat, text) {
    const [low, high] = [-1, 1].map((side) => {
        return section.number(section.values[flat] + side * section.bound[flat]);
    });
    const end = (text + "e").indexOf("e");
    if (low === high) return [end, end];
    const form = (number) => `${number.length} ${number.indexOf(".")} ${number.split("e")[1]}`;
    const isAlike = form(low) === form(high);
    let same = 0;
    while (isAlike && low[same] === high[same]) ++same;
    return [same > 0 && text[same] === "." ? same + 1 : same, end];
}

Section.mark = (cell, section, flat) => {
    if (!section.bound) return;
    if (Array.isArray(section.bound)) section.bound = flattened(section.bound, section.size, "");
    const text = cell.textContent;
    const [from, to] = uncertainDigits(section, flat, text);
    if (from === to) return;
    const title = `rounding error ±${scientific(section.bound[flat], 1)}`;
    cell.replaceChildren(text.slice(0, from), element("s", { title }, text.slice(from, to)), text.slice(to));
};
