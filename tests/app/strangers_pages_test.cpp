// Pages as strangers write them: tokens as columns_page, one query, output below a formula.
#include <fstream>

#include "tests/support/program.hpp"

using program::Folder;
using program::has;
using program::run;

namespace {

/// Reads a page with `look` and with `proofread`.
void both_say(const std::string& text, int code, const std::string& words) {
    const Folder folder;
    const std::string page = folder / "page.txt";
    std::ofstream(page) << text;
    for (const std::string command : {"look -q ", "proofread "}) {
        const auto seen = run(command + page);
        CHECK_MESSAGE(seen.exit_code == code, (command + text + seen.out + seen.err));
        // The verdict may be on two lines.
        std::string line = seen.out;
        for (std::size_t at = 0; (at = line.find("\n# ", at)) != line.npos;)
            line.replace(at, 3, " ");
        CHECK_MESSAGE(has(line, words), (command + text + seen.out + seen.err));
    }
}

std::string misprinted(std::string text, const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != text.npos);
    return text.replace(text.find(from), from.size(), to);
}

const std::string columns_page =
    "W^q =\n[1 0 0]\n[1 0 0]\nQ = W^q I =\n[0 0 -1 2]\n[0 0 -1 2]\nK =\n[0 0 0 0]\n[0 0 -1 2]\n"
    "V =\n[-1 0 1 1]\n[-1 0 2 -1]\nS = K^T Q =\n[0 0 0 0]\n[0 0 0 0]\n[0 0 1 -2]\n[0 0 -2 4]\n"
    "weights =\n[0.2500 0.2500 0.2060 0.0176]\n[0.2500 0.2500 0.2060 0.0176]\n"
    "[0.2500 0.2500 0.5601 0.0024]\n[0.2500 0.2500 0.0279 0.9624]\n"
    "O = V A =\n[0.2500 0.2500 0.3819 0.9471]\n[0.0000 0.0000 0.8862 -0.9752]\n";

const std::string query_page =
    "inputs =\n[0.22 0.52 0.55]\n[0.05 0.36 0.22]\n[0.69 0.16 0.07]\n[0.94 0.56 0.08]\n"
    "W_q =\n[0.723 0.158]\n[0.250 0.293]\n[0.697 0.464]\n"
    "W_k =\n[0.215 0.447]\n[0.121 0.918]\n[0.566 0.472]\n"
    "W_v =\n[0.315 0.043]\n[0.752 0.543]\n[0.767 0.790]\nq_3 = [0.5877, 0.1884]\n"
    "keys =\n[0.4215 0.8353]\n[0.1788 0.4567]\n[0.2073 0.4884]\n[0.3151 0.9720]\n"
    "attn_scores_3 = [0.4051, 0.1911, 0.2138, 0.3683]\n"
    "attn_weights_3 = [0.2697, 0.2319, 0.2356, 0.2628]\ncontext_vec_3 = [0.6403, 0.4297]\n";

const std::string padded_page =
    "scores = [[0.244, -0.747, -1.561, -inf], [-0.352, -1.281, 0.289, -inf],\n"
    "          [0.478, 0.451, 0.752, -inf], [-0.706, -0.424, -0.232, -inf]]\n"
    "attn = [[0.6512, 0.2417, 0.1071, 0.0000], [0.3036, 0.1199, 0.5764, 0.0000],\n"
    "        [0.3041, 0.2960, 0.3999, 0.0000], [0.2543, 0.3372, 0.4085, 0.0000]]\n";

}  // namespace

