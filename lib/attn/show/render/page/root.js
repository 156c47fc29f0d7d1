"use strict";
// The root of the page: its own document, or a shadow tree in another page.

const host = [...document.querySelectorAll("[data-attn-explain]")].find((one) => !one.shadowRoot);
/** @type {any} the document or shadow root that contains the elements */
const root = host ? host.attachShadow({ mode: "open" }) : document;
if (host) root.append(host.querySelector("template").content.cloneNode(true));
/** @type {HTMLElement} the container of the page, such as the body */
const frame = host ? root.appendChild(element("div.frame")) : document.body;
/** Hides an element from screen readers. */
const mute = { "aria-hidden": "true" };
const isWide = matchMedia("(min-width: 1101px)");
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * `element("td.sum", { title }, child, child)` returns an element with classes, attributes and
 * children; strings become text nodes.
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

/** Returns a list of choices, from pairs of a value and its name. */
function choiceOf(pairs, about) {
    return element("select", about, pairs.map(([value, word]) => element("option", { value }, word)));
}

/** Returns a table of these parts; only the rows are required. */
function tableOf(name, /** @type {any} */ { caption = "", head = "", rows, foot = [] }) {
    const told = caption && element("caption", caption);
    return element(name, told, head, element("tbody", rows), foot.length > 0 ? element("tfoot", foot) : "");
}

/** Returns a button that is on or off; `turn` gets the new state. */
function toggle(text, isOn, turn) {
    const made = button(text, () => {
        isOn = !isOn;
        made.setAttribute("aria-pressed", String(isOn));
        turn(isOn);
    });
    made.setAttribute("aria-pressed", String(isOn));
    return made;
}

/** Returns a token shortened to fit above a column. */
function shortened(label, most) {
    const letters = [...label];
    return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : label;
}

function productOf(numbers) {
    return numbers.reduce((product, one) => product * one, 1);
}

/** Returns `[act(0), act(1), ...]` of length `count`. */
function times(count, act) {
    return Array.from({ length: count }, (_, i) => act(i));
}

/** Decodes a part of an address, such as `%26`. */
function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/** The part of the page's address after #; an embedded page has none. */
const hash = {
    /** Splits `--text=a+b&why=weights[1,0]&key=0`: a live page has flags before the cell. */
    parts() {
        return host ? [] : location.hash.slice(1).split("&");
    },
    flags() {
        return this.parts().filter((part) => part.startsWith("--"));
    },
    read() {
        return decoded(this.parts().filter((part) => !part.startsWith("--")).join("&"));
    },
    /** Sets the address; inside srcdoc that is impossible, and the page works without. */
    write(text, push) {
        if (host || text === location.hash.slice(1)) return;
        try {
            history[push ? "pushState" : "replaceState"](null, "", "#" + text);
        } catch {
            return;
        }
    },
};
