// Documents in print: pages, notebooks, Markdown and LaTeX, with right and wrong cells.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::Folder;
using program::has;
using program::run;

namespace {

/// Writes a document, and proofreads it.
program::Result read(const std::string& name, const std::string& text,
                     const std::string& flags = "") {
    const Folder folder;
    std::ofstream(folder / name) << text;
    return run("proofread '" + (folder / name) + "' " + flags);
}

const std::string lesson =
    "<html><head><script>var q = [[9, 9], [9, 9]];</script></head><body><p>Values:</p>"
    "<table><tr><th></th><th>0</th><th>1</th></tr>"
    "<tr><th>dog</th><td>1.000</td><td>2.000</td></tr>"
    "<tr><th>bought</th><td>3.000</td><td>4.000</td></tr></table>"
    "<p>Attention weights:</p><pre>[[0.250, 0.750],\n [0.500, 0.500]]</pre>"
    "<p>Output:</p><pre>[[2.500, 3.500],\n [2.000, 3.690]]</pre></body></html>";

}  // namespace

TEST_SUITE("app: proofread") {
    TEST_CASE("the wrong cell of a page is printed in its line, with what it should be") {
        const auto seen = read("lesson.html", lesson);
        CHECK_MESSAGE(seen.exit_code == 1, seen.out << seen.err);
        CHECK_MESSAGE(
            has(seen.out,
                "[2.000, 3.690]]\n  Output of \"bought\", column 2: 3.690 should be 3.000"),
            seen.out);
        std::string right = lesson;
        right.replace(right.find("3.690"), 5, "3.000");
        const auto again = read("lesson.htm", right);
        CHECK_MESSAGE(again.exit_code == 0, again.out << again.err);
        CHECK(has(again.out, "Output follows from the rest"));
    }

    TEST_CASE("in JSON, with the steps that the matrices are") {
        const auto seen = nlohmann::json::parse(read("lesson.html", lesson, "--json").out);
        REQUIRE(seen["wrong"].size() == 1);
        CHECK(seen["wrong"][0]["row"] == 1);
        CHECK(seen["wrong"][0]["column"] == 1);
        CHECK(seen["wrong"][0]["printed"] == "3.690");
        CHECK(seen["wrong"][0]["should_be"] == "3.000");
        CHECK(!seen["matrices"].empty());
    }

    TEST_CASE("numbers with powers have significant digits, beside others in decimals") {
        // PyTorch: q @ k.T / 2**0.5 and its softmax, printed; one weight is off by 0.2.
        const std::string inputs =
            "Q = tensor([[ 3.2131,  0.6993],\n        [ 0.3559, -2.4549],\n"
            "        [ 0.1847, -5.4730]])\n\n"
            "K = tensor([[ 1.3500,  4.0445],\n        [-5.7407,  3.9097],\n"
            "        [ 2.0882,  4.9517]])\n\n"
            "V = tensor([[-3.4585,  1.1958],\n        [ 1.6769, -0.3194],\n"
            "        [ 3.7056,  3.2627]])\n\n";
        const std::string right =
            "weights = tensor([[1.0661e-01, 1.0054e-08, 8.9339e-01],\n"
            "        [6.8425e-01, 1.4514e-01, 1.7060e-01],\n"
            "        [5.8823e-01, 3.9242e-01, 1.9349e-02]])\n";
        const auto clean = read("a.md", inputs + right);
        CHECK_MESSAGE(clean.exit_code == 0, clean.out << clean.err);
        std::string wrong = right;
        wrong.replace(wrong.find("1.4514"), 6, "3.4514");
        const auto seen = read("a.md", inputs + wrong);
        CHECK(seen.exit_code == 1);
        CHECK_MESSAGE(has(seen.out, "weights[1,1]: 3.4514e-01 should be 1.451"), seen.out);
    }

    TEST_CASE("the cells of a notebook and what they printed are its text") {
        const std::string book =
            R"json({"cells": [{"cell_type": "code", "source": ["V = [[1.0, 2.0], [3.0, 4.0]]\n"], "outputs": []},
                {"cell_type": "code", "source": "print(weights)", "outputs": [{"output_type": "stream",
                 "text": ["weights = [[0.25, 0.75], [0.50, 0.50]]\n"]}]},
                {"cell_type": "code", "source": "out", "outputs": [{"output_type": "execute_result",
                 "data": {"text/plain": "out = [[2.50, 3.50], [2.00, 3.90]]"}}]}]
    })json";
        const auto seen = read("a.ipynb", book);
        CHECK(seen.exit_code == 1);
        CHECK_MESSAGE(has(seen.out, "out[1,1]: 3.90 should be 3.00"), seen.out);
        CHECK(read("b.ipynb", "{}").exit_code == 2);
        CHECK(read("c.ipynb", "[1").exit_code == 2);
    }

    TEST_CASE("nothing is judged where nothing follows from the rest") {
        const auto seen = read("a.md", "Q = [[1, 2], [3, 4]]\n\nand then we go on.\n");
        CHECK_MESSAGE(seen.exit_code == 3, seen.out << seen.err);
        CHECK(has(seen.out, "no walk begins with Q"));
        CHECK(read("a.txt", "No matrix here.\n").exit_code == 2);
    }
}
