#include "attn/ground/random/generator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/random/torch_generator.hpp"
#include "tests/support/vectors.hpp"

using namespace attn;
using vectors::Json;

namespace {

std::vector<double> drawn(Initialisation how, std::size_t count, std::size_t in, std::size_t out,
                          Generator& generator) {
    std::vector<double> cells(count, 7.0);
    initialise(std::span<double>(cells), how, in, out, generator);
    return cells;
}

double largest_magnitude(const std::vector<double>& cells) {
    double largest = 0.0;
    for (const double value : cells) largest = std::max(largest, std::abs(value));
    return largest;
}

/// The rows of one layer of the reference, under the names that PyTorch gives its parameters.
DrawList rows_of(const Json& step) {
    const std::string type = step.at("type");
    if (type == "MultiheadAttention") {
        const std::size_t embed_dim = step.at("embed_dim");
        const auto width = [&](const char* name) {
            return step.at(name).is_null() ? embed_dim : step[name].get<std::size_t>();
        };
        return multihead_rows(embed_dim, width("kdim"), width("vdim"), step.at("bias"));
    }
    if (type == "Linear") {
        const std::size_t in = step.at("in_features");
        const std::size_t out = step.at("out_features");
        DrawList rows{
            {"weight", "", {{"out", out}, {"in", in}}, Initialisation::linear_weight, in}};
        if (step.at("bias").get<bool>()) {
            rows.push_back({"bias", "", {{"out", out}}, Initialisation::linear_bias, in});
        }
        return rows;
    }
    REQUIRE(type == "Embedding");
    const std::size_t rows = step.at("rows");
    DrawnTensor table{
        "weight", "", {{"vocab", rows}, {"feature", step.at("cols")}}, Initialisation::embedding};
    if (!step.at("padding_idx").is_null()) {
        const std::ptrdiff_t row = step["padding_idx"];
        table.zero_row =
            static_cast<std::size_t>(row < 0 ? row + static_cast<std::ptrdiff_t>(rows) : row);
    }
    return {table};
}

/// PyTorch's name of a parameter of nn.MultiheadAttention.
std::string torch_name(const DrawnTensor& row) {
    const std::string& name = row.member.empty() ? row.name : row.member;
    return name.substr(0, name.find(".chunk"));
}

template <class T>
void check_layer(Generator& generator, const Json& step) {
    const DrawList rows = rows_of(step);
    const DType dtype = std::is_same_v<T, double> ? DType::float64 : DType::float32;
    const Ledger layer = draw(rows, dtype, generator);
    for (const auto& [name, record] : step.at("params").items()) {
        CAPTURE(name);
        Shape shape;
        std::vector<T> cells;
        for (const DrawnTensor& row : rows) {
            if (row.name.empty() || torch_name(row) != name) continue;
            // Thirds of one bias are drawn one after the other.
            const Array<T>& part = layer[row.name].as<T>();
            cells.insert(cells.end(), part.begin(), part.end());
            const Shape part_shape = row.shape();
            shape = shape.empty() ? part_shape : Shape{shape[0] + part_shape[0]};
        }
        CHECK(shape == record.at("shape").template get<Shape>());
        vectors::check_record<T>(record, {cells.data(), cells.size()});
    }
}

void check_draw(Generator& generator, const Json& step) {
    std::vector<float> cells(step.at("n").get<std::size_t>());
    REQUIRE((step.at("type") == "randn" || step["type"] == "rand"));
    const auto how = step["type"] == "randn" ? Initialisation::normal : Initialisation::uniform;
    initialise(std::span<float>(cells), how, 0, 0, generator);
    vectors::check_record<float>(step.at("result"), cells);
}

}  // namespace

TEST_SUITE("random: layers") {
    TEST_CASE("the weights of a linear layer stay below, and come close to, 1 / sqrt(width)") {
        for (const std::size_t in : {1U, 2U, 3U, 7U, 100U}) {
            CAPTURE(in);
            TorchGenerator generator(in);
            const double bound = 1.0 / std::sqrt(static_cast<double>(in));
            for (const auto how : {Initialisation::linear_weight, Initialisation::linear_bias}) {
                const double largest = largest_magnitude(drawn(how, 300, in, 3, generator));
                // The bound of the weight is computed in another way and may be an ulp above.
                CHECK(largest <= bound * (1.0 + 1e-15));
                CHECK(largest > 0.95 * bound);
            }
        }
    }

    TEST_CASE("Glorot's bound is the square root of 6 over the sum of input and output features") {
        TorchGenerator generator(8);
        const auto cells = drawn(Initialisation::xavier, 108, 6, 18, generator);
        CHECK(largest_magnitude(cells) <= 0.5 * (1.0 + 1e-15));
        CHECK(largest_magnitude(cells) > 0.4);
    }

    TEST_CASE("zeros use no draws") {
        TorchGenerator generator(8);
        TorchGenerator untouched(8);
        CHECK(largest_magnitude(drawn(Initialisation::zeros, 9, 3, 3, generator)) == 0.0);
        CHECK(drawn(Initialisation::uniform, 1, 0, 0, generator) ==
              drawn(Initialisation::uniform, 1, 0, 0, untouched));
    }
}

TEST_SUITE("vectors: layers") {
    TEST_CASE("layers start from the parameters that PyTorch gives them") {
        const Json content = vectors::read("layers.json");
        for (const Json& one_case : content.at("cases")) {
            INFO("layers.json " << one_case.at("name").get<std::string>());
            TorchGenerator generator(one_case.at("seed").get<std::uint64_t>());
            REQUIRE(!one_case.at("steps").empty());
            for (const Json& step : one_case.at("steps")) {
                const std::string type = step.at("type");
                CAPTURE(type);
                if (!step.contains("params")) {
                    check_draw(generator, step);
                } else if (step.at("dtype") == "float64") {
                    check_layer<double>(generator, step);
                } else {
                    check_layer<float>(generator, step);
                }
            }
        }
    }
}
