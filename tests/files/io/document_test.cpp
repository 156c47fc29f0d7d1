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

    TEST_CASE("of a formula the name at its left and the matrix at its right count") {
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

    TEST_CASE("what stands behind a row is a remark, and rows in brackets are one matrix") {
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
}
