#include "attn/files/io/number_lists.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "attn/files/io/read_tensor.hpp"
#include "tests/files/io/messages.hpp"

using namespace attn;

namespace {

NamedTensor pasted(std::string_view text) { return read_tensors_from_bytes(text, "t").at(0); }

}  // namespace

TEST_SUITE("printed arrays") {
    TEST_CASE("a text can contain several named arrays") {
        for (const char* text :
             {"w_q = tensor([[1.5, 2.0]])\nself.att = tensor([3.0, 4.0],\n  device='cuda:0')\n",
              "w_q: [[1.5 2. ]]\nself.att: [3. 4.]\n",
              ">>> w_q\ntensor([[1.5, 2.0]], grad_fn=<MmBackward0>)\n>>> self.att\n"
              "Parameter containing:\ntensor([3., 4.], requires_grad=True)",
              "w_q = np.array([[1.5, 2.0]], dtype=float32) self.att=array([3, 4])"}) {
            INFO(text);
            const auto arrays = read_tensors_from_bytes(text, "pasted.txt");
            REQUIRE(arrays.size() == 2);
            CHECK(arrays[0].name == "w_q");
            CHECK(arrays[0].tensor.shape() == Shape{1, 2});
            CHECK(arrays[1].name == "self.att");
            CHECK(arrays[1].tensor.at(1) == 4);
        }
        CHECK(read_tensors_from_bytes("\nloss = tensor(2.5)", "t").at(0).name == "loss");
        CHECK(read_tensors_from_bytes("q [1, 2]", "t").at(0).name == "q");
        for (const char* text : {"a = [1, 2]\n[3, 4]", "[1, 2]\nb = [3, 4]", "a = [1] = [2]",
                                 "a = tensor([1, 2]", "a = [1]\nb =", "a = [1]\nb = x"}) {
            CHECK_MESSAGE(
                refusal_of(text, "t").find("the array does not end here") != std::string::npos,
                text);
        }
    }

    TEST_CASE("a tensor printed by torch is read, with the type that print omits") {
        const Tensor x =
            pasted("tensor([[ 1.0000, -0.5000],\n        [    nan,     inf]])\n").tensor;
        REQUIRE(x.shape() == Shape{2, 2});
        CHECK(x.dtype() == DType::float32);
        CHECK(x.at(1) == -0.5);
        CHECK(std::isnan(x.at(2)));
        CHECK(x.at(3) == HUGE_VAL);
        CHECK(pasted("tensor([[3.4e-01]], grad_fn=<DivBackward0>)").tensor.at(0) ==
              static_cast<double>(0.34F));
        CHECK(pasted("tensor([1.], device='cuda:0', requires_grad=True)").tensor.shape() ==
              Shape{1});
        CHECK(pasted("tensor([0.1000], dtype=torch.float64)").tensor.at(0) == 0.1);
        CHECK(pasted("tensor([0.1000], dtype=torch.float16)").tensor.dtype() == DType::float16);
        CHECK(pasted("tensor([0.1], dtype=torch.bfloat16)").tensor.dtype() == DType::bfloat16);
        CHECK(pasted("tensor([[True, False]])").tensor.as<bool>() == Array<bool>{{true, false}});
        CHECK(pasted("tensor([5, 4])").tensor.as<std::int64_t>() == Array<std::int64_t>{5, 4});
        CHECK(pasted("tensor(2.5000)").tensor.shape() == Shape{});
        CHECK(pasted("tensor([], size=(2, 0))").tensor.shape() == Shape{2, 0});
        CHECK(pasted("Parameter containing:\ntensor([1.], requires_grad=True)").tensor.at(0) ==
              1.0);
    }

    TEST_CASE("an array printed by NumPy or Python is read") {
        const Tensor x = pasted("[[ 1.   -0.5 ]\n [ 0.25  3. ]]").tensor;
        REQUIRE(x.shape() == Shape{2, 2});
        CHECK(x.dtype() == DType::float64);
        CHECK(x.at(2) == 0.25);
        CHECK(pasted("array([[1., 2.]], dtype=float32)").tensor.dtype() == DType::float32);
        CHECK(pasted("array([[1., 2.]])").tensor.dtype() == DType::float64);
        CHECK(pasted("[[[1.]\n  [2.]]\n\n [[3.]\n  [4.]]]").tensor.shape() == Shape{2, 2, 1});
        CHECK(pasted("[1 2 3]").tensor.dtype() == DType::int64);
    }

    TEST_CASE("numbers that Python wraps in a type are numbers") {
        CHECK(pasted("[np.float64(0.5), np.float64(-2.0)]").tensor.numbers() ==
              std::vector<double>{0.5, -2.0});
        CHECK(pasted("q = [tensor(0.5), tensor(3)]").tensor.at(1) == 3);
    }

    TEST_CASE("an incomplete array is refused with its place") {
        CHECK(refusal_of("tensor([[1., 2., ..., 3.]])", "t").find("was shortened when it was") !=
              std::string::npos);
        CHECK(refusal_of("[[1, 2],\n [3, x]]", "t") ==
              "t: line 2, column 6: 'x' is not a number: write it as 1.5 or 1e-3");
        for (const std::string text :
             {"[",          "[1",        "[1]]",     "[,1]",         "[1,,2]",
              "[[1][2]]",   "[1.5[2]]",  "tensor(",  "tensor([1]",   "tensor([1]) tensor([2])",
              "[1] 2",      "[[1], 2]",  "[1, [2]]", "[[1], [[2]]]", "[[], [1]]",
              "[[[]], []]", "[\"one\"]", "['1']",    "[\"nan]",      "[{}]",
              "[1e999]",    "[1+2j]"}) {
            CAPTURE(text);
            CHECK(refusal_of(text, "t").starts_with("t: "));
        }
    }
}
