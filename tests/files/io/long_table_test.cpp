#include "attn/files/io/array_files.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/files/io/messages.hpp"

using namespace attn;

namespace {

std::string long_table(const std::vector<TensorRef>& tensors) {
    std::string text;
    write_long_table([&text](std::string_view piece) { text += piece; }, tensors);
    return text;
}

}  // namespace

TEST_SUITE("long table") {
    TEST_CASE("a table has one line per element, with the columns that any tensor has") {
        const Tensor w({"out", "feature"}, Array<float>{{0.1F, -0.0F}});
        const Tensor mask({"query", "key"}, Array<bool>{{false, true}});
        const Tensor scale({}, Array<double>(1e300));
        const Tensor ids({"query"}, Array<std::int64_t>{-5});
        CHECK(long_table({{"w", w}, {"mask", mask}, {"scale", scale}, {"a,\"b\"", ids}}) ==
              "step,query,key,out,feature,value\n"
              "w,,,0,0,0.1\n"
              "w,,,0,1,-0\n"
              "mask,0,0,,,0\n"
              "mask,0,1,,,1\n"
              "scale,,,,,1e+300\n"
              "\"a,\"\"b\"\"\",0,,,,-5\n");
    }

    TEST_CASE("the shortest text of a float32 reads back to the same bits") {
        Array<float> values = empty_array<float>({1000});
        std::uint32_t bits = 1;
        for (float& each : values) {
            each = std::bit_cast<float>(bits & 0x7F7FFFFFU);
            bits = bits * 1664525U + 1013904223U;
        }
        std::istringstream lines(long_table({{"x", Tensor({"key"}, values)}}));
        std::string line;
        std::getline(lines, line);
        for (const float each : values) {
            REQUIRE(std::getline(lines, line));
            const std::string number = line.substr(line.rfind(',') + 1);
            CHECK(std::strtof(number.c_str(), nullptr) == each);
        }
    }

    TEST_CASE("a long table is refused with the formats that are read") {
        for (const char* text : {"step,query,value\na,1,4\n", "step,value,key_token\n"}) {
            CHECK(refusal_of(text, "t.csv") ==
                  "t.csv: is a table with one number per line, which is written for other programs "
                  "and "
                  "not read here: give the walk as .npz or .json");
        }
    }

    TEST_CASE(
        "the columns keep the order of every tensor's axes, so that no reader transposes one") {
        const Tensor x({"query", "feature"}, Array<float>{{1.0F, 2.0F}, {3.0F, 4.0F}});
        const Tensor embedding({"vocab", "feature"}, Array<float>{{1.0F, 2.0F}, {3.0F, 4.0F}});
        const std::string text = long_table({{"x", x}, {"embedding", embedding}});
        CHECK(text.starts_with("step,vocab,query,feature,value\n"));
        const Tensor transposed_copy({"feature", "query"},
                                     Array<float>{{1.0F, 3.0F}, {2.0F, 4.0F}});
        CHECK_THROWS_AS(long_table({{"x", x}, {"turned", transposed_copy}}), OutputError);
    }

    TEST_CASE("integers that float64 cannot represent have all their digits") {
        const Tensor ids({"query"}, Array<std::int64_t>{9007199254740993, -5});
        CHECK(long_table({{"ids", ids}}) == "step,query,value\nids,0,9007199254740993\nids,1,-5\n");
    }

    TEST_CASE("two axes of one name are refused") {
        const Tensor tensor({"key", "key"}, Array<float>{{1.0F, 2.0F}});
        CHECK_THROWS_AS(long_table({{"x", tensor}}), OutputError);
    }
}
