"use strict";
// Where the page is: a document of its own, or a tree of its own inside somebody else's.

const host = [...document.querySelectorAll("[data-attn-explain]")].find((one) => !one.shadowRoot);
/** @type {any} a document or a shadow root: what elements are looked for in */
const root = host ? host.attachShadow({ mode: "open" }) : document;
if (host) root.append(host.querySelector("template").content.cloneNode(true));
/** @type {HTMLElement} what holds the page, as the body does */
const frame = host ? root.appendChild(element("div.frame")) : document.body;
/** What screen readers pass over. */
const mute = { "aria-hidden": "true" };
const isWide = matchMedia("(min-width: 1101px)");
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * `element("td.sum", { title }, child, child)`: an element with classes, attributes and children;
 * texts become text, whatever they hold.
 * @returns {any}
 */
function element(name, ...children) {
    const [tag, ...classes] = name.split(".");
    const made = document.createElement(tag);
    if (classes.length > 0) made.className = classes.join(" ");
    const attributes = children[0]?.constructor === Object ? children.shift() : {};
    for (const [key, value] of Object.entries(attributes)) {
        if (value === undefined || value === false) continue;
        if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
        else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== undefined && child !== ""));
    return made;
}

function button(text, onclick, attributes = {}) {
    return element("button", { type: "button", onclick, ...attributes }, text);
}

/** A list of words to choose from, pairs of a value and what it is called. */
function choiceOf(pairs, about) {
    return element("select", about, pairs.map(([value, word]) => element("option", { value }, word)));
}

/** A table of these parts; only the rows must be there. */
function tableOf(name, /** @type {any} */ { caption = "", head = "", rows, foot = [] }) {
    const told = caption && element("caption", caption);
    return element(name, told, head, element("tbody", rows), foot.length > 0 ? element("tfoot", foot) : "");
}

/** A button that is on or off; `turn` is told which. */
function toggle(text, isOn, turn) {
    const made = button(text, () => {
        isOn = !isOn;
        made.setAttribute("aria-pressed", String(isOn));
        turn(isOn);
    });
    made.setAttribute("aria-pressed", String(isOn));
    return made;
}

/** A token as it fits above a column; the whole of it is the title. */
function shortened(label, most) {
    const letters = [...label];
    return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : label;
}

function productOf(numbers) {
    return numbers.reduce((product, one) => product * one, 1);
}

/** `[act(0), act(1), ...]`, so many of them. */
function times(count, act) {
    return Array.from({ length: count }, (_, i) => act(i));
}

/** What a part of an address says: `%26` for a letter that means something there. */
function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/** The part of the page's address after #; a page within another one has none. */
const hash = {
    /** `--text=a+b&why=weights[1,0]&key=0`: a live page has flags before the cell. */
    parts() {
        return host ? [] : location.hash.slice(1).split("&");
    },
    flags() {
        return this.parts().filter((part) => part.startsWith("--"));
    },
    read() {
        return decoded(this.parts().filter((part) => !part.startsWith("--")).join("&"));
    },
    /** Inside srcdoc no address can be written: the page works without. */
    write(text, push) {
        if (host || text === location.hash.slice(1)) return;
        try {
            history[push ? "pushState" : "replaceState"](null, "", "#" + text);
        } catch {
            return;
        }
    },
};
