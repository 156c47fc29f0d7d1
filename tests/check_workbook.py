#!/usr/bin/env python3
"""Workbooks (-o walk.xlsx) recomputed by LibreOffice and gnumeric, against the program's JSON.

    tests/check_workbook.py PROGRAM [FIRST [LAST]]

Stored results are removed, so that the spreadsheet programs must compute every formula; then one
parameter is changed in the sheet and given to the program. Needs soffice and ssconvert (Debian:
libreoffice-calc, gnumeric) and NumPy; prints a line and exits 0 without them.
"""

import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    np = None

NAMES = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
WALKS = """

--text 'the cat sat' --mask causal
--heads 2
--heads 2 --mask causal --output-projection
--text 'the cat sat' --text 'a dog' --mask causal,padding --heads 2
--batch 2 --seq-len 3 --embed-dim 4
--heads 4 --kv-heads 2 --rope half
--rope interleaved --head-dim 6 --mask causal
--rope half --rope-scaling linear:2 --heads 2
--rope half --rope-scaling yarn:4:8 --heads 2
--qk-norm head --heads 2
--qk-norm all --heads 2
--qk-norm l2 --mask causal
--softcap 5 --mask causal
--sink zero --heads 2
--sink randn --heads 2 --mask causal
--past 2 --seq-len 3 --embed-dim 4
--past 3 --seq-len 2 --embed-dim 8 --heads 2 --rope half --mask causal
--prefill 2 --mask causal
--position-bias alibi --heads 2 --mask causal
--position-bias t5 --heads 2
--position-embedding learned
--position-embedding sinusoidal
--mask window:2
--mask causal,window:2
--mask chunk:2
--mask prefix:2
--mask documents:3+3
--softmax-axis query
--scale none
--scale 0.3
--projection fused --heads 2
--projection fused-by-head --heads 2
--projection stacked --heads 2
--projection per-head --heads 2
--projection matrix
--projection mha --heads 2 --bias --output-bias
--projection none --seq-len 4 --embed-dim 4
--bias --output-projection --output-bias
--rng numpy --seed 3
--dtype float64
--memory-text 'le chat noir' --text 'the black cat'
--ids '1,2,0,0;1,2,3,4' --pad-id 0 --mask padding
--dropout 0.3
--variant loop --heads 2
--variant fused --heads 2
--value-dim 3 --heads 2
--backward
--backward --heads 2 --mask causal --output-projection
--backward --rope half --qk-norm head --loss mean --mask causal
--backward --batch 2 --seq-len 3 --embed-dim 4 --softcap 3 --bias
--backward --loss 'output[0,1]' --output-projection
--example adjective
--example heads
--example induction
--example copy
--example previous
--example pronoun
--preset gpt2
--preset t5
--preset neox
--preset phi
--preset llama3
--bug scale-missing
--bug softmax-axis=query
--rule 'scaled_scores[q,k] = scores[q,k] / (1 + abs(q - k))'
--rule 'weights[q,k] = sigmoid(scaled_scores[q,k])'
"""


def run(program, words, target):
    import shlex

    made = subprocess.run(
        [program, *shlex.split(words), "-o", target], capture_output=True, text=True, check=False
    )
    return made


def column_number(letters):
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


class Book:
    """The cells of a workbook, by an XML parser and a reader of our own: no code of the program."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        book = ET.fromstring(self.zip.read("xl/workbook.xml"))
        links = ET.fromstring(self.zip.read("xl/_rels/workbook.xml.rels"))
        targets = {each.get("Id"): each.get("Target") for each in links}
        self.paths = {}
        for sheet in book.iter(NAMES + "sheet"):
            key = next(value for name, value in sheet.attrib.items() if name.endswith("}id"))
            target = targets[key]
            path = target[1:] if target.startswith("/") else "xl/" + target
            self.paths[sheet.get("name")] = path
        self.names = {each.get("name"): each.text for each in book.iter(NAMES + "definedName")}
        self.strings = []
        if "xl/sharedStrings.xml" in self.zip.namelist():
            for item in ET.fromstring(self.zip.read("xl/sharedStrings.xml")):
                self.strings.append("".join(t.text or "" for t in item.iter(NAMES + "t")))
        self.sheets = {}

    def cells(self, name):
        if name not in self.sheets:
            cells = {}
            for cell in ET.fromstring(self.zip.read(self.paths[name])).iter(NAMES + "c"):
                value = cell.find(NAMES + "v")
                text = "".join(t.text or "" for t in cell.iter(NAMES + "t"))
                kind = cell.get("t", "n")
                if value is not None:
                    text = value.text
                    if kind == "s":
                        text = self.strings[int(text)]
                    elif kind in ("n", "b"):
                        text = float(text)
                    elif kind == "e":
                        text = math.nan
                cells[cell.get("r")] = text
            self.sheets[name] = cells
        return self.sheets[name]


def letters_of(column):
    text = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


def places(book):
    """The addresses of all cells of each tensor: name -> (shape, [(sheet, address)])."""
    record = book.cells("attn_explain")
    found = {}
    row = 2
    while f"A{row}" in record:
        name, label, moves = (record.get(f"{c}{row}", "") for c in "ABC")
        sheet, first = book.names[label].rsplit("!", 1)
        match = re.match(r"\$([A-Z]+)\$(\d+)", first)
        top, left = int(match[2]) - 1, column_number(match[1])
        order = list(book.paths)
        origin = order.index(sheet.strip("'"))
        steps = [list(map(int, each.split(",")[1:])) for each in moves.split(";") if each]
        shape = [each[0] for each in steps]
        cells = []
        for flat in np.ndindex(*shape):
            at = [top, left, origin]
            for i, step in zip(flat, steps):
                for k in range(3):
                    at[k] += i * step[1 + k]
            cells.append((order[at[2]], letters_of(at[1]) + str(at[0] + 1)))
        found[name] = (shape, cells)
        row += 1
    return found


def without_results(path, target, change=None):
    """Copies a workbook without stored results of formulas, and with one changed cell."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name).decode()
            data = re.sub(r"(</f>)<v>[^<]*</v>", r"\1", data)
            if change and name == change[0]:
                data, count = re.subn(
                    rf'(<c r="{change[1]}" s="\d+">)<v>[^<]*</v>', rf"\g<1><v>{change[2]}</v>", data
                )
                assert count == 1, change
            new.writestr(name, data)


