// Tensors as people paste them: from a page, a spreadsheet, a homework.
#include "tests/support/program.hpp"

using program::has;
using program::run;

namespace {

/// Query, key and value of two tokens by hand; the second row of the result has one number that is
/// off by 0.2.
const char* const by_hand =
    "Q = [[1, 0], [0, 1]]\n"
    "K = [[1, 1], [0, 2]]\n"
    "V = [[1, 2], [3, 4]]\n"
    "scores = [[1, 0], [1, 2]]\n"
    "weights = [[0.6698, 0.3302], [0.3302, 0.6698]]\n"
    "out = [[1.66, 2.66], [2.34, 3.54]]\n";

}  // namespace

TEST_SUITE("app: look") {
    TEST_CASE("the cell of a pasted result that does not follow is named, with what it should be") {
        const auto seen = run("look", by_hand);
        CHECK(seen.exit_code == 1);
        CHECK(has(seen.out, "out[1,1] is 3.54, and should be 3.34"));
        CHECK(has(seen.err, "out is context"));
        CHECK(has(seen.out, "query as given"));
    }

    TEST_CASE("what follows is said to, at the decimals that are printed") {
        std::string right = by_hand;
        right.replace(right.find("3.54"), 4, "3.34");
        const auto seen = run("look -", right);
        CHECK(seen.exit_code == 0);
        CHECK(has(seen.out, "scores, weights, out follow from the rest"));
    }

    TEST_CASE("a document of tables and LaTeX is read, and its matrices as print writes them") {
        const auto seen =
            run("look -q",
                "The input is\n\n**X**\n\n| | d1 | d2 |\n|---|---|---|\n| the | 1 | 0 "
                "|\n| cat | 0 | 1 |\n\n"
                "$W^Q = \\begin{bmatrix} 1 & 2 \\\\ 0 & 1 \\end{bmatrix}$,\n"
                "$W^K = \\begin{pmatrix} 1 & 0 \\\\ 0 & 1 \\end{pmatrix}$\n"
                "$W^V = \\begin{pmatrix} 1 & 0 \\\\ 0 & 2 \\end{pmatrix}$\n\n"
                "$Q = \\begin{bmatrix} 1 & 2 \\\\ 0 & 1 \\end{bmatrix}$\n"
                "$QK^T = \\begin{bmatrix} 1 & 2 \\\\ 0 & 2 \\end{bmatrix}$\n");
        CHECK(seen.exit_code == 1);
        CHECK(has(seen.out, "QK_T[1,1] is 2, and should be 1"));
        CHECK(has(seen.err, "--weight-layout in-out"));
    }

    TEST_CASE("weights alone are a walk, and a row that does not sum to 1 is named") {
        const auto seen = run("look --tokens the,cat --heatmap -q", "0.5\t0.5\n0.2\t0.8\n");
        CHECK(seen.exit_code == 0);
        CHECK(has(seen.out, "cat 0.2000  0.8000"));
        const auto off = run("look -q", "attn = [[0.5, 0.4], [0.2, 0.8]]");
        CHECK(off.exit_code == 1);
        CHECK(has(off.out, "weights[0] sums to 0.9, and each row should sum to 1"));
    }

    TEST_CASE("a cell that is no number, and tensors that begin no walk, are refused") {
        const auto letter = run("look", "S = \\begin{bmatrix} 1 & a \\\\ 0 & 1 \\end{bmatrix}");
        CHECK(letter.exit_code == 2);
        CHECK(has(letter.err, "'a' is not a number"));
        const auto lone = run("look", "W_Q = [[1, 2], [3, 4]]");
        CHECK(lone.exit_code == 2);
        CHECK(has(lone.err, "no walk begins with W_Q"));
    }

    TEST_CASE("an array without a name that is no weights asks what it is") {
        const auto refused = run("look", "[[1, 2], [3, 4]]");
        CHECK(refused.exit_code == 2);
        CHECK(has(refused.err, "say what it is, as in scores = [[1, 2], [3, 4]]"));
        CHECK(has(run("look -q", "scores = [[1, 2], [3, 4]]").out, "0.2689, 0.7311"));
    }
}
