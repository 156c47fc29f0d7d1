#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "attn/show/render/numpy_text.hpp"
#include "attn/show/render/torch_text.hpp"

using namespace attn;
using nlohmann::json;

namespace {

json cases_of(const std::string& file) {
    const char* folder = std::getenv("ATTN_VECTORS");
    const std::string path =
        (folder != nullptr ? std::string(folder) : ATTN_SOURCE_DIR "/data/reference") + "/" + file;
    std::ifstream stream(path);
    REQUIRE_MESSAGE(stream.good(), "cannot read " << path);
    json cases = json::parse(stream).at("cases");
    REQUIRE(cases.size() > 0);
    return cases;
}

double number(const json& value) {
    return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                             : value.get<double>();
}

// The denominators are powers of two, so that the quotient and the difference are exact.
double generated(const json& rule, std::size_t index) {
    const auto a = rule.at("a").get<std::int64_t>();
    const auto b = rule.at("b").get<std::int64_t>();
    const auto m = rule.at("m").get<std::int64_t>();
    const auto numerator = static_cast<double>((a * static_cast<std::int64_t>(index) + b) % m);
    return numerator / rule.at("den").get<double>() - rule.at("off").get<double>();
}

template <class T, class Read>
Tensor filled(const Shape& shape, Read&& read) {
    Array<T> array = empty_array<T>(shape);
    for (std::size_t i = 0; i < array.size(); ++i) array.data()[i] = read(i);
    return {Axes(shape.size(), "axis"), array};
}

/// The tensor of an array record or of a text case; int32 is read as int64.
Tensor tensor_of(const json& record) {
    const Shape shape = record.at("shape").get<Shape>();
    const std::string dtype = record.at("dtype");
    const bool is_generated = record.contains("gen");
    const auto value = [&](std::size_t i) {
        return is_generated ? generated(record.at("gen"), i) : number(record.at("values").at(i));
    };
    if (dtype == "float32") {
        return filled<float>(shape, [&](std::size_t i) { return static_cast<float>(value(i)); });
    }
    if (dtype == "float64") return filled<double>(shape, value);
    if (dtype == "bool") {
        return filled<bool>(shape, [&](std::size_t i) {
            return is_generated ? value(i) != 0.0 : record.at("values").at(i).get<bool>();
        });
    }
    REQUIRE((dtype == "int64" || dtype == "int32"));
    return filled<std::int64_t>(shape, [&](std::size_t i) {
        return is_generated ? static_cast<std::int64_t>(value(i))
                            : record.at("values").at(i).get<std::int64_t>();
    });
}

void check_text(const std::string& name, const std::string& text, const std::string& expected) {
    CHECK_MESSAGE(text == expected, name << "\nexpected:\n" << expected << "\nprinted:\n" << text);
}

}  // namespace

TEST_SUITE("vectors: tensor text") {
    TEST_CASE("every tensor prints as in PyTorch, byte for byte") {
        std::size_t empty_int32 = 0;
        const json cases = cases_of("tensor_text.json");
        for (const json& record : cases) {
            const std::string name = record.at("name");
            const Tensor tensor = tensor_of(record);
            std::string suffix =
                record.at("suffix").is_null() ? "" : record.at("suffix").get<std::string>();
            std::string expected = record.at("text");
            if (record.at("dtype") == "int32") {
                // The library has no int32: it reads an int64 with a dtype note from outside. Only
                // an empty int64 prints a note of its own, of the same length.
                if (tensor.size() == 0) {
                    const std::size_t note = expected.find("torch.int32");
                    REQUIRE(note != std::string::npos);
                    expected.replace(note, 11, "torch.int64");
                    ++empty_int32;
                } else {
                    suffix = "dtype=torch.int32";
                }
            }
            check_text(name, torch_text(tensor, {}, suffix), expected);
        }
        CHECK(empty_int32 < cases.size() / 4);
    }
}

TEST_SUITE("vectors: array text") {
    TEST_CASE("every array prints as in NumPy, byte for byte") {
        for (const json& record : cases_of("array_text.json")) {
            const std::string name = record.at("name");
            const Tensor tensor = tensor_of(record);
            check_text(name + " str", numpy_str(tensor), record.at("str"));
        }
    }
}

TEST_SUITE("vectors: scalar text") {
    TEST_CASE("every double prints as a Python float") {
        for (const json& record : cases_of("scalar_text.json")) {
            const std::string expected = record.at("text");
            check_text(expected, scalar_text(number(record.at("value"))), expected);
        }
    }
}

TEST_SUITE("vectors: layer text") {
    TEST_CASE("every weight whose values are all recorded prints as in PyTorch") {
        std::size_t checked = 0;
        for (const json& record : cases_of("layers.json")) {
            for (const json& step : record.at("steps")) {
                if (!step.contains("weight_text")) continue;
                const json& weight = step.at("params").at("weight");
                if (!weight.contains("values")) continue;
                const std::string text = torch_text(tensor_of(weight), {}, "requires_grad=True");
                check_text(record.at("name"), "Parameter containing:\n" + text,
                           step.at("weight_text"));
                ++checked;
            }
        }
        CHECK(checked > 0);
    }
}
