// Tensors as people paste them: from a page, a spreadsheet, an assignment.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/terminal.hpp"

using program::has;
using program::run;

namespace {

/// Query, key and value of two tokens by hand.
const std::string inputs_by_hand =
    "Q = [[1, 0], [0, 1]]\n"
    "K = [[1, 1], [0, 2]]\n"
    "V = [[1, 2], [3, 4]]\n";

/// The second row of the result has one number that is off by 0.2.
const std::string by_hand = inputs_by_hand +
                            "scores = [[1, 0], [1, 2]]\n"
                            "weights = [[0.6698, 0.3302], [0.3302, 0.6698]]\n"
                            "out = [[1.66, 2.66], [2.34, 3.54]]\n";

}  // namespace

TEST_SUITE("app: look") {
    TEST_CASE("the wrong cell of a pasted result is named, with the right value") {
        const auto seen = run("look", by_hand);
        CHECK(seen.exit_code == 1);
        CHECK(has(seen.out, "out[1,1] is 3.54, but should be 3.34"));
        CHECK(has(seen.err, "out is context"));
        CHECK(has(seen.out, "query as given"));
    }

    TEST_CASE("a weight has an even share beside it only if the rows sum to 1") {
        CHECK(has(run("look", "A = [[0.25, 0.75], [0.5, 0.5]]").out, "share would be 0.5000)"));
        const auto other = run("look", "A = [[1, 2], [3, 4]]");
        CHECK(has(other.out, "largest\n# weight is 4: position 1 attends most to itself.\n"));
    }

    TEST_CASE("a consistent result is confirmed, at the printed decimals") {
        std::string right = by_hand;
        right.replace(right.find("3.54"), 4, "3.34");
        const auto seen = run("look -", right);
        CHECK(seen.exit_code == 0);
        CHECK(has(seen.out, "scores, weights, out follow from the rest"));
    }

    TEST_CASE("a document of tables and LaTeX is read, with matrices as print writes them") {
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
        CHECK(has(seen.out, "QK_T[1,1] is 2, but should be 1"));
        CHECK(has(seen.err, "--weight-layout in-out"));
    }

    TEST_CASE("a folder of arrays is read like a file") {
        const program::Folder folder;
        run("--save-dir '" + (folder / "walk") + "'");
        const auto seen = run("look '" + (folder / "walk") + "'");
        CHECK(seen.exit_code == 0);
        CHECK(has(seen.out, "scores, scaled_scores, weights, context follow from the rest"));
        std::filesystem::copy_file(folder.path() / "walk" / "03_query.npy",
                                   folder.path() / "walk" / "04_key.npy",
                                   std::filesystem::copy_options::overwrite_existing);
        CHECK(run("look '" + (folder / "walk") + "'").exit_code == 1);
    }

    TEST_CASE("weights alone are a walk, and a row that does not sum to 1 is named") {
        const auto seen = run("look --tokens the,cat --heatmap -q", "0.5\t0.5\n0.2\t0.8\n");
        CHECK(seen.exit_code == 0);
        CHECK(has(seen.out, "cat 0.2000  0.8000"));
        const auto off = run("look -q", "attn = [[0.5, 0.4], [0.2, 0.8]]");
        CHECK(off.exit_code == 1);
        CHECK(has(off.out, "weights[0] sums to 0.9, but each row should sum to 1"));
    }

    TEST_CASE("a cell that is not a number, and tensors from which no walk starts, are refused") {
        const auto letter = run("look", "S = \\begin{bmatrix} 1 & a \\\\ 0 & 1 \\end{bmatrix}");
        CHECK(letter.exit_code == 2);
        CHECK(has(letter.err, "'a' is not a number"));
        const auto lone = run("look", "W_Q = [[1, 2], [3, 4]]");
        CHECK(lone.exit_code == 2);
        CHECK(has(lone.err, "no walk begins with W_Q"));
    }

    TEST_CASE("query and key alone end at the weights, in figures and records too") {
        const std::string pasted = "Q = [[1, 0], [0, 1]]\nK = [[1, 1], [0, 2]]\n";
        const auto seen = run("look -q", pasted);
        CHECK(seen.exit_code == 0);
        CHECK(has(seen.out, "[[0.6698, 0.3302],\n        [0.3302, 0.6698]])\n\n# nothing"));
        CHECK(run("look --only weights --format svg", pasted).out.starts_with("<svg"));
        const auto record = nlohmann::json::parse(run("look --format json", pasted).out);
        CHECK(record["steps"].back()["name"] == "weights");
        const auto judged = run("look -q", pasted + "attn = [[0.6698, 0.3302], [0.4, 0.6]]\n");
        CHECK(judged.exit_code == 1);
        CHECK(has(judged.out, "attn[1,0] is 0.4, but should be 0.3302"));
        const program::Folder folder;
        const std::string file = folder / "qk.json";
        std::ofstream(file)
            << R"({"query": [[1.0, 0.0], [0.0, 1.0]], "key": [[1.0, 1.0], [0.0, 2.0]]})";
        const auto why = run("why 'weights[0,1]' --weights " + file);
        CHECK(has(why.out, "weights[0,1] = 0.330238"));
        CHECK(has(run("--weights " + file + " --backward --loss 'weights[0,1]' -q").out, "tensor"));
    }

    TEST_CASE("query, key and value alone are a walk, however they are written") {
        const std::string wanted = "[[1.6605, 2.6605],\n        [2.6089, 3.6089]])";
        for (
            const char* const pasted :
            {"Q:\n[[1. 0.]\n [0. 2.]]\nK:\n[[1. 1.]\n [0. 2.]]\nV:\n[[1. 2.]\n [3. 4.]]\n",
             "import numpy as np\n\n# queries\nQ = np.array([[1, 0], [0, 2]])  # two words\n"
             "K = np.array([[1, 1], [0, 2]])\nd_k = 2\nV = np.array([[1, 2], [3, 4]])\n",
             "q = tensor([[1., 0.],\n        [0., 2.]])\nk = tensor([[1., 1.],\n        [0., 2.]], "
             "grad_fn=<MmBackward0>)\nv = tensor([[1., 2.], [3., 4.]])\n",
             "Q = [1 0; 0 2];\nK = [1, 1; 0, 2];\nV = [1 2; 3 4]\n",
             "{'q': [[1, 0], [0, 2]], 'k': [[1, 1], [0, 2]], 'v': [[1, 2], [3, 4]]}",
             R"({"q": [[1, 0], [0, 2]], "k": [[1, 1], [0, 2]], "v": [[1, 2], [3, 4]]})",
             "\\[ Q = \\begin{bmatrix} 1 & 0 \\\\ 0 & 2 \\end{bmatrix}, \\quad\n"
             "K = \\begin{bmatrix} 1 & 1 \\\\ 0 & 2 \\end{bmatrix}, \\quad\n"
             "V = \\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix} \\]\n",
             "### Query\n\n| token | d1 | d2 |\n|---|---|---|\n| the | 1 | 0 |\n| cat | 0 | 2 |\n\n"
             "### Key\n\n| token | d1 | d2 |\n|---|---|---|\n| the | 1 | 1 |\n| cat | 0 | 2 |\n\n"
             "### Value\n\n| token | d1 | d2 |\n|---|---|---|\n| the | 1 | 2 |\n| cat | 3 | 4 |\n",
             "Q\n1\t0\n0\t2\n\nK\n1\t1\n0\t2\n\nV\n1\t2\n3\t4\n"}) {
            INFO(pasted);
            const auto seen = run("look -q", pasted);
            CHECK_MESSAGE(seen.exit_code == 0, seen.err);
            CHECK(has(seen.out, wanted));
        }
    }

    TEST_CASE("rows may stand on lines, behind prompts, as fractions, transposed or word by word") {
        for (const char* pasted :
             {// Julia, Octave
              "query = [1 0\n  0 2]\nkey = [1 0\n  0 3]\nvalue = [1 0\n  0 1]\n",
              "In [1]: Q\nOut[1]: \narray([[1, 0],\n       [0, 2]])\n\nIn [2]: K\nOut[2]: \n"
              "array([[1, 0],\n       [0, 3]])\n\nIn [3]: V\nOut[3]: \n"
              "array([[1, 0],\n       [0, 1]])\n",
              "Q = [[2/2, 0], [0, 4/2]]\nK^T = [[1, 0], [0, 3]]\nV = [[1, 0], [0, 1]]\n",
              "Q = [[1, 0], [0, 2]]\nK\u1d40 = [[1, 0], [0, 3]]\nV = [[1, 0], [0, 1]]\n"}) {
            const auto seen = run("look --only context -q", pasted);
            INFO(pasted << seen.err);
            CHECK(seen.exit_code == 0);
            CHECK_MESSAGE(has(seen.out, "[0.6698, 0.3302]"), seen.out);
            CHECK_MESSAGE(has(seen.out, "[0.0142, 0.9858]"), seen.out);
        }
        const auto words =
            run("look --only value -q",
                "word_1 = np.array([1, 0, 0])\nword_2 = np.array([0, 1, 0])\n"
                "word_3 = np.array([1, 1, 0])\nquery_weights = [[1, 0], [0, 1], [0, 0]]\n"
                "key_weights = [[1, 0], [0, 1], [0, 0]]\nvalue_weights = [[1], [2], [3]]\n");
        CHECK_MESSAGE(has(words.out, "[3.]]"), words.out << words.err);
    }
    TEST_CASE("one wrong score is named in the step that fits the others, and in its row") {
        const std::string inputs = "Q = [[1, 0], [0, 1]]\nK = [[1, 2], [0, 1]]\n";
        // NumPy: Q @ K.T / sqrt(2), with 1.167 for 0.707
        const auto scaled = run("look", inputs +
                                            "logits = [[0.707, 0.0], [1.414, 1.167]]\n"
                                            "A = [[0.67, 0.33], [0.67, 0.33]]\n");
        CHECK_MESSAGE(has(scaled.out, "logits[1,1] is 1.167, but should be 0.7071"), scaled.out);
        // No mask is asked for: a wrong score where one would hide it is wrong.
        const auto whole = run("look",
                               "Q = [[2, -1, 0], [-1, 3, 2], [1, 0, 2], [2, 3, 0]]\n"
                               "K = [[1, 2, -1], [3, -1, 0], [1, 0, 2], [0, 2, 3]]\n"
                               "scores = [[0, 7, 1, -2], [3, -6, 3, 12], [-1, 3, 5, 6], "
                               "[8, 3, 2, 6]]\n");
        CHECK(whole.exit_code == 1);
        CHECK_MESSAGE(has(whole.out, "scores[0,2] is 1, but should be 2"), whole.out);
        const auto print = run("proofread -", inputs +
                                                  "scores = [[1, 0], [2, 2]]\n"
                                                  "weights = [[0.67, 0.33], [0.67, 0.33]]\n");
        CHECK_MESSAGE(has(print.out, "scores[1,1]: 2 should be 1"), print.out << print.err);
    }
    TEST_CASE("weights before and after dropout show what was dropped") {
        const auto seen = run("look",
                              "Q = [[1, 0], [0, 1]]\nK = [[1, 2], [0, 1]]\nV = [[1, 0], [0, 1]]\n"
                              "weights = [[0.6698, 0.3302], [0.6698, 0.3302]]\n"
                              "dropped_weights = [[1.3395, 0.0], [1.3395, 0.6605]]\n"
                              "context = [[1.3395, 0.0], [1.3395, 0.6605]]\n");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
        CHECK(has(seen.err, "dropout of 0.5, where the weights became 0"));
        CHECK_MESSAGE(has(seen.out, "weights, dropped_weights, context follow from the rest"),
                      seen.out);
    }
    TEST_CASE("tables of a spreadsheet have decimal commas, and words that name their rows") {
        const std::string wanted = "[[0.3208, 0.6792],\n        [0.7773, 0.2227]])";
        for (const char* const pasted :
             {"scores\n0,5;1,25\n2,0;0,75\n", "scores\n0,5\t1,25\n2\t0,75\n",
              "scores\n;the;cat\nthe;0,5;1,25\ncat;2;0,75\n",
              "scores\n\tthe\tcat\nthe\t0.5\t1.25\ncat\t2\t0.75\n"}) {
            INFO(pasted);
            CHECK(has(run("look -q", pasted).out, wanted));
        }
        CHECK(has(run("look -q", "0,5;0,5\n0,25;0,75\n").out, "[0.2500, 0.7500]"));
        CHECK(has(run("look -q", "0,5\t0,5\n0,25\t0,75\n").out, "[0.2500, 0.7500]"));
        for (const char* const pasted :
             {"\tthe\tcat\nthe\t0.5\t0.5\ncat\t0.2\t0.8\n",
              "attn\n\tthe\tcat\nthe\t0.5\t0.5\ncat\t0.2\t0.8\n",
              "tokens = [\"the\", \"cat\"]\nattn = [[0.5, 0.5], [0.2, 0.8]]\n"}) {
            INFO(pasted);
            CHECK(has(run("look --only weights --heatmap", pasted).out, "cat 0.2000  0.8000"));
        }
    }

    TEST_CASE("a mask of numbers is added to the scores, and one of 0 and -inf hides keys") {
        const std::string pasted =
            "Q = [[1, 0], [0, 1]]\nK = [[1, 1], [0, 2]]\nV = [[1, 2], [3, 4]]\n";
        const auto added = run("look -q", pasted + "mask = [[0, -2.5], [1, 0]]\n");
        CHECK(has(added.err, "mask is added to the scores"));
        CHECK(has(added.out, "[[0.9611, 0.0389],\n        [0.5727, 0.4273]])"));
        const auto small = run("look -q", pasted + "mask = [[0, -0.5], [0, 0]]\n");
        CHECK(has(small.err, "mask is added to the scores"));
        const auto hidden = run("look -q", pasted + "mask = [[0, -inf], [0, -inf]]\n");
        CHECK(has(hidden.out, "[[1., 0.],\n        [1., 0.]])"));
        const auto causal = run("look -q", pasted + "mask = [[0, -inf], [0, 0]]\n");
        CHECK(has(causal.err, "--mask causal, by your mask"));
    }

    TEST_CASE("a record has the verdict under its own name") {
        const auto record = nlohmann::json::parse(run("look --format json", by_hand).out);
        CHECK(record["verdict"]["right"] == false);
        CHECK(has(record["verdict"]["verdict"].get<std::string>(), "out[1,1] is 3.54"));
    }

    TEST_CASE("an array without a name that cannot be weights raises a question") {
        const auto refused = run("look", "[[1, 2], [3, 4]]");
        CHECK(refused.exit_code == 2);
        CHECK(has(refused.err, "name it, as in scores = [[1, 2], [3, 4]]"));
        CHECK(has(run("look -q", "scores = [[1, 2], [3, 4]]").out, "0.2689, 0.7311"));
    }

    TEST_CASE("scores and weights alone reveal the divisor of the scores") {
        // NumPy: softmax([[8, 2, 10], [4, 0, 4], [12, 2, 14]] / sqrt(3))
        const auto seen = run("look",
                              "scores\n\narray([[ 8,  2, 10],\n       [ 4,  0,  4],\n"
                              "       [12,  2, 14]])\n\nweights\n\n"
                              "array([[0.237847527, 0.00744489238, 0.754707581],\n"
                              "       [0.476344558, 0.0473108841, 0.476344558],\n"
                              "       [0.239453171, 0.000744423770, 0.759802406]])\n");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
        CHECK_MESSAGE(has(seen.err, "divided by the square root of 3"), seen.err);
    }

    TEST_CASE("a walk can start at scaled or masked scores") {
        CHECK(run("look", "scaled_scores = [[0.71, 0], [0, 0.71]]").exit_code == 0);
        const auto wrong = run("look",
                               "Scaled scores:\n[[0.71, 0.00], [0.00, 0.71]]\n"
                               "Attention weights:\n[[0.60, 0.40], [0.33, 0.67]]\n");
        CHECK(wrong.exit_code == 1);
        CHECK_MESSAGE(has(wrong.out, "Attention_weights[0,1] is 0.4, but should be 0.3296"),
                      wrong.out);
        CHECK(run("look",
                  "masked_scores = [[0.71, -inf], [0, 0.71]]\n"
                  "weights = [[1, 0], [0.33, 0.67]]")
                  .exit_code == 0);
    }

    TEST_CASE("causal weights are recognised, and a tensor without a step's name is not accused") {
        const auto causal = run("look",
                                "Q = [[1, 0], [0, 1]]\nK = [[1, 1], [0, 2]]\n"
                                "Poids d'attention (softmax) :\n[[1, 0], [0.33, 0.67]]\n"
                                "weights = [[1, 0], [0.33, 0.67]]\n");
        CHECK_MESSAGE(causal.exit_code == 0, causal.out);
        CHECK_MESSAGE(has(causal.err, "--mask causal"), causal.err);
        const auto unknown = run("look",
                                 "weights = [[0.7604, 0.2396], [0.5, 0.5]]\n"
                                 "final_output = [[1.7189, 2.7189], [2, 3]]\n");
        CHECK(unknown.exit_code == 0);
        CHECK_MESSAGE(has(unknown.out, "this walk has no step output"), unknown.out);
    }

    TEST_CASE("a wrong score is named even if its weights hardly change") {
        const auto seen = run("look",
                              "Q = [[0.1, 0.2], [0.3, 0.4]]\nK = [[0.2, 0.1], [0.4, 0.3]]\n"
                              "scores = [[0.0400, 0.1000], [0.1000, 0.3000]]\n");
        CHECK(seen.exit_code == 1);
        CHECK_MESSAGE(has(seen.out, "scores[1,1] is 0.3, but should be 0.24"), seen.out);
    }

    TEST_CASE("weights of two decimals are compared to two decimals after scaled scores") {
        const std::string begin =
            "Q = [[1, 0], [0, 1]]\nK = [[1, 0], [0, 1]]\nscaled_scores = [[0.71, 0], [0, 0.71]]\n";
        CHECK(run("look", begin + "weights = [[0.67, 0.33], [0.33, 0.67]]\n").exit_code == 0);
        CHECK(run("look", begin + "weights = [[0.63, 0.33], [0.33, 0.67]]\n").exit_code == 1);
    }

    TEST_CASE("square matrices in a print are x @ W, and K^T is the transpose of the keys") {
        // NumPy: [[1, 0], [0, 2]] @ [[0, 1], [1, 1]]
        const auto seen = run("look --only key -q",
                              "X = [[1, 0], [0, 2]]\nWq = [[1, 0], [0, 1]]\n"
                              "Wk = [[0, 1], [1, 1]]\nWv = [[1, 0], [0, 1]]\n");
        CHECK_MESSAGE(has(seen.out, "[[0., 1.],\n        [2., 2.]]"), seen.out);
        CHECK(has(seen.err, "--weight-layout in-out"));
        CHECK(run("look",
                  "Q = [[1, 0], [0, 2]]\nK^T = [[0, 2], [1, 2]]\n"
                  "QK^T = [[0, 2], [2, 4]]\n")
                  .exit_code == 0);
    }

    TEST_CASE("on a terminal the pasted words are next to the rows") {
        const program::Folder folder;
        const std::string file = folder / "attn.csv";
        std::ofstream(file) << ",the,cat\nthe,0.5,0.5\ncat,0.25,0.75\n";
        Terminal terminal("attn-explain look " + file);
        CHECK(has(terminal.wait_for("[ended]"), "0.7500]])  # cat"));
    }

    TEST_CASE("heads, layers and sums that a program prints together are kept separate") {
        const auto heads = run("look",
                               "Head 1 weights:\n[[0.5 0.5]\n [0.2 0.8]]\n"
                               "Head 2 weights:\n[[0.9 0.1]\n [0.4 0.6]]\n");
        CHECK(heads.exit_code == 0);
        CHECK_MESSAGE(has(heads.out, "# head 2 x query 2 x key 2"), heads.out);
        const auto layers =
            run("look", "(tensor([[0.5, 0.5], [0.2, 0.8]]), tensor([[0.9, 0.1], [0.4, 0.6]]))");
        CHECK_MESSAGE(has(layers.out, "matrix_2"), layers.out);
        const auto twice = run("look",
                               "wei\ntensor([[0.5, -inf], [0., 1.]])\nwei = softmax(wei)\n"
                               "tensor([[1., 0.], [0.2689, 0.7311]])\n"
                               "row sums: tensor([1., 1.])\n");
        CHECK(twice.exit_code == 0);
        CHECK_MESSAGE(has(twice.out, "weights follows from the rest"), twice.out);
    }

    TEST_CASE("square matrices that are right as W^T alone are read transposed") {
        const auto seen = run("look",
                              "X = [[1, 0], [0, 0], [0, 1]]\nW_q = [[1, 2], [3, 4]]\n"
                              "W_k = [[0.5, 1], [1.5, 1]]\nW_v = [[1, 0.5], [0.5, 1]]\n"
                              "Q = [[1, 3], [0, 0], [2, 4]]\nK = [[0.5, 1.5], [0, 0], [1, 1]]\n");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
        CHECK_MESSAGE(has(seen.out, "Q, K follow from the rest"), seen.out);
    }

    TEST_CASE("on a terminal it prints which input it waits for") {
        Terminal terminal("attn-explain look --only weights -q");
        terminal.wait_for("Ctrl-D");
        terminal.type("scores = [[1, 1], [1, 1]]");
        terminal.press("Enter C-d");
        CHECK(has(terminal.wait_for("[ended]"), "0.5000"));
    }

    TEST_CASE("a mistake that decimals allow comes before a number that fits them better") {
        // NumPy: softmax(q @ k.T) without a scale, printed with two decimals
        const auto seen = run("look",
                              "Q = [[1, 0], [0, 1]]\nK = [[1, 0], [0, 1]]\nV = [[1, 2], [3, 4]]\n"
                              "weights = [[0.73, 0.27], [0.27, 0.73]]\n");
        CHECK(seen.exit_code == 1);
        CHECK_MESSAGE(has(seen.out, "scale-missing"), seen.out);
    }

    TEST_CASE("names in other languages are recognised, by walks and diagnose too") {
        for (const char* const names :
             {"Abfragen,Schl\u00fcssel,Werte,Aufmerksamkeitsgewichte,Ausgabe",
              "Requ\u00eates,Cl\u00e9s,Valeurs,Poids d'attention,Sortie",
              "Consultas,Claves,Valores,Pesos de atenci\u00f3n,Salida",
              "\u0417\u0430\u043f\u0440\u043e\u0441\u044b,\u041a\u043b\u044e\u0447\u0438,"
              "\u0417\u043d\u0430\u0447\u0435\u043d\u0438\u044f,\u0412\u0435\u0441\u0430 "
              "\u0432\u043d\u0438\u043c\u0430\u043d\u0438\u044f,\u0412\u044b\u0445\u043e\u0434",
              "\u67e5\u8be2\u77e9\u9635,\u952e,\u503c,\u6ce8\u610f\u529b\u6743\u91cd,"
              "\u8f93\u51fa"}) {
            INFO(names);
            std::string pasted;
            std::size_t at = 0;
            for (const char* const numbers :
                 {"[[1, 0], [0, 1]]", "[[1, 1], [0, 2]]", "[[1, 2], [3, 4]]",
                  "[[0.6698, 0.3302], [0.3302, 0.6698]]", "[[1.66, 2.66], [2.34, 3.54]]"}) {
                const std::string_view rest = std::string_view(names).substr(at);
                pasted += std::string(rest.substr(0, rest.find(','))) + ":\n" + numbers + "\n";
                at += rest.find(',') + 1;
            }
            const auto seen = run("look -q", pasted);
            CHECK(seen.exit_code == 1);
            CHECK_MESSAGE(has(seen.out, "[1,1] is 3.54, but should be 3.34"), seen.out);
        }
    }

    TEST_CASE("weights that are wrong beside a right result are named") {
        const auto seen = run("look -q", inputs_by_hand +
                                             "attn = [[0.67, 0.53], [0.33, 0.67]]\n"
                                             "out = [[1.66, 2.66], [2.34, 3.34]]\n");
        CHECK(seen.exit_code == 1);
        CHECK_MESSAGE(has(seen.out, "attn[0,1] is 0.53, but should be 0.3302"), seen.out);
    }

    TEST_CASE("one wrong score is named beside scaled scores that follow from the right one") {
        const auto seen = run("look -q", inputs_by_hand +
                                             "scores = [[1, 0], [1.5, 2]]\n"
                                             "scaled_scores = [[0.707, 0], [0.707, 1.414]]\n"
                                             "weights = [[0.67, 0.33], [0.33, 0.67]]\n");
        CHECK(seen.exit_code == 1);
        CHECK_MESSAGE(has(seen.out, "scores[1,0] is 1.5, but should be 1"), seen.out);
    }

    TEST_CASE("tensors that PyTorch prints with exponents are right beside others in decimals") {
        const auto seen =
            run("look -q",
                "Q = tensor([[-5.6541,  0.9345],\n        [ 0.1361,  1.3997]])\n"
                "K = tensor([[-0.0581, -2.4494],\n        [-4.7342, -5.9322]])\n"
                "V = tensor([[  7.2017,   0.0383],\n        [  0.6138, -10.6524]])\n"
                "weights = tensor([[7.5911e-08, 1.0000e+00],\n"
                "        [9.8010e-01, 1.9897e-02]])\n"
                "context = tensor([[  0.6138, -10.6523],\n        [  7.0707,  -0.1744]])\n");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
        const auto scaled = run("look -q",
                                "scores = tensor([[-1.69e+00,  2.03e+00, -1.05e+00],\n"
                                "        [-1.06e-01, -1.73e+00, -3.00e-01],\n"
                                "        [-1.30e-01,  5.47e-01,  1.03e-03]])\n"
                                "scaled_scores = tensor([[-8.44e-01,  1.02e+00, -5.25e-01],\n"
                                "        [-5.29e-02, -8.64e-01, -1.50e-01],\n"
                                "        [-6.48e-02,  2.74e-01,  5.16e-04]])\n");
        CHECK_MESSAGE(scaled.exit_code == 0, scaled.out);
    }
}
