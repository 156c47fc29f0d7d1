// Opens pages that the program makes in a real browser and reads them like a user.
//
//     node tests/browser/run.mjs build/dev/app/attn-explain [FOLDER FOR SCREENSHOTS]
//
// Exits with 0 if all tests pass, with 1 after naming each failure, and prints a line if there is no
// Chromium.
import * as embed from "./embed.mjs";
import * as first from "./first.mjs";
import * as follow from "./follow.mjs";
import * as hands from "./hands.mjs";
import * as live from "./live.mjs";
import * as looks from "./looks.mjs";
import * as model from "./model.mjs";
import * as narrow from "./narrow.mjs";
import * as plain from "./plain.mjs";
import * as play from "./play.mjs";
import * as numbers from "./numbers.mjs";
import * as program from "./program.mjs";
import * as squares from "./squares.mjs";
import { check, finish } from "./pages.mjs";

// ATTN_BROWSER_ONLY=Take runs the tests whose names contain Take.
const only = process.env.ATTN_BROWSER_ONLY ?? "";
const tests = Object.entries({ ...numbers, ...embed, ...first, ...follow, ...hands, ...narrow, ...looks, ...squares, ...live, ...model, ...plain, ...play, ...program });
for (const [title, test] of tests.filter(([name]) => name.includes(only))) {
    try {
        await test();
    } catch (error) {
        check(false, `${title} stopped`, error.stack);
    }
}
process.exit(await finish());
