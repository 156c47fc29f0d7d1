#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/show/render/torch_text.hpp"
#include "tests/show/render/tensors.hpp"

using namespace attn;

namespace {

template <class T>
Tensor constant(const Shape& shape, T value) {
    Array<T> array = empty_array<T>(shape);
    array.fill(value);
    return named(array);
}

}  // namespace

TEST_SUITE("render: torch numbers") {
    TEST_CASE("integers keep only their point") {
        CHECK(torch_text(constant<float>({2}, 0.0F)) == "tensor([0., 0.])");
        CHECK(torch_text(named(Array<float>{1, -20})) == "tensor([  1., -20.])");
        CHECK(torch_text(named(Array<float>{-0.0F})) == "tensor([-0.])");
    }

    TEST_CASE("zeros, infinities and nan do not affect the width") {
        CHECK(torch_text(named(Array<float>{0, -inf, -inf})) == "tensor([0., -inf, -inf])");
        CHECK(torch_text(named(Array<float>{not_a_number, 1})) == "tensor([nan, 1.])");
        CHECK(torch_text(named(Array<float>{-0.0F, 0.5F})) == "tensor([-0.0000, 0.5000])");
    }

    TEST_CASE("a ratio above 1000 or a value below 1e-4 selects exponents") {
        CHECK(torch_text(named(Array<double>{1, 1000}), {.default_dtype = DType::float64}) ==
              "tensor([   1., 1000.])");
        CHECK(torch_text(named(Array<float>{1, 1001})) == "tensor([1.0000e+00, 1.0010e+03])");
        CHECK(torch_text(named(Array<float>{1e8F})) == "tensor([100000000.])");
        CHECK(torch_text(named(Array<float>{100000008.0F})) == "tensor([1.0000e+08])");
        CHECK(torch_text(named(Array<float>{1e-4F})) == "tensor([1.0000e-04])");
        CHECK(torch_text(named(Array<double>{1e-4}), {.default_dtype = DType::float64}) ==
              "tensor([0.0001])");
    }

    TEST_CASE("ties are decided by the exact binary value, then to even") {
        CHECK(torch_text(named(Array<float>{0.03125F}), {.precision = 4}) == "tensor([0.0312])");
        CHECK(torch_text(named(Array<float>{0.5F, 1.5F}), {.precision = 0}) == "tensor([0, 2])");
    }

    TEST_CASE("integers and bools are aligned to the right") {
        CHECK(torch_text(named(Array<std::int64_t>{5, -10})) == "tensor([  5, -10])");
        CHECK(torch_text(named(Array<bool>{true, false})) == "tensor([ True, False])");
        CHECK(torch_text(named(Array<bool>{true, true})) == "tensor([True, True])");
        const auto least = std::numeric_limits<std::int64_t>::min();
        CHECK(torch_text(named(Array<std::int64_t>{least})) == "tensor([-9223372036854775808])");
    }

    TEST_CASE("a requested form keeps the width of the automatic one") {
        const Tensor halves = named(Array<float>{0.5F, -1.25F});
        CHECK(torch_text(halves, {.sci_mode = SciMode::on}) == "tensor([5.0000e-01, -1.2500e+00])");
        const Tensor spread = named(Array<float>{1, 2000});
        CHECK(torch_text(spread, {.sci_mode = SciMode::off}) == "tensor([        1.,      2000.])");
        CHECK(torch_text(constant<float>({1}, 0.0F), {.sci_mode = SciMode::on}) == "tensor([0.])");
    }

    TEST_CASE("an impossible precision is refused") {
        CHECK_THROWS_AS(torch_text(counting(1), {.precision = -1}), ConfigError);
        CHECK_THROWS_AS(torch_text(counting(1), {.precision = 1075}), ConfigError);
        const std::string text = torch_text(named(Array<double>{-5e-324}),
                                            {.precision = 1074, .sci_mode = SciMode::off});
        // tensor([ and, in the width of -4.<1074 decimals>e-324, -0.<1074 decimals>
        CHECK(text.find(']') == 8 + 3 + 1074 + 5);
        CHECK(text[text.find(']') - 1] == '5');
    }
}