def numbers(data):
    return np.array(data, dtype=object).ravel()


def expected_of(data):
    def number(value):
        if isinstance(value, bool):
            return float(value)
        return float(value)

    return [number(each) for each in numbers(data)]


def compare(label, places_of, steps, book):
    worst, bad = 0.0, []
    for name, (_, cells) in places_of.items():
        if name not in steps:
            continue
        for wanted, (sheet, address) in zip(expected_of(steps[name]["data"]), cells):
            got = book.cells(sheet).get(address, "")
            if not isinstance(got, float):
                bad.append((name, address, got, wanted))
                continue
            if abs(got) > 1e290:
                got = math.copysign(math.inf, got)
            if math.isnan(wanted) and math.isnan(got) or got == wanted:
                continue
            off = abs(got - wanted) / max(1.0, abs(wanted))
            worst = max(worst, off)
            if not off <= 1e-6:
                bad.append((name, address, got, wanted))
    if bad:
        print(f"{label}: {len(bad)} cells differ, the first {bad[0]}")
    return worst, len(bad)


def changed_parameters(steps, folder, index):
    """Changes one number of a parameter; returns its name and a file with all parameters."""
    given = {}
    for name, step in steps.items():
        if step["kind"] == "parameter" or name == "embedding":
            given[name] = np.array(step["data"], dtype=step["dtype"])
    chosen = next((n for n in ("w_query", "w_qkv", "w_key") if n in given), None)
    if chosen is None:
        return None
    given[chosen].flat[0] = round(float(given[chosen].flat[0]) + 0.5, 3)
    path = folder / f"changed{index}.npz"
    np.savez(path, **given)
    return chosen, float(given[chosen].flat[0]), path


def main():
    if np is None or not shutil.which("soffice") or not shutil.which("ssconvert"):
        print("skipped: needs NumPy, soffice and ssconvert")
        return 0
    program = str(Path(sys.argv[1]).resolve())
    walks = WALKS.strip("\n").split("\n")
    walks = list(dict.fromkeys(["", *walks]))
    names = subprocess.run([program, "attentions", "--json"], capture_output=True, text=True)
    walks += [f"--attention {each['name']}" for each in json.loads(names.stdout)]
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    last = int(sys.argv[3]) if len(sys.argv) > 3 else len(walks)
    folder = Path(tempfile.mkdtemp())
    books = {}
    refused = 0
    for i, walk in list(enumerate(walks))[first:last]:
        if "--dtype" not in walk:
            walk += " --dtype float64"  # spreadsheets compute in double precision
        made = run(program, walk, folder / f"w{i}.xlsx")
        if made.returncode == 2:
            print(f"refused: {walk}: {made.stderr.strip()}")
            refused += 1
            continue
        for line in made.stderr.splitlines():
            if "spreadsheet" in line:
                print(f"note: {walk}: {line}")
        run(program, walk, folder / f"w{i}.json")
        steps = {s["name"]: s for s in json.loads((folder / f"w{i}.json").read_text())["steps"]}
        book = Book(folder / f"w{i}.xlsx")
        where = places(book)
        without_results(folder / f"w{i}.xlsx", folder / f"a{i}.xlsx")
        books[f"a{i}"] = (walk, where, steps)
        changed = changed_parameters(steps, folder, i)
        if changed:
            name, value, path = changed
            again = run(program, walk + f" --weights {path}", folder / f"c{i}.json")
            if again.returncode == 0:
                sheet, address = where[name][1][0]
                without_results(
                    folder / f"w{i}.xlsx",
                    folder / f"c{i}.xlsx",
                    (book.paths[sheet], address, value),
                )
                text = (folder / f"c{i}.json").read_text()
                later = {s["name"]: s for s in json.loads(text)["steps"]}
                books[f"c{i}"] = (walk + " (changed)", where, later)
            else:
                print(f"not changed: {walk}: {again.stderr.strip()[:150]}")
    files = [str(folder / f"{each}.xlsx") for each in books]
    subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation=file://{folder}/profile",
            "--headless",
            "--convert-to",
            "xlsx",
            "--outdir",
            folder / "lo",
            *files,
        ],
        capture_output=True,
        check=False,
    )
    (folder / "gn").mkdir()
    failed, cells = 0, 0
    worst = 0.0
    for each, (walk, where, steps) in books.items():
        subprocess.run(
            ["ssconvert", "--recalc", folder / f"{each}.xlsx", folder / "gn" / f"{each}.xlsx"],
            capture_output=True,
            check=False,
        )
        for engine in ("lo", "gn"):
            book = Book(folder / engine / f"{each}.xlsx")
            off, bad = compare(f"{engine} {each} {walk}", where, steps, book)
            worst = max(worst, off)
            failed += bad > 0
        cells += sum(len(c) for _, c in where.values())
    print(
        f"{len(books)} workbooks, {cells} cells, by two programs: largest difference {worst:.2g}; "
        f"{failed} failed, {refused} refused"
    )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
