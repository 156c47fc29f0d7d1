// A headless Chromium, driven through its DevTools protocol over a pair of pipes: no package
// needed.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns the name of an installed Chromium, or undefined. */
export function installedChromium() {
    return ["chromium", "chromium-browser", "google-chrome"].find(
        (name) => spawnSync(name, ["--version"]).status === 0,
    );
}

export class Chromium {
    constructor(name) {
        this.folder = mkdtempSync(join(tmpdir(), "attn-browser-"));
        this.process = spawn(
            name,
            [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                `--user-data-dir=${this.folder}`,
                "about:blank",
            ],
            { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
        );
        this.waiting = new Map();
        this.listeners = [];
        this.next = 1;
        let text = "";
        this.process.stdio[4].on("data", (data) => {
            const messages = (text + data).split("\0");
            text = messages.pop();
            for (const message of messages) this.receive(JSON.parse(message));
        });
        this.process.on("exit", () => {
            for (const { reject } of this.waiting.values()) reject(new Error("Chromium ended"));
        });
    }

    receive(message) {
        if (message.id === undefined) {
            for (const listener of this.listeners) listener(message);
            return;
        }
        const { resolve, reject } = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
    }

    send(method, params = {}, sessionId = undefined) {
        const id = this.next++;
        this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
        return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    }

    /** Opens a page that records its errors and requests. */
    async page() {
        const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
        const page = new Page(this, sessionId, targetId);
        for (const domain of ["Page", "Runtime", "Log", "Network"])
            await page.send(`${domain}.enable`);
        return page;
    }

    async close() {
        this.process.removeAllListeners("exit");
        const ended = new Promise((resolve) => this.process.on("exit", resolve));
        await this.send("Browser.close");
        await ended;
        // Its child processes may write for a moment longer.
        rmSync(this.folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
    }
}

class Page {
    constructor(browser, session, target) {
        this.browser = browser;
        this.session = session;
        this.target = target;
        this.complaints = [];
        this.requests = [];
        browser.listeners.push((message) => {
            if (message.sessionId !== session) return;
            const { method, params } = message;
            if (method === "Runtime.exceptionThrown")
                this.complaints.push(
                    params.exceptionDetails.exception?.description ?? params.exceptionDetails.text,
                );
            if (method === "Log.entryAdded") this.complaints.push(params.entry.text);
            if (method === "Runtime.consoleAPICalled")
                this.complaints.push(`console.${params.type}`);
            if (method === "Page.javascriptDialogOpening")
                this.complaints.push(`dialog: ${params.message}`);
            if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
            if (method === "Page.loadEventFired") this.loaded?.();
        });
    }

    send(method, params) {
        return this.browser.send(method, params, this.session);
    }

    async open(url) {
        const loaded = new Promise((resolve) => {
            this.loaded = resolve;
        });
        await this.send("Page.navigate", { url });
        await loaded;
    }

    /** Calls a function in the page and returns its result; arguments and result are passed as JSON. */
    async run(what, ...given) {
        const expression = `(${what})(${given.map((one) => JSON.stringify(one)).join(",")})`;
        const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
            expression,
            returnByValue: true,
            awaitPromise: true,
        });
        if (exceptionDetails)
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    async key(key, code = key) {
        const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
        await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, code, text });
        await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, code });
    }

    /** Moves the mouse to the middle of an element, and clicks if `press`. */
    async mouse(selector, press = false) {
        const place = await this.run(async (wanted) => {
            const element = document.querySelector(wanted);
            for (let at = element.parentElement; at; at = at.parentElement)
                if (at.localName === "details") at.open = true;
            const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
            let box;
            // A smooth scroll in progress would move the element away again.
            for (let still = 0; still < 4; ++still) {
                element.scrollIntoView({ block: "center", behavior: "instant" });
                await frame();
                const now = element.getBoundingClientRect();
                if (box && (now.x !== box.x || now.y !== box.y)) still = 0;
                box = now;
            }
            return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
        }, selector);
        await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...place });
        if (!press) return;
        for (const type of ["mousePressed", "mouseReleased"]) {
            await this.send("Input.dispatchMouseEvent", {
                type,
                ...place,
                button: "left",
                clickCount: 1,
            });
        }
    }

    /** Sets the screen or printer of the page. */
    async look({ width = 1280, height = 900, dark = false, print = false, calm = false }) {
        await this.send("Emulation.setDeviceMetricsOverride", {
            width,
            height,
            deviceScaleFactor: 1,
            mobile: width < 600,
        });
        await this.send("Emulation.setEmulatedMedia", {
            media: print ? "print" : "screen",
            features: [
                { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
                { name: "prefers-reduced-motion", value: calm ? "reduce" : "no-preference" },
            ],
        });
    }

    async screenshot() {
        const { data } = await this.send("Page.captureScreenshot", { format: "png" });
        return Buffer.from(data, "base64");
    }

    async pdf() {
        const { data } = await this.send("Page.printToPDF", {
            preferCSSPageSize: true,
            printBackground: true,
        });
        return Buffer.from(data, "base64");
    }

    close() {
        return this.browser.send("Target.closeTarget", { targetId: this.target });
    }
}
