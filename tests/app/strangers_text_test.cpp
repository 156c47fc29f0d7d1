// Texts as strangers write them: other tools, other languages, other ways to write a matrix.
#include <array>
#include <cmath>
#include <fstream>
#include <random>

#include <fmt/format.h>

#include "tests/support/program.hpp"
#include "tests/support/terminal.hpp"

using program::Folder;
using program::has;
using program::run;

namespace {

void names_it(const std::string& text, const std::string& cell) {
    const auto seen = run("look -q", text);
    CHECK(seen.exit_code == 1);
    CHECK_MESSAGE(has(seen.out, cell), seen.out);
}

void is_right(const std::string& text) {
    const auto seen = run("look -q", text);
    CHECK_MESSAGE(seen.exit_code == 0, (text + seen.out + seen.err));
    CHECK_MESSAGE((has(seen.out, "follow from the rest") || has(seen.out, "follows from the rest")),
                  (text + seen.out));
}

/// Scores and their weights as one of many formats writes them.
std::string table(const std::vector<std::vector<double>>& rows, const std::string& format) {
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (const double cell : row) {
            line += (line.empty() ? "[" : ", ") + fmt::format(fmt::runtime(format), cell);
        }
        text += (text.empty() ? "[" : ",\n ") + line + "]";
    }
    return text + "]\n";
}

}  // namespace

