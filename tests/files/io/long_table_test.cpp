#include "attn/files/io/array_files.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/files/io/messages.hpp"
#include "tests/files/io/scratch.hpp"

using namespace attn;

namespace {

std::string written(const std::vector<TensorRef>& tensors) {
    std::string text;
    write_long_table([&text](std::string_view piece) { text += piece; }, tensors);
    return text;
}

}  // namespace

TEST_SUITE("long table") {
    TEST_CASE("one line an element, with the columns that any tensor has") {
        const Tensor w({"out", "feature"}, Array<float>{{0.1F, -0.0F}});
        const Tensor mask({"query", "key"}, Array<bool>{{false, true}});
        const Tensor scale({}, Array<double>(1e300));
        const Tensor ids({"query"}, Array<std::int64_t>{-5});
        CHECK(written({{"w", w}, {"mask", mask}, {"scale", scale}, {"a,\"b\"", ids}}) ==
              "step,query,key,out,feature,value\n"
              "w,,,0,0,0.1\n"
              "w,,,0,1,-0\n"
              "mask,0,0,,,0\n"
              "mask,0,1,,,1\n"
              "scale,,,,,1e+300\n"
              "\"a,\"\"b\"\"\",0,,,,-5\n");
    }

    TEST_CASE("reading it back gives the same bits and the axes by name") {
        const Tensor special = read_tensor(fixture("special.npy")).renamed({"key"});
        Array<double> values = empty_array<double>({2, 3, 7});
        double value = 1.0 / 3.0;
        for (double& each : values) each = value = value * -1.7 + 0.01;
        const Tensor x({"batch", "query", "feature"}, values);
        const Tensor scalar({}, Array<double>(-0.0));
        const std::string text = written({{"special", special}, {"x", x}, {"scalar", scalar}});
        const std::vector<NamedTensor> back = read_tensors_from_bytes(text, "t.csv");
        REQUIRE(back.size() == 3);
        CHECK(back[0].name == "special");
        CHECK(back[0].tensor.axes() == Axes{"key"});
        // CSV knows only one nan.
        for (std::size_t i = 0; i < special.size(); ++i) {
            if (i != 4)
                CHECK(value_bytes(back[0].tensor).substr(8 * i, 8) ==
                      value_bytes(special).substr(8 * i, 8));
        }
        CHECK(back[0].tensor.at(4) != back[0].tensor.at(4));
        CHECK(back[1].tensor.axes() == x.axes());
        CHECK(value_bytes(back[1].tensor) == value_bytes(x));
        CHECK(value_bytes(back[2].tensor) == value_bytes(scalar));
    }

    TEST_CASE("a float32 survives through its shortest text") {
        Array<float> values = empty_array<float>({1000});
        std::uint32_t bits = 1;
        for (float& each : values) {
            each = std::bit_cast<float>(bits & 0x7F7FFFFFU);
            bits = bits * 1664525U + 1013904223U;
        }
        const Tensor tensor({"key"}, values);
        const std::string text = written({{"x", tensor}});
        const Tensor back = read_tensors_from_bytes(text, "t.csv")[0].tensor;
        CHECK(value_bytes(cast(back, DType::float32)) == value_bytes(tensor));
    }

    TEST_CASE("lines may come in any order") {
        const auto tensors =
            read_tensors_from_bytes("step,query,value\na,1,4\nb,,9\na,0,3\n", "t.csv");
        REQUIRE(tensors.size() == 2);
        CHECK(tensors[0].tensor.as<double>() == Array<double>{3.0, 4.0});
        CHECK(tensors[1].tensor.at(0) == 9.0);
    }

    TEST_CASE("a table that is not complete is refused with its place") {
        const auto reason = [](const std::string& lines) {
            return refusal_of("step,query,key,value\n" + lines, "t.csv");
        };
        CHECK(reason("a,0,0,1\na,1,1,2\n") ==
              "t.csv: step 'a': 2 elements do not fill the shape (2, 2): give every element once");
        CHECK(reason("a,0,1,1\na,0,1,2\n") ==
              "t.csv: step 'a': an element occurs twice: give every element once");
        CHECK(
            reason("a,0,0,1\na,1,,2\n") ==
            "t.csv: line 3: step 'a' has other axes than before: fill in the same columns for all "
            "its elements");
        CHECK(reason("a,-1,0,1\n") ==
              "t.csv: line 2: '-1' is no index along 'query': count from 0");
        for (const char* lines :
             {"a,0,0,x\n", "a,0,0\n", "a,18446744073709551615,0,1\n",
              "a,18446744073709551614,18446744073709551614,1\n", "a,0.5,0,1\n"}) {
            CAPTURE(lines);
            CHECK(reason(lines).starts_with("t.csv: "));
        }
        CHECK(refusal_of("step,key,key,value\na,0,0,1\n", "t.csv").find("names a column twice") !=
              std::string::npos);
    }

    TEST_CASE("the columns keep the order of every tensor's axes, so that none comes back turned") {
        const Tensor x({"query", "feature"}, Array<float>{{1.0F, 2.0F}, {3.0F, 4.0F}});
        const Tensor embedding({"vocab", "feature"}, Array<float>{{1.0F, 2.0F}, {3.0F, 4.0F}});
        const std::string text = written({{"x", x}, {"embedding", embedding}});
        CHECK(text.starts_with("step,vocab,query,feature,value\n"));
        const auto back = read_tensors_from_bytes(text, "t.csv");
        CHECK(back[1].tensor.axes() == embedding.axes());
        CHECK(back[1].tensor.as<double>() == Array<double>{{1.0, 2.0}, {3.0, 4.0}});
        const Tensor turned({"feature", "query"}, Array<float>{{1.0F, 3.0F}, {2.0F, 4.0F}});
        CHECK_THROWS_AS(written({{"x", x}, {"turned", turned}}), OutputError);
    }

    TEST_CASE("integers that float64 does not hold stay integers") {
        const Tensor ids({"query"}, Array<std::int64_t>{9007199254740993, -5});
        const auto back = read_tensors_from_bytes(written({{"ids", ids}}), "t.csv");
        CHECK(back[0].tensor.as<std::int64_t>() == Array<std::int64_t>{9007199254740993, -5});
    }

    TEST_CASE("two axes of one name are refused") {
        const Tensor tensor({"key", "key"}, Array<float>{{1.0F, 2.0F}});
        CHECK_THROWS_AS(written({{"x", tensor}}), OutputError);
    }
}
