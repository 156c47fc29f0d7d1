"use strict";
// Where the page stands: a document of its own, or a tree of its own inside somebody else's.

const host = [...document.querySelectorAll("[data-attn-explain]")].find((one) => !one.shadowRoot);
/** @type {any} a document or a shadow root: what elements are looked for in */
const root = host ? host.attachShadow({ mode: "open" }) : document;
if (host) root.append(host.querySelector("template").content.cloneNode(true));
/** @type {HTMLElement} what holds the page, as the body does */
const frame = host ? root.appendChild(element("div", { class: "frame" })) : document.body;
const screens = { wide: matchMedia("(min-width: 1101px)"), touch: matchMedia("(hover: none)") };
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * An element with attributes and children; texts become text, whatever they hold.
 * @returns {any}
 */
function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (value === undefined || value === false) continue;
        if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
        else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== undefined && child !== ""));
    return made;
}

function button(text, onclick, attributes = {}) {
    return element("button", { type: "button", onclick, ...attributes }, text);
}

/** A token as it fits above a column; the whole of it is the title. */
function shortened(label, most) {
    const letters = [...label];
    return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : label;
}

/** The part of the page's address behind #; a page that stands in another one has none. */
const hash = {
    read() {
        if (host) return "";
        try {
            return decodeURIComponent(location.hash.slice(1));
        } catch {
            return location.hash.slice(1);
        }
    },
    /** Inside srcdoc no address can be written: then there is none. */
    write(text, push) {
        if (host || text === this.read()) return;
        try {
            history[push ? "pushState" : "replaceState"](null, "", "#" + text);
        } catch {
            // The page works without.
        }
    },
};
