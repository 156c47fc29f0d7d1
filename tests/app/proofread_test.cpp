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

/// A walk that NumPy computed from x, W_Q, W_K and W_V, printed to three decimals.
const std::string inputs =
    "x = [[1.000, 0.000], [0.000, 1.000], [1.000, 1.000]]\n\n"
    "Wq = [[1.000, 0.500], [-0.500, 1.000]]\n\nWk = [[0.500, 1.000], [1.000, -1.000]]\n\n"
    "Wv = [[2.000, 0.000], [1.000, 3.000]]\n\n";
const std::string results =
    "Q = [[1.000, 0.500], [-0.500, 1.000], [0.500, 1.500]]\n\n"
    "K = [[0.500, 1.000], [1.000, -1.000], [1.500, 0.000]]\n\n"
    "V = [[2.000, 0.000], [1.000, 3.000], [3.000, 3.000]]\n\n"
    "scores = [[1.000, 0.500, 1.500], [0.750, -1.500, -0.750], [1.750, -1.000, 0.750]]\n\n"
    "weights = [[0.320, 0.225, 0.456], [0.645, 0.131, 0.223], [0.611, 0.087, 0.301]]\n\n"
    "output = [[2.231, 2.040], [2.092, 1.064], [2.214, 1.166]]\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != text.npos);
    return text.replace(text.find(from), from.size(), to);
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++count;
    return count;
}