TEST_SUITE("render: torch layout") {
    TEST_CASE("a scalar has no brackets") {
        CHECK(torch_text(Tensor({}, Array<float>(2.5F))) == "tensor(2.5000)");
        CHECK(torch_text(Tensor({}, Array<bool>(true))) == "tensor(True)");
    }

    TEST_CASE("outer axes are separated by as many line breaks as axes follow") {
        CHECK(torch_text(constant<std::int64_t>({2, 2}, 7)) ==
              "tensor([[7, 7],\n"
              "        [7, 7]])");
        CHECK(torch_text(constant<std::int64_t>({2, 1, 1}, 7)) ==
              "tensor([[[7]],\n\n"
              "        [[7]]])");
        CHECK(torch_text(constant<std::int64_t>({2, 1, 1, 1}, 7)) ==
              "tensor([[[[7]]],\n\n\n"
              "        [[[7]]]])");
    }

    TEST_CASE("a thousand elements are printed in full, one more is summarised") {
        CHECK(torch_text(counting(1000)).find("...") == std::string::npos);
        CHECK(torch_text(counting(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
        CHECK(torch_text(counting(1001), {.threshold = no_threshold}).find("...") ==
              std::string::npos);
    }

    TEST_CASE("only axes longer than both edges are cut") {
        CHECK(torch_text(constant<std::int64_t>({3, 2}, 1), {.threshold = 5, .edgeitems = 1}) ==
              "tensor([[1, 1],\n"
              "        ...,\n"
              "        [1, 1]])");
        CHECK(torch_text(counting(6), {.threshold = 0}) == "tensor([0, 1, 2, 3, 4, 5])");
        CHECK(torch_text(counting(7), {.threshold = 0}) == "tensor([0, 1, 2,  ..., 4, 5, 6])");
        CHECK(torch_text(counting(7), {.threshold = 0, .edgeitems = 0}) == "tensor([...])");
    }

    TEST_CASE("elements that are not printed do not affect the form") {
        Array<float> array = empty_array<float>({7});
        array.fill(1.0F);
        array(3) = 1e-20F;
        CHECK(torch_text(named(array), {.threshold = 0}) ==
              "tensor([1., 1., 1.,  ..., 1., 1., 1.])");
    }

    TEST_CASE("a long row is broken at the line width, and each line has at least one cell") {
        CHECK(torch_text(counting(4), {.linewidth = 16}) ==
              "tensor([0, 1, 2,\n"
              "        3])");
        CHECK(torch_text(counting(2), {.linewidth = 1}) ==
              "tensor([0,\n"
              "        1])");
    }

    TEST_CASE("an empty tensor names its shape and its type") {
        CHECK(torch_text(Tensor({"a"}, empty_array<float>({0}))) == "tensor([])");
        CHECK(torch_text(Tensor({"a", "b"}, empty_array<float>({0, 3}))) ==
              "tensor([], size=(0, 3))");
        CHECK(torch_text(Tensor({"a"}, empty_array<std::int64_t>({0}))) ==
              "tensor([], dtype=torch.int64)");
        CHECK(torch_text(Tensor({"a"}, empty_array<bool>({0}))) == "tensor([], dtype=torch.bool)");
    }

    TEST_CASE("the type is noted if it is not the default") {
        const Tensor wide = named(Array<double>{1});
        const Tensor narrow = named(Array<float>{1});
        const PrintOptions double_default{.default_dtype = DType::float64};
        CHECK(torch_text(wide) == "tensor([1.], dtype=torch.float64)");
        CHECK(torch_text(wide, double_default) == "tensor([1.])");
        CHECK(torch_text(narrow, double_default) == "tensor([1.], dtype=torch.float32)");
        CHECK(torch_text(counting(1), double_default) == "tensor([0])");
    }

    TEST_CASE("16-bit types are printed as their float32 numbers, and noted") {
        const auto text = [](const Array<float>& numbers, DType type) {
            return torch_text(cast(named(numbers), type));
        };
        CHECK(text({0.1F, 0.25F, 100}, DType::bfloat16) ==
              "tensor([  0.1001,   0.2500, 100.0000], dtype=torch.bfloat16)");
        CHECK(text({1.5F, 1e-5F, 70000}, DType::float16) ==
              "tensor([1.5000e+00, 1.0014e-05,        inf], dtype=torch.float16)");
        CHECK(torch_text(cast(named(empty_array<float>({0, 3})), DType::bfloat16)) ==
              "tensor([], size=(0, 3), dtype=torch.bfloat16)");
    }

    TEST_CASE("a suffix too close to the line width gets its own line") {
        const Tensor wide = named(Array<double>{1});
        CHECK(torch_text(wide, {}, "requires_grad=True") ==
              "tensor([1.], dtype=torch.float64, requires_grad=True)");
        // The text before the suffix has 11 columns: with the 2 extra ones, the separator and the
        // suffix of 18 it needs 33.
        const Tensor one = named(Array<float>{1});
        CHECK(torch_text(one, {.linewidth = 33}, "requires_grad=True") ==
              "tensor([1.], requires_grad=True)");
        CHECK(torch_text(one, {.linewidth = 32}, "requires_grad=True") ==
              "tensor([1.],\n"
              "       requires_grad=True)");
        CHECK(torch_text(wide, {.linewidth = 46}, "requires_grad=True") ==
              "tensor([1.], dtype=torch.float64,\n"
              "       requires_grad=True)");
        const Tensor square = constant<std::int64_t>({2, 2}, 7);
        // tensor([...] has 12 columns, and 2 + 2 + 18 more make 34
        const PrintOptions dots{.threshold = 0, .edgeitems = 0, .linewidth = 34};
        CHECK(torch_text(square, dots, "requires_grad=True") ==
              "tensor([...], requires_grad=True)");
        // the last line of a matrix decides, not the first
        CHECK(torch_text(square, {.linewidth = 37}, "requires_grad=True") ==
              "tensor([[7, 7],\n        [7, 7]], requires_grad=True)");
        CHECK(torch_text(square, {.linewidth = 36}, "requires_grad=True") ==
              "tensor([[7, 7],\n        [7, 7]],\n       requires_grad=True)");
    }

    TEST_CASE("digits that a bound could change are in brackets, or faint with colours") {
        const auto row = [](const std::vector<double>& numbers) {
            Array<double> cells = empty_array<double>({numbers.size()});
            std::copy(numbers.begin(), numbers.end(), cells.data());
            return Tensor({"key"}, std::move(cells));
        };
        // 0.1234|0.1235, 9.999|10.001, -0.01|0.05, inf, 2.5
        const Tensor numbers = row({0.12345, 9.9999, 0.02, inf, 2.5});
        const Tensor bound = row({0.00007, 0.001, 0.03, 0, 0});
        PrintOptions options{.linewidth = 100, .sci_mode = SciMode::off};
        options.default_dtype = DType::float64;
        options.bound = &bound;
        CHECK(torch_text(numbers, options) ==
              "tensor([0.123[5], [9.9999], [0.0200],    inf  , 2.5000  ])");
        const PrintOptions powers{.precision = 2, .sci_mode = SciMode::on, .bound = &bound};
        CHECK(
            torch_text(numbers, powers).starts_with("tensor([1.2[3]e-01, 1.00e+01  , [2.00e-02],"));
        options.ink.uncertain = "<";
        options.ink.plain = ">";
        CHECK(torch_text(numbers, options) ==
              "tensor([0.123<5>, <9.9999>, <0.0200>,    inf, 2.5000])");
        const Tensor exact = row({0, 0, 0, 0, 0});
        options.bound = &exact;
        CHECK(torch_text(numbers, options) ==
              torch_text(
                  numbers,
                  {.linewidth = 100, .sci_mode = SciMode::off, .default_dtype = DType::float64}));
    }

    TEST_CASE("a shape is a torch.Size") {
        CHECK(torch_size_text({2, 4}) == "torch.Size([2, 4])");
        CHECK(torch_size_text({}) == "torch.Size([])");
    }
}

TEST_SUITE("render: Python floats") {
    TEST_CASE("a float has the fewest digits that identify it, and a point or an exponent") {
        CHECK(scalar_text(1.0) == "1.0");
        CHECK(scalar_text(0.1) == "0.1");
        CHECK(scalar_text(1e-5) == "1e-05");
        CHECK(scalar_text(1e-4) == "0.0001");
        CHECK(scalar_text(1e15) == "1000000000000000.0");
        CHECK(scalar_text(-1.25e15) == "-1250000000000000.0");
        CHECK(scalar_text(1e16) == "1e+16");
        CHECK(scalar_text(9007199254740993.0) == "9007199254740992.0");
        CHECK(scalar_text(5e-324) == "5e-324");
        CHECK(scalar_text(-0.0) == "-0.0");
        CHECK(scalar_text(static_cast<double>(-not_a_number)) == "nan");
        CHECK(scalar_text(static_cast<double>(-inf)) == "-inf");
    }
}
