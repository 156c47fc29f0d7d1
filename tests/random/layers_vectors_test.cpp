#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/random/layers.hpp"
#include "attn/random/torch_generator.hpp"
#include "tests/support/vectors.hpp"

using namespace attn;
using vectors::Json;

namespace {

/// Checks a parameter, and that the layer has it exactly when the reference has it.
template <class T>
void check_parameter(const Json& params, const std::string& name, const Array<T>& drawn) {
    CAPTURE(name);
    if (!params.contains(name)) {
        CHECK(shape_of(drawn) == Shape{0});
        return;
    }
    const Json& record = params[name];
    CHECK(shape_of(drawn) == record.at("shape").get<Shape>());
    vectors::check_record<T>(record, {drawn.data(), drawn.size()});
}

template <class T>
void check_linear(Generator& generator, const Json& step) {
    const LinearParameters<T> linear =
        draw_linear<T>(generator, step.at("in_features"), step.at("out_features"), step.at("bias"));
    check_parameter(step.at("params"), "weight", linear.weight);
    check_parameter(step.at("params"), "bias", linear.bias);
}

template <class T>
void check_embedding(Generator& generator, const Json& step) {
    const std::ptrdiff_t rows = step.at("rows");
    std::ptrdiff_t padding_row = -1;
    if (!step.at("padding_idx").is_null()) {
        padding_row = step["padding_idx"];
        if (padding_row < 0) padding_row += rows;
    }
    const Array<T> table =
        draw_embedding<T>(generator, static_cast<std::size_t>(rows), step.at("cols"), padding_row);
    check_parameter(step.at("params"), "weight", table);
}

template <class T>
void check_multihead(Generator& generator, const Json& step) {
    const std::size_t embed_dim = step.at("embed_dim");
    const auto width = [&](const std::string& name) {
        return step.at(name).is_null() ? embed_dim : step[name].get<std::size_t>();
    };
    const MultiheadParameters<T> drawn =
        draw_multihead<T>(generator, embed_dim, step.at("bias"), width("kdim"), width("vdim"));
    const Json& params = step.at("params");
    check_parameter(params, "in_proj_weight", drawn.w_qkv);
    check_parameter(params, "q_proj_weight", drawn.w_query);
    check_parameter(params, "k_proj_weight", drawn.w_key);
    check_parameter(params, "v_proj_weight", drawn.w_value);
    check_parameter(params, "in_proj_bias", drawn.b_qkv);
    check_parameter(params, "out_proj.weight", drawn.w_output);
    check_parameter(params, "out_proj.bias", drawn.b_output);
}

void check_draw(Generator& generator, const Json& step) {
    std::vector<float> drawn(step.at("n").get<std::size_t>());
    if (step.at("type") == "randn") {
        generator.randn(std::span<float>(drawn));
    } else {
        REQUIRE(step["type"] == "rand");
        generator.rand(std::span<float>(drawn));
    }
    vectors::check_record<float>(step.at("result"), drawn);
}

template <class T>
void check_layer(Generator& generator, const Json& step) {
    const std::string type = step.at("type");
    if (type == "Linear") return check_linear<T>(generator, step);
    if (type == "Embedding") return check_embedding<T>(generator, step);
    REQUIRE(type == "MultiheadAttention");
    check_multihead<T>(generator, step);
}

}  // namespace

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