/// Checks that the document has one wrong cell, which is named like this.
void names_only(const program::Result& seen, const std::string& cell) {
    CHECK_MESSAGE(seen.exit_code == 1, seen.out << seen.err);
    CHECK_MESSAGE(has(seen.out, cell), seen.out);
    CHECK_MESSAGE(count_of(seen.out, "should be") == 1, seen.out);
}

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
        CHECK(seen["wrong"][0]["expected"] == "3.000");
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
        for (const char* const name : {"a.txt", "a.html", "a.md", "a.tex"}) {
            const auto none = read(name, "<p>No matrix here.</p>\n");
            CHECK_MESSAGE(none.exit_code == 3, name << none.err);
            CHECK_MESSAGE(none.out == "no matrix was found\n", none.out);
        }
    }

    TEST_CASE("a wrong cell of K is named although right scores follow, and they are not accused") {
        const auto right = read("a.md", inputs + results);
        CHECK_MESSAGE(right.exit_code == 0, right.out << right.err);
        for (const char* const slip : {"[1.700, 0.000]", "[-1.500, 0.000]"}) {
            names_only(read("a.md", inputs + with(results, "[1.500, 0.000]", slip)),
                       " should be 1.500");
        }
        names_only(read("a.md", inputs + with(results, "[-0.500, 1.000], [0.500, 1.500]",
                                              "[-0.500, 1.000], [0.900, 1.500]")),
                   "Q[2,0]: 0.900 should be 0.500");
    }

    TEST_CASE("what should be printed is computed from the inputs, not from rounded numbers") {
        const auto seen = read("a.md", inputs + with(results, "[2.092, 1.064]", "[2.000, 1.064]"));
        CHECK_MESSAGE(has(seen.out, "output[1,0]: 2.000 should be 2.092"), seen.out);
    }

    TEST_CASE("query, key and value with fewer digits than the rest were rounded") {
        // NumPy, rounded from more digits to 2, 4 and 4 decimals.
        const std::string text =
            "Q = [[-2.37, 0.86], [-2.24, 0.40]]\n\nK = [[1.22, 0.06], [-1.28, -0.59]]\n\n"
            "V = [[-0.26, -0.18], [-0.20, -0.11]]\n\n"
            "weights = [[0.0219, 0.9781], [0.0223, 0.9777]]\n\n"
            "output = [[-0.2042, -0.1115], [-0.2042, -0.1115]]\n";
        const auto right = read("a.md", text);
        CHECK_MESSAGE(right.exit_code == 0, right.out << right.err);
        names_only(read("a.md", with(text, "[-0.2042, -0.1115]]", "[-0.2402, -0.1115]]")),
                   "output[1,0]: -0.2402 should be ");
    }

    TEST_CASE("numbers with three significant digits are cut at their own last digit") {
        const std::string text =
            "Q = [[1.79, 0.437], [0.0965, -1.86], [-0.277, -0.355]]\n\n"
            "K = [[-0.0827, -0.627], [-0.0438, -0.477], [-1.31, 0.885]]\n\n"
            "V = [[0.881, 1.71], [0.05, -0.405], [-0.545, -1.55]]\n\n"
            "scores = [[-0.422, -0.287, -1.96], [1.16, 0.885, -1.78], [0.245, 0.181, 0.0506]]\n\n"
            "weights = [[0.41, 0.452, 0.138], [0.513, 0.422, 0.0644], [0.354, 0.338, 0.308]]\n\n"
            "output = [[0.309, 0.306], [0.438, 0.5], [0.161, -0.00875]]\n";
        names_only(read("a.md", text), "output[1,1]: 0.5 should be 0.60");
    }

    TEST_CASE("one matrix behind two names is one matrix") {
        const std::string text =
            "\\[ V = \\left[\\begin{array}{cc} 1.00 & 2.00 \\\\ 3.00 & 4.00 "
            "\\end{array}\\right] \\]\n"
            "\\[ A = \\begin{pmatrix} 0.25 & 0.75 \\\\ 0.50 & 0.50 \\end{pmatrix} \\]\n"
            "\\[ O = AV = \\begin{bmatrix} 2.50 & 3.50 \\\\ 2.00 & 3.70 \\end{bmatrix} \\]\n";
        const auto seen = read("a.tex", text);
        names_only(seen, "O[1,1]: 3.70 should be 3.00");
        CHECK_MESSAGE(count_of(seen.out, "AV") == 1, seen.out);  // in its line
        // Query, key and value may be equal.
        const auto equal =
            read("b.md",
                 "Q = K = V = [[1.000, 0.000], [0.000, 1.000]]\n\nweights = [[0.670, "
                 "0.330], [0.330, 0.670]]\n\nand so on.\n");
        CHECK_MESSAGE(equal.exit_code == 0, equal.out << equal.err);
    }

    TEST_CASE("layers with the same headings are walks of their own") {
        const std::string second =
            with(with(with(results, "[1.500, 0.000]", "[1.500, 0.000]"), "Q =", "Queries ="),
                 "K =", "Keys =");
        const std::string first = "## Layer 1\n\n" + second;
        const std::string other =
            "\n## Layer 2\n\nQueries = [[2.000, 1.500], [0.500, 2.000], [1.500, 2.500]]\n\n"
            "Keys = [[0.000, 0.500], [0.500, -1.500], [1.000, -0.500]]\n\n"
            "V = [[1.000, 0.000], [0.500, 1.500], [1.500, 1.500]]\n\n"
            "weights = [[0.375, 0.091, 0.534], [0.706, 0.050, 0.244], [0.648, 0.032, 0.320]]\n\n"
            "output = [[1.221, 0.938], [1.097, 0.441], [1.144, 0.528]]\n";
        const auto right = read("a.md", first + other);
        CHECK_MESSAGE(right.exit_code == 0, right.out << right.err);
        const auto wrong = read("a.md", with(first, "2.040", "2.400") + other);
        CHECK(wrong.exit_code == 1);
        CHECK_MESSAGE(has(wrong.out, "Layer 1\n"), wrong.out);
        CHECK_MESSAGE(has(wrong.out, "output[0,1]: 2.400 should be 2.040"), wrong.out);
        CHECK_MESSAGE(count_of(wrong.out, "should be") == 1, wrong.out);
        // Without sections only the last of two is judged, and that is reported.
        const auto twice = read("a.md", second + "\nAnd then, in another text:\n\n" +
                                            other.substr(other.find("Queries")));
        CHECK_MESSAGE(twice.exit_code == 3, twice.out << twice.err);
        CHECK_MESSAGE(has(twice.out, "scores was not judged: the document has two matrices"),
                      twice.out);
    }

    TEST_CASE("a name is read without the methods that print it, and an unknown one is reported") {
        const auto book = [](const std::string& name) {
            return R"json({"cells": [{"cell_type": "code", "source": ["V = x @ W_v\n", "V.round(2)"],
                "outputs": [{"data": {"text/plain": ["array([[1., 2.],\n", "       [3., 4.]])"]}}]},
                {"source": "weights.round(2)", "outputs": [{"data": {"text/plain":
                "array([[0.25, 0.75],\n       [0.5 , 0.5 ]])"}}]},
                {"source": ")json" +
                   name + R"json(", "outputs": [{"data": {"text/plain":
                "array([[2.5, 3.5],\n       [2. , 3.9]])"}}]}]})json";
        };
        const auto seen = read("a.ipynb", book("output.round(2)"));
        CHECK_MESSAGE(seen.exit_code == 1, seen.out << seen.err);
        CHECK_MESSAGE(has(seen.out, "output[1,1]: 3.9 should be 3.0"), seen.out);
        const auto unknown = read("a.ipynb", book("mystery"));
        CHECK_MESSAGE(unknown.exit_code == 3, unknown.out << unknown.err);
        // Damaged notebooks are no fault of the program.
        for (const char* const data : {"7", "null", "[]"}) {
            const auto odd =
                read("b.ipynb",
                     std::string(R"json({"cells":[{"outputs":[{"data":)json") + data + "}]}]}");
            CHECK_MESSAGE(odd.exit_code == 3, odd.err);
            CHECK_MESSAGE(odd.out == "no matrix was found\n", odd.out << odd.err);
        }
    }

    TEST_CASE("an array that was shortened is left out, and the rest is judged") {
        const auto seen =
            read("a.md",
                 "The embedding table:\ntensor([[ 0.12, -0.50, ...,  0.31],\n        [ "
                 "0.77,  0.11, ..., -0.20]])\n\nV = [[1.00, 2.00], [3.00, 4.00]]\n\n"
                 "weights = [[0.25, 0.75], [0.50, 0.50]]\n\n"
                 "output = [[2.50, 3.50], [2.00, 3.70]]\n");
        CHECK_MESSAGE(seen.exit_code == 1, seen.out << seen.err);
        CHECK(has(seen.out, "output[1,1]: 3.70 should be 3.00"));
        CHECK_MESSAGE(has(seen.out, "was not judged: it was shortened"), seen.out);
    }

    TEST_CASE("tables of LaTeX with words, and matrices of MathML") {
        const auto table = [](const std::string& title, const std::string& rows) {
            return "\\begin{table}\\caption{" + title +
                   "}\n\\begin{tabular}{lrr}\n\\toprule\n & $d_1$ & $d_2$ \\\\\n\\midrule\n" +
                   rows + "\\bottomrule\n\\end{tabular}\\end{table}\n";
        };
        const auto latex =
            read("a.tex",
                 table("Values $V$", "the & $1.00$ & $2.00$ \\\\\ncat & $3.00$ & $4.00$ \\\\\n") +
                     table("Attention weights",
                           "the & $0.25$ & $0.75$ \\\\\ncat & $0.50$ & $0.50$ \\\\\n") +
                     table("Output", "the & $2.50$ & $3.50$ \\\\\ncat & $2.00$ & $3.70$ \\\\\n"));
        CHECK_MESSAGE(latex.exit_code == 1, latex.out << latex.err);
        CHECK_MESSAGE(has(latex.out, "3.70 should be 3.00"), latex.out);
        const auto math = [](const std::string& name, const std::string& rows) {
            return "<p><math><mi>" + name + "</mi><mo>=</mo><mrow><mo>[</mo>\n<mtable>" + rows +
                   "</mtable><mo>]</mo></mrow></math></p>";
        };
        const auto row = [](const std::string& a, const std::string& b) {
            return "<mtr> <mtd><mn>" + a + "</mn></mtd> <mtd><mrow><mo>\xE2\x88\x92</mo><mn>" + b +
                   "</mn></mrow></mtd></mtr>";
        };
        const auto page =
            read("a.html", math("V", row("1.00", "2.00") + row("3.00", "4.00")) +
                               "<p>The attention weights = [[0.25, 0.75], [0.50, 0.50]].</p>" +
                               math("output", row("2.50", "3.50") + row("2.00", "3.70")));
        CHECK_MESSAGE(page.exit_code == 1, page.out << page.err);
        CHECK_MESSAGE(has(page.out,
                          "output[1,1]: \xE2\x88\x92"
                          "3.70 should be -3.00"),
                      page.out);
    }

    TEST_CASE("a page that nests too deeply, and UTF-16, have their own reasons") {
        std::string page, wide;
        for (int i = 0; i < 6'000; ++i) page += "<div>";
        const auto deep = read("a.html", page + "<svg>" + lesson);
        CHECK(deep.exit_code == 2);
        CHECK_MESSAGE(has(deep.err, "more than 5,000 elements are nested"), deep.err);
        std::string drawing = "<svg>", paragraphs;
        for (int i = 0; i < 6'000; ++i) paragraphs += "<p>";
        for (int i = 0; i < 6'000; ++i) drawing += "<path d='M 0'/>";
        CHECK(read("b.html", drawing + "</svg>" + paragraphs + lesson).exit_code == 1);
        for (const char letter : lesson) wide += {letter, '\0'};
        const auto utf16 = read("c.html", wide);
        CHECK(utf16.exit_code == 2);
        CHECK_MESSAGE(has(utf16.err, "is in UTF-16"), utf16.err);
    }

    TEST_CASE("results with more digits than the inputs show a small slip") {
        // NumPy, from x and matrices with 2 decimals; 1.2325 with two digits exchanged.
        const std::string text =
            "x = [[-0.01, 1.05], [0.74, 0.72], [1.62, -1.21]]\n\n"
            "Wq = [[-0.63, -1.32], [-0.11, 1.00]]\n\nWk = [[-0.02, 0.50], [-1.91, 0.15]]\n\n"
            "Wv = [[-0.91, 1.78], [0.89, 0.95]]\n\n"
            "Q = [[-0.1092, 1.0632], [-0.5454, -0.2568], [-0.8875, -3.3484]]\n\n"
            "K = [[-2.0053, 0.1525], [-1.3900, 0.4780], [2.2787, 0.6285]]\n\n"
            "V = [[0.9436, 0.9797], [-0.0326, 2.0012], [-2.5511, 1.7341]]\n\n"
            "weights = [[0.3081, 0.3753, 0.3166], [0.5210, 0.3874, 0.0916], "
            "[0.7482, 0.2353, 0.0165]]\n\n"
            "output = [[-0.5291, 1.6019], [0.2454, 1.4445], [0.6563, 1.2325]]\n";
        const auto right = read("a.md", text);
        CHECK_MESSAGE(right.exit_code == 0, right.out << right.err);
        names_only(read("a.md", with(text, "1.2325", "1.2235")),
                   "output[2,1]: 1.2235 should be 1.2325");
    }

    TEST_CASE("a misprint is no other setting: masked scores show the mask, most rows the scale") {
        const std::string text =
            "q = [[0.861, -0.478, -2.12],\n [0.465, 0.88, -0.112],\n [0.254, 1.83, 1.11]]\n\n"
            "k = [[-0.358, 1.08, -0.568],\n [0.407, 0.17, -0.537],\n [-0.0194, -0.647, 0.202]]\n\n"
            "v = [[-0.439, -0.491, -2.31],\n [-0.868, 0.497, -0.494],\n [-0.087, 1.68, 0.815]]\n\n"
            "scores = [[0.384, 1.41, -0.136],\n [0.845, 0.399, -0.601],\n [1.24, -0.184, "
            "-0.962]]\n\n"
            "masked_scores = [[0.222, -inf, -inf],\n [0.488, 0.23, -inf],\n [0.716, -0.106, "
            "-0.555]]\n\n"
            "attention_weights = [[1, 0, 0],\n [0.564, 0.436, 0.1],\n [0.582, 0.255, 0.163]]\n\n"
            "context = [[-0.439, -0.491, -2.31],\n [-0.626, -0.0602, -1.52],\n [-0.491, 0.115, "
            "-1.34]]\n";
        names_only(read("a.txt", text), "attention_weights[1,2]: 0.1 should be 0");
        const auto right = read("a.txt", with(text, "0.436, 0.1]", "0.436, 0]"));
        CHECK_MESSAGE(right.exit_code == 0, right.out << right.err);
    }

    TEST_CASE("vectors of words, one in a line, are the rows of a matrix") {
        const auto listed =
            read("a.md",
                 "- v_1 (\"the\") = [1.00, 2.00]\n- v_2 (\"cat\") = [3.00, 4.00]\n\n"
                 "Weights for \"the\": [0.25, 0.75]\nWeights for \"cat\": [0.50, "
                 "0.50]\n\noutput_1 = [2.50, 3.50]\noutput_2 = [2.00, 3.70]\n");
        names_only(listed, "output of \"cat\", column 2: 3.70 should be 3.00");
    }
}