TEST_SUITE("app: look at texts of strangers") {
    TEST_CASE("random tables are right however few digits are printed") {
        std::mt19937 draw(7);
        std::normal_distribution<double> normal;
        for (int i = 0; i < 24; ++i) {
            const std::size_t tokens = 2 + static_cast<std::size_t>(i) % 3;
            const std::array<double, 3> sizes{0.3, 1, 5};
            std::vector<std::vector<double>> scores(tokens), weights(tokens);
            for (std::size_t q = 0; q < tokens; ++q) {
                double sum = 0;
                for (std::size_t k = 0; k < tokens; ++k) {
                    scores[q].push_back(sizes[static_cast<std::size_t>(i) % 3] * normal(draw));
                    weights[q].push_back(std::exp(scores[q][k]));
                    sum += weights[q][k];
                }
                for (double& weight : weights[q]) weight /= sum;
            }
            for (const char* const format : {"{:.3f}", "{:.3g}", "{:.4e}", "{:.7g}"}) {
                const auto seen = run("look -q", "scores = " + table(scores, format) +
                                                     "weights = " + table(weights, format));
                CHECK_MESSAGE(seen.exit_code == 0, (table(scores, format) + seen.out));
            }
        }
    }

    TEST_CASE("a wrong score is named, not the weights that follow from the right one") {
        names_it("scores\n[1.48 1.0 1.7 0.3]\nattention weights\n[0.3645 0.181 0.3645 0.0899]\n",
                 "scores[0,0] is 1.48, but should be 1.7");
        names_it(
            "scores = [[1, 0, 2], [0, 3, 1]]\nscaled_scores = [[0.5, 0, 1.3], [0, 1.5, 0.5]]\n"
            "weights = [[0.3072, 0.1863, 0.5065], [0.1402, 0.6285, 0.2312]]\n",
            "scaled_scores[0,2] is 1.3, but should be 1");
    }

    TEST_CASE("a bias of the paste is added to the scores") {
        const std::string text =
            "scores = tensor([[-0.4148, -0.3334, 0.0811], [-0.2186, -0.7632, -0.7771],\n"
            "    [-0.7056, -0.0860, 0.2879]])\n"
            "alibi_bias = tensor([[0.0, -0.5, -1.0], [-0.5, 0.0, -0.5], [-1.0, -0.5, 0.0]])\n"
            "scores_with_bias = tensor([[-0.4148, -0.8334, -0.9189], [-0.7186, -0.7632, -1.2771],\n"
            "    [-1.7056, -0.5860, 0.2879]])\n"
            "attn = tensor([[1.0, 0.0, 0.0], [0.5111, 0.4889, 0.0], [0.0877, ";
        is_right(text + "0.2686, 0.6437]])\n");
        names_it(text + "0.1386, 0.6437]])\n", "attn[2,1] is 0.1386, but should be 0.2686");
    }

    TEST_CASE("weights masked after softmax, and rows whose keys are all hidden, are no error") {
        const auto seen = run("look -q",
                              "attn_weights = [[0.6, 0.4], [0.3, 0.7]]\n"
                              "masked_simple = attn_weights*mask_simple\n"
                              "[[0.6, 0.0], [0.3, 0.7]]\n");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
        CHECK(run("look -q", "attn = [[nan, nan], [0.4, 0.6]]\n").exit_code == 0);
        CHECK(run("look -q", "attn = [[0.3, 0.6], [0.4, 0.6], [0.1, 0.9]]\n").exit_code == 1);
    }

    TEST_CASE("--weights sees the causal mask that look sees, also behind earlier keys") {
        const Folder folder;
        const std::string path = folder / "causal_weights.txt";
        std::ofstream(path) << "scores = [[1.0, 0.2], [0.4, 0.6]]\nattn = [[1, 0], [0.45, 0.55]]\n";
        const auto whole = run("--only weights --weights " + path);
        CHECK(has(whole.err, "--mask causal, because no query looks at a later key"));
        CHECK(has(whole.out, "1.0000, 0.0000"));
        std::ofstream(path) << "q = [[1, 2], [3, 4]]\nk = [[1, 0], [0, 1], [1, 1]]\nv = [[1], [2], "
                               "[3]]\nattn = [[0.33, 0.67, 0], [0.02, 0.04, 0.94]]\n";
        const auto late = run("--only weights --weights " + path);
        CHECK_MESSAGE(has(late.out, "0.3302, 0.6698, 0.0000"), (late.out + late.err));
    }

    TEST_CASE("x is query, key and value if the scores are the products of its rows") {
        const std::string text =
            "inputs = [[1, 0], [0.5, 1]]\nattn_scores = inputs @ inputs.T\n"
            "[[1, 0.5], [0.5, 1.25]]\nattn_weights = [[0.6225, 0.3775], [0.3208, 0.6792]]\n";
        is_right(text +
                 "all_context_vecs = attn_weights @ inputs\n"
                 "[[0.8112, 0.3775], [0.6604, 0.6792]]\n");
        names_it(text + "context_vectors = [[0.8112, 0.3775], [0.6604, 0.7792]]\n",
                 "context_vectors[1,1] is 0.7792, but should be 0.6792");
    }

    TEST_CASE("other tools write matrices in other ways") {
        // MATLAB's and R's products, Mathematica, Typst, prose, boxes, decimal commas, a dict.
        is_right("Scores :\n-3  -1\n9  7\nPoids d'attention :\n0,119  0,881\n0,881  0,119\n");
        is_right(
            "Score\tI\tlove\nI\t4\t5\nlove\t7\t10\n\n"
            "Softmax\tI\tlove\nI\t0.269\t0.731\nlove\t0.047\t0.953\n");
        is_right(
            "$ \"scores\" = mat(4, 3; 1, 1) $\n$ \"weights\" = mat(0.731, 0.269; 0.5, 0.5) $\n");
        is_right(
            "In[1]:= S = {{0, 1}, {2, 2}};\nIn[2]:= A = N[softmax /@ S]\n"
            "Out[2]= {{0.268941, 0.731059}, {0.5, 0.5}}\n");
        is_right(
            "{'query': array([[1., 0.], [0., 1.]]), 'key': array([[1., 0.], [0., 1.]]), "
            "'value': array([[1., 2.], [3., 4.]]), "
            "'weights': array([[0.6698, 0.3302], [0.3302, 0.6698]])}\n");
        is_right(
            "> Q\n     [,1] [,2]\n[1,]    1    0\n[2,]    0    1\n"
            "> K\n     [,1] [,2]\n[1,]    1    1\n[2,]    0    2\n"
            "> Q %*% t(K)\n     [,1] [,2]\n[1,]    1    0\n[2,]    1    2\n");
        is_right(
            "scores.print()\nTensor\n    [[1, 2],\n     [3, 3]]\nweights.print()\nTensor\n"
            "    [[0.2689414, 0.7310586],\n     [0.5, 0.5]]\n");
        is_right(
            "k_1 = (2, 0), k_2 = (0, 2), v_1 = (1, 0), v_2 = (0, 1), q = (1, 0).\n"
            "alpha = (0.804, 0.196)\n");
        is_right(
            "===== Scores =====\n[[1 2]\n [3 3]]\n===== Weights =====\n"
            "[[0.269 0.731]\n [0.5   0.5  ]]\n");
        is_right("softmax([2.83, 1.41]) = [0.805, 0.195]\n");
        names_it("softmax([2.83, 1.41, 1.0]) = [0.714, 0.273, 0.114]\n", "is 0.273, but should be");
    }

    TEST_CASE("a page and a notebook are read as their readers see them") {
        const Folder folder;
        const std::string page = folder / "lesson.html";
        std::ofstream(page) << "<p>Scores</p><table><tr><td>1</td><td>2</td></tr><tr><td>3</td>"
                               "<td>3</td></tr></table><p>Weights</p><table><tr><td>0.269</td><td>"
                               "0.831</td></tr><tr><td>0.5</td><td>0.5</td></tr></table>";
        CHECK(has(run("look -q " + page).out, "is 0.831, but should be 0.7311"));
        const std::string book = folder / "lesson.ipynb";
        std::ofstream(book) << R"json({"cells": [{"source": ["scores"], "outputs": [{"text":
            ["[[1 2]\n", " [3 3]]\n"]}]}, {"source": ["weights"], "outputs": [{"data":
            {"text/plain": ["array([[0.269, 0.731],\n", "       [0.5, 0.5]])"]
}
}]
}]
})json";
        const auto seen = run("look -q " + book);
        CHECK_MESSAGE(has(seen.out, "follows from the rest"), (seen.out + seen.err));
    }
}