TEST_SUITE("app: look at pages of strangers") {
    TEST_CASE("a text whose tokens are columns is read, and its cells keep their places") {
        both_say(columns_page, 0, "S, weights, O follow from the rest");
        CHECK(has(run("look -q", columns_page).err, "each token is a column"));
        both_say(misprinted(columns_page, "0.5601", "0.7601"), 1, "weights[2,2]");
        both_say(misprinted(columns_page, "0.9471]", "0.7471]"), 1, "O[0,3]");
        both_say(
            "Q =\n[1 2 0]\n[0 1 3]\nK =\n[2 1 1]\n[1 0 1]\n"
            "S = K^T Q =\n[2 5 3]\n[1 4 0]\n[1 3 3]\n",
            1, "S[1,1]");
    }
    TEST_CASE("softmax over the queries is a mistake, not a text whose tokens are columns") {
        both_say(
            "scores = [[1.0, 2.0, 0.5], [0.5, 1.0, 1.5], [2.0, 0.0, 1.0]]\n"
            "weights = [[0.2312, 0.6652, 0.1863], [0.1402, 0.2447, 0.5065],\n"
            "           [0.6285, 0.0900, 0.3072]]\n",
            1, "softmax-axis=query");
    }
    TEST_CASE("the numbers of one query beside x are those of one row, which looks at all rows") {
        both_say(query_page, 0, "q, keys, attn_scores, attn_weights, context_vec follow");
        CHECK(has(run("look -q", query_page).err, "the query is that of row 2 of x"));
        both_say(misprinted(query_page, "0.2356", "0.2956"), 1, "attn_weights[0,2]");
    }
    TEST_CASE("scores that hide keys give no tolerance to a bias") {
        both_say(padded_page, 0, "attn follows from the rest");
        both_say(misprinted(padded_page, "0.5764", "0.4264"), 1, "attn[1,2]");
    }
    TEST_CASE("a number that hides a key has no digits to lose") {
        both_say(
            "scores + mask = array([[ 6.32650000e-01, -1.00000000e+09],\n"
            "       [-2.00785000e+00,  6.24950000e-01]])\n"
            "softmax = array([[0.85      , 0.        ],\n"
            "       [0.06705707, 0.93294293]])\n",
            1, "softmax[0,0]");
    }
    TEST_CASE("the output below a formula is not its last operand") {
        both_say(
            "q = {{0, 2}, {1, 1}}\nk = {{1, 0}, {1, 1}}\ns = q.Transpose[k]\n"
            "{{0, 2}, {1, 2}}\nweights = {{0.1956, 0.8044}, {0.3302, 0.6698}}\n",
            0, "s, weights follow from the rest");
        both_say(
            "q = [1 0; 0 2]\nk = [1 0; 1 1]\nv = [3 0; 0 3]\n"
            "scores = q * k'\n[1.0 1.0; 0.0 2.0]\n"
            "weights = [0.5 0.5; 0.1956 0.8044]\nweights * v\n[1.5 1.5; 0.5868 2.4132]\n",
            0, "scores, weights");
    }
    TEST_CASE("weights of 0.0 and 1.0 were rounded") {
        both_say(
            "Q = [[0, 2], [3, 4]]\nK = [[1, 2], [3, 5]]\nscores = [[4, 10], [11, 29]]\n"
            "softmax: [[0.0, 1.0], [0.0, 1.0]]\n",
            0, "scores, softmax follow from the rest");
    }
    TEST_CASE("decimal commas are read in brackets, and commas between rows") {
        both_say("scores =\n[0,4  1,0]\n[0,7  0,6]\nGewichte =\n[0,354  0,646]\n[0,525  0,475]\n",
                 0, "Gewichte follows from the rest");
        both_say("scores = [ 1 0 , 0 1 ]\nweights = [[0.731, 0.269], [0.269, 0.731]]\n", 0,
                 "weights follows from the rest");
    }
    TEST_CASE("a product of key and query in a sentence is scores") {
        both_say(
            "Let k_1 = (2, 0), k_2 = (0, 2), k_3 = (-2, 0) and q = (1, 1). Then the scores "
            "are k_i^T q = (2, 2, -2),\nalpha = (0.495, 0.495, 0.009).\n",
            0, "scores, alpha follow from the rest");
    }
    TEST_CASE("a row of weights that does not sum to 1 is reported, whatever its name") {
        const std::string head = "| from | The | cat | sat |\n|---|---|---|---|\n";
        const std::string text = head +
                                 "| The | 0.50 | 0.25 | 0.25 |\n| cat | 0.10 | 0.80 | 0.25 |\n"
                                 "| sat | 0.20 | 0.20 | 0.60 |\n";
        both_say(text, 1, "weights[1] sums to 1.15, but each row should sum to 1");
        both_say(
            "Q = [[0.4, 1.0], [0.7, 0.6]]\nK = [[0.2, 0.2], [0.1, 0.9]]\n"
            "weights = [[0.385, 0.615], [0.438, 0.412]]\n",
            1, "weights[1,1]");
    }
    TEST_CASE("shapes after names, fractions, and tables of one query are read") {
        both_say(
            "X = [[1, 0], [0, 1], [1, 1]]\nQ = X  [3, 2]\nK = X  [3, 2]\n"
            "scores =\n[1, 0, 1]\n[0, 1, 1]\n[1, 1, 2]\n",
            0, "scores follows from the rest");
        both_say(
            "weights =\n1/2 1/4 1/4\n1/3 1/3 1/3\nvalues =\n4 0\n8 4\n0 12\n"
            "output =\n4 4\n4 16/3\n",
            0, "output follows from the rest");
        const std::string table =
            "| token | score | exp | weight |\n|---|---|---|---|\n| cat | 2 | 7.389 | 0.665 |\n"
            "| sat | 0 | 1.000 | 0.090 |\n| mat | 1 | 2.718 | 0.245 |\n| sum | | 11.107 | 1 |\n";
        both_say(table, 0, "exp");
        both_say(misprinted(table, "0.090", "0.190"), 1, "weight[0,1]");
    }
    TEST_CASE("if two tensors are called scores, the rest shows which ones are") {
        const auto seen =
            run("look -q", "s = (1,2,1)^T\ne = (8, 6, 1)\nalpha = (0.880, 0.119, 0.001)\n");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
        CHECK_MESSAGE(has(seen.out, "alpha follows from the rest"), seen.out);
    }
    TEST_CASE("a viewer's layers are samples if there is one sample, and its texts name tokens") {
        const Folder folder;
        std::ofstream(folder / "view.json")
            << R"({"left_text": ["the", "cat"], "right_text": ["le", "chat"],
                   "attention": [[[[[1, 0], [0.5, 0.5]]]], [[[[0.2, 0.8], [0.3, 0.7]]]]]})";
        const auto seen = run("look -q " + (folder / "view.json"));
        CHECK_MESSAGE(seen.exit_code == 0, seen.err);
        CHECK_FALSE(has(seen.err, "left out"));
        const auto why = run("--weights " + (folder / "view.json") + " --only 'weights[1,cat]' -q");
        CHECK_MESSAGE(has(why.out, "0.3000, 0.7000"), (why.out + why.err));
    }
    TEST_CASE("states of an encoder and a decoder are memory and x") {
        both_say(
            "decoder_states = [[1, 0]]\nencoder_states = [[1, 0], [0, 2]]\n"
            "W_q = [[1, 0], [0, 1]]\nW_k = [[2, 0], [0, 1]]\nW_v = [[1, 1], [0, 1]]\n"
            "scores = [[2, 0]]\nweights = [[0.804, 0.196]]\ncontext = [[0.804, 1.196]]\n",
            0, "scores, weights, context follow from the rest");
    }
}
