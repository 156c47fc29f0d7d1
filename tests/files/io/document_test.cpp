#include <doctest/doctest.h>

#include <string>

#include "attn/files/io/read_tensor.hpp"
#include "tests/files/io/messages.hpp"

using namespace attn;

// Texts that contain more than arrays: output of scripts, notes, course pages.

namespace {

std::string names_in(const std::string& text) {
    std::string names;
    for (const NamedTensor& each : read_tensors_from_bytes(text, "t")) {
        names += each.name + shape_text(each.tensor.shape()) + " ";
    }
    return names;
}

}  // namespace

TEST_SUITE("documents") {
    TEST_CASE("words above a matrix are its name") {
        CHECK(
            names_in("Attention weights:\n [[0.5 0.5]\n [0.2 0.8]]\n\nFinal output of the layer:\n"
                     "[[1. 2. 3.]\n [4. 5. 6.]]\n") ==
            "Attention_weights(2, 2) Final_output_layer(2, 3) ");
        CHECK(names_in("Queries Matrix:  tf.Tensor(\n[[0.5 1. ]\n [2.  3. ]], shape=(2, 2), "
                       "dtype=float32)\nShape: torch.Size([2, 2])\nWeight matrix W_k:\n"
                       "tensor([[1., 2.]], grad_fn=<MmBackward0>)\n") ==
              "Queries(2, 2) W_k(1, 2) ");
        CHECK(names_in("Gewichte (\u03b1):\n[[1, 0], [0.5, 0.5]]") == "\u03b1(2, 2) ");
    }

    TEST_CASE("a formula gives the name on its left and the matrix on its right") {
        CHECK(names_in("scores = Q @ K.T = [[1, 2], [3, 4]]\nQ = K = [[1, 0]] V = [[5, 6]]\n") ==
              "scores(2, 2) Q(1, 2) K(1, 2) V(1, 2) ");
        const auto product = read_tensors_from_bytes(
            "$$QK^T = \\begin{bmatrix}\n1 & 2 \\\\\n3 & 4\n\\end{bmatrix} \\cdot "
            "\\begin{bmatrix}\n1 & 0 \\\\\n0 & 2\n\\end{bmatrix} = \\begin{bmatrix}\n"
            "1 & 4 \\\\\n3 & 8\n\\end{bmatrix}$$\n",
            "t");
        REQUIRE(product.size() == 1);
        CHECK(product[0].name == "QK_T");
        CHECK(product[0].tensor.at(1) == 4);
        CHECK(names_in("$\\frac{QK^T}{\\sqrt{2}} = \\begin{bmatrix}1 & 2\\\\3 & 4\\end{bmatrix}$\n"
                       "$\\text{softmax}\\left(\\frac{QK^T}{\\sqrt{2}}\\right) = "
                       "\\begin{bmatrix}0.5 & 0.5\\\\0.2 & 0.8\\end{bmatrix}$") ==
              "scaled_scores(2, 2) softmax(2, 2) ");
    }

    TEST_CASE("text after a row is a remark, and rows in brackets are one matrix") {
        CHECK(names_in("Weights:\n[[1, 0],     \u2190 sees only itself\n"
                       " [0.5, 0.5]] \u2190 sees [0, 1]\n") == "Weights(2, 2) ");
        const auto rows = read_tensors_from_bytes(
            "Attention of the decoder:\ny_1: [0.9, 0.1] -> 'Der'\ny_2: [1/4, 3/4] -> 'Hund'\n",
            "t");
        REQUIRE(rows.size() == 1);
        CHECK(rows[0].tensor.shape() == Shape{2, 2});
        CHECK(rows[0].tensor.at(3) == 0.75);
        CHECK(rows[0].row_names == std::vector<std::string>{"y_1", "y_2"});
    }

    TEST_CASE("a letter in a matrix is refused with its place, and so is an array with dots") {
        CHECK(refusal_of("The scores are:\n[[1, 2],\n [3, x]]", "t") ==
              "t: line 3, column 6: 'x' is not a number: write it as 1.5 or 1e-3");
        CHECK(refusal_of("The scores are:\n[[1, 2],\n ...,\n [3, 4]]", "t").find("shortened") !=
              std::string::npos);
    }

    TEST_CASE("tables are matrices of a document, however a program prints them") {
        for (const char* const text :
             {"> scores\n     [,1] [,2]\n[1,]  0.5  0.1\n[2,]  2.0  0.3\n",
              "print(scores)\n#>      [,1] [,2]\n#> [1,]  0.5  0.1\n#> [2,]  2.0  0.3\n",
              "scores =\n\n   0.5   0.1\n   2.0   0.3\n\n",
              "julia> scores\n2\u00d72 Matrix{Float64}:\n 0.5  0.1\n 2.0  0.3\n",
              "scores\n     0    1\n0  0.5  0.1\n1  2.0  0.3\n",
              "scores:\n| **0.5** | 0.1 |\n| 2.0 | $0.3$ |\n",
              "scores:\n\u2502 0.5 \u2502 0.1 \u2502\n\u251c\u2500\u253c\u2500\u2524\n\u2502 2.0 "
              "\u2502 0.3 "
              "\u2502\n",
              "scores (in %)\n50%\t10%\n200%\t30%\n", "scores = {{0.5, 0.1}, {2.0, 0.3}};\n",
              "$$scores = \\begin{pmatrix} \\frac{1}{2} & 0.1 \\\\ 2 & 0.3 \\end{pmatrix}$$\n"}) {
            INFO(text);
            const auto read = read_tensors_from_bytes(text, "t");
            REQUIRE(read.size() == 1);
            CHECK(read[0].name == "scores");
            CHECK(read[0].tensor.shape() == Shape{2, 2});
            CHECK(read[0].tensor.numbers() == std::vector<double>{0.5, 0.1, 2.0, 0.3});
            CHECK(read[0].row_names.empty());
        }
    }

    TEST_CASE("words next to rows name them, in tables and before lists") {
        for (const char* const text :
             {"attn\n        the   cat\nthe    0.5   0.5\ncat   0.2   0.8\n",
              "Attention weights (%)\n      the   cat\nthe   50%   50%\ncat   20%   80%\n",
              "Attention weights:\nthe: [0.5, 0.5]\ncat: [0.2, 0.8]\n",
              "Attention weights\nthe \u2192 [0.5, 0.5]\ncat \u2192 [0.2, 0.8]\n",
              "Word\tweights\nthe\t[0.5, 0.5]\ncat\t[0.2, 0.8]\n",
              "weights of\nToken 0 (\"the\"): [0.5, 0.5]\nToken 1 (\"cat\"): [0.2, 0.8]\n"}) {
            INFO(text);
            const auto read = read_tensors_from_bytes(text, "t");
            REQUIRE(read.size() == 1);
            CHECK(read[0].row_names == std::vector<std::string>{"the", "cat"});
            CHECK(read[0].tensor.at(3) == 0.8);
        }
    }

    TEST_CASE("vectors that are numbered, or named by a word in parentheses, are rows") {
        CHECK(names_in("Q = [1, 0]\nK1 = [1, 0], K2 = [0, 1]\nV1 = [10, 0]\nV2 = [0, 20]\n") ==
              "Q(2,) K(2, 2) V(2, 2) ");
        CHECK(names_in("Let $q_1 = \\begin{pmatrix} 1 & 0 \\end{pmatrix}$, $q_2 = "
                       "\\begin{pmatrix} 0 & 1 \\end{pmatrix}$ be queries") == "q(2, 2) ");
        const auto keys = read_tensors_from_bytes(
            "Query (dog): [1, 2, 3]\nKey (dog): [1, 2, 3]\nKey (cat): [4, 5, 6]\n", "t");
        REQUIRE(keys.size() == 2);
        CHECK(keys[1].name == "Key");
        CHECK(keys[1].row_names == std::vector<std::string>{"dog", "cat"});
    }

    TEST_CASE("tables next to each other on a sheet are separate") {
        for (const char* const text : {"Q\t\t\tK\t\n1\t0\t\t1\t1\n0\t2\t\t0\t2\n\t\t\t5\t6\n",
                                       "Q,,,K,\n1,0,,1,1\n0,2,,0,2\n,,,5,6\n",
                                       "Q;;;K;\r\n1,0;0;;1;1\r\n0;2;;0;2\r\n;;;5;6\r\n"}) {
            INFO(text);
            CHECK(names_in(text) == "Q(2, 2) K(3, 2) ");
        }
        CHECK(refusal_of("1,,2\n3,,4\n", "t").find("'' is not a number") != std::string::npos);
    }

    TEST_CASE("a truncated table of a document is refused with its place") {
        CHECK(refusal_of("scores\n1\t2\n3\tx\n", "t") ==
              "t: line 3, column 1: 'x' is not a number, beside numbers of its row: write it as "
              "1.5");
        CHECK(refusal_of("scores\n1\t2\n3\t4\t5\n", "t") ==
              "t: line 3, column 1: a row has 3 numbers, not 2 as the rows above it");
    }
}
