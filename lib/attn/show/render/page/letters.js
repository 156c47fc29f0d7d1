// Returns properties of Unicode characters to WebAssembly, from the tables of browsers and node.

/** Returns askedOf; it is self-contained, so that its source works in a worker too. */
function lettersOf() {
    const names =
        "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co".split(" ");
    const categories = names.map((name) => new RegExp(`^\\p{${name}}$`, "u"));
    const isRightToLeft = /\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}/u;
    return (what, point) => {
        if (point < 0 || point > 0x10ffff) return 0;
        const letter = String.fromCodePoint(point);
        if (what === "c") return Math.max(0, categories.findIndex((one) => one.test(letter)));
        if (what === "r") return Number(isRightToLeft.test(letter));
        if (what === "w") return 1;
        const small = letter.toLowerCase();
        return [...small].length === 1 ? small.codePointAt(0) : point;
    };
}

/** Returns a property of a character: category, lower case, or right-to-left. */
const askedOf = lettersOf();
