
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/files/io/messages.hpp"

using namespace attn;

namespace {

Tensor parsed(std::string_view text) { return read_tensors_from_bytes(text, "t").at(0).tensor; }

std::string steps(const std::string& inside) {
    return R"({"attn_explain": "1.0", "config": {}, "steps": [)" + inside + "]}";
}

}  // namespace

TEST_SUITE("json") {
    TEST_CASE("nested lists are one array of the type that fits its numbers") {
        CHECK(parsed("[[1, 2.5], [-3, 4e3]]").as<double>() ==
              Array<double>{{1.0, 2.5}, {-3.0, 4000.0}});
        CHECK(parsed("[1, -9007199254740993]").as<std::int64_t>()(1) == -9007199254740993);
        CHECK(parsed("[[true, false]]").as<bool>() == Array<bool>{{true, false}});
        CHECK(read_tensors_from_bytes("2.5", "t.json").at(0).tensor.shape() == Shape{});
        CHECK(parsed("[[], []]").shape() == Shape{2, 0});
        CHECK(parsed("[18446744073709551615]").dtype() == DType::float64);
    }

    TEST_CASE("numbers that JSON cannot represent are strings") {
        const Tensor tensor = parsed(R"(["nan", "inf", "-inf", 1])");
        CHECK(std::isnan(tensor.at(0)));
        CHECK(tensor.at(1) == HUGE_VAL);
        CHECK(tensor.at(2) == -HUGE_VAL);
        CHECK(tensor.at(3) == 1.0);
    }

    TEST_CASE("an object names each list") {
        const auto tensors = read_tensors_from_bytes(R"({"x": [1.5], "ids": [[1, 2]]})", "t");
        REQUIRE(tensors.size() == 2);
        CHECK(tensors[0].name == "ids");
        CHECK(tensors[1].name == "x");
        CHECK(tensors[1].tensor.at(0) == 1.5);
    }

    TEST_CASE("the program's own output gives every step with its type and axes") {
        const auto tensors = read_tensors_from_bytes(
            steps(R"({"name": "scores", "axes": ["query", "key"], "shape": [1, 2],
                      "dtype": "float32", "data": [[0.1, "-inf"]]},
                     {"name": "empty", "axes": ["batch", "query"], "shape": [0, 3],
                      "dtype": "int64", "data": []},
                     {"name": "mask", "shape": [], "dtype": "bool", "data": true})"),
            "t");
        REQUIRE(tensors.size() == 3);
        CHECK(tensors[0].name == "scores");
        CHECK(tensors[0].tensor.described() == "query 1 x key 2");
        CHECK(tensors[0].tensor.as<float>()(0, 0) == 0.1F);
        CHECK(tensors[1].tensor.shape() == Shape{0, 3});
        CHECK(tensors[1].tensor.dtype() == DType::int64);
        CHECK(tensors[2].tensor.as<bool>()());
    }

    TEST_CASE("nan and infinity are read as Python and pandas write them") {
        const auto tensors = read_tensors_from_bytes(
            R"({"x": [NaN, Infinity, -Infinity, null, -0, -0.5], "NaN": [1]})", "t");
        REQUIRE(tensors.size() == 2);
        CHECK(tensors[0].name == "NaN");
        const Tensor& x = tensors[1].tensor;
        CHECK(std::isnan(x.at(0)));
        CHECK(x.at(1) == HUGE_VAL);
        CHECK(x.at(2) == -HUGE_VAL);
        CHECK(std::isnan(x.at(3)));
        CHECK(std::signbit(x.at(4)));
        CHECK(x.at(5) == -0.5);
    }

    TEST_CASE("words for nan stay text in a quoted name, and after it") {
        const auto tensors =
            read_tensors_from_bytes(R"({"a\"NaN": [1], "\\": [NaN], "-0": [2]})", "t");
        REQUIRE(tensors.size() == 3);
        CHECK(tensors[0].name == "-0");
        CHECK(std::isnan(tensors[1].tensor.at(0)));
        CHECK(tensors[2].name == "a\"NaN");
    }

    TEST_CASE("the place of an error is right even after a word that was replaced") {
        CHECK(refusal_of("{\"x\": [NaN,\nNaN, 1 2]}", "t").find("line 2, column 8") !=
              std::string::npos);
    }

    TEST_CASE("text does not end at a NUL") {
        CHECK(
            refusal_of(std::string_view("{\"x\": [1]}\0{", 13), "t").starts_with("t: this is no"));
        CHECK(refusal_of(std::string_view("[1]\0", 4), "t").starts_with("t: "));
    }

    TEST_CASE("tokens name the rows of the arrays of the same length") {
        const auto read = read_tensors_from_bytes(
            R"({"attention": [[[0.5, 0.5], [0.2, 0.8]]], "tokens": ["the", "cat"]})", "t");
        REQUIRE(read.size() == 1);
        CHECK(read[0].row_names == std::vector<std::string>{"the", "cat"});
    }

    TEST_CASE("text and objects next to arrays are left out and named") {
        std::vector<std::string> notes;
        const auto tensors = read_tensors_from_bytes(
            R"({"columns": ["a", "b"], "data": [[1, 2]], "meta": {"rows": 1}})", "t",
            [&](std::string_view note) { notes.emplace_back(note); });
        REQUIRE(tensors.size() == 1);
        CHECK(tensors[0].name == "data");
        CHECK(notes == std::vector<std::string>{
                           "t: left out 'columns': 'a' is not a number",
                           "t: left out 'meta': there is an object where a number is expected"});
        CHECK(TensorFile(R"({"bad": [[1], [2, 3]], "x": [1]})", "t").read("x").tensor.at(0) == 1.0);
    }

    TEST_CASE("a value that is not a tensor is refused with its place") {
        CHECK(refusal_of("[[1, 2], [3]]", "t") ==
              "t: the lists along axis 1 have different lengths, 2 and 1: give nested lists of "
              "numbers");
        CHECK(refusal_of("{\"a\": [1, 2]\n,3]}", "t") ==
              "t: this is not JSON at line 2, column 2: correct it there (nan and inf are written "
              "\"nan\" and \"inf\")");
        CHECK(refusal_of("[1, true]", "t") == "t: true or false is among numbers: write 1 or 0");
        for (const char* text :
             {"[1, [2]]", "[[1], 2]", "[\"1\"]", "[\"one\"]", "[{}]", "[1e999]",
              "{\"a\": {\"b\": 1}}", "{\"a\": 1, \"a\": 2}", "[[], [1]]", "[\"\xFF\"]", "[1] 2"}) {
            CAPTURE(text);
            CHECK(refusal_of(text, "t").starts_with("t: "));
        }
        for (
            const char* step :
            {"1", "{}", R"({"name": "a"})", R"({"name": 1, "dtype": "int64", "data": 1})",
             R"({"name": "a", "dtype": "int32", "data": 1})",
             R"({"name": "a", "dtype": "int64", "data": 1.5})",
             R"({"name": "a", "dtype": "bool", "data": 1})",
             R"({"name": "a", "dtype": "int64", "data": [1], "shape": [2]})",
             R"({"name": "a", "dtype": "int64", "data": [], "shape": [0, 9223372036854775807, 9]})",
             R"({"name": "a", "dtype": "int64", "data": [1], "axes": []})",
             R"({"name": "a", "dtype": "int64", "data": 1}, {"name": "a", "dtype": "int64", "data": 1})"}) {
            CAPTURE(step);
            CHECK(refusal_of(steps(step), "t").starts_with("t: "));
        }
    }

    TEST_CASE("deep nesting is refused at any depth") {
        for (const std::size_t depth : {33U, 65U, 1'000'000U}) {
            CHECK(refusal_of(std::string(depth, '[') + std::string(depth, ']'), "t")
                      .starts_with("t: "));
            CHECK(refusal_of(std::string(depth, '['), "t").starts_with("t: "));
        }
    }
}
