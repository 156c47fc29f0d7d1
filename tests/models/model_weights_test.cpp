#include "attn/models/hugging_face.hpp"

#include <doctest/doctest.h>

#include "attn/ground/tensor/error.hpp"
#include "tests/files/io/messages.hpp"

using namespace attn;
using namespace attn::models;

namespace {

NamedTensor numbered(const std::string& name, const Shape& shape, float first) {
    Array<float> values = empty_array<float>(shape);
    for (std::size_t i = 0; i < values.size(); ++i)
        values.data()[i] = first + static_cast<float>(i);
    Axes axes(shape.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = "axis" + std::to_string(i);
    return {name, Tensor(axes, std::move(values))};
}

/// The attention of two layers under GPT-2's names, and the other tensors beside it.
std::vector<NamedTensor> gpt2(const std::string& prefix) {
    std::vector<NamedTensor> tensors{numbered(prefix + "wte.weight", {3, 4}, 0)};
    for (const int layer : {1, 10}) {
        const std::string start = prefix + "h." + std::to_string(layer) + ".";
        const float base = static_cast<float>(100 * layer);
        tensors.push_back(numbered(start + "ln_1.weight", {4}, base + 1));
        tensors.push_back(numbered(start + "attn.bias", {1, 1, 8, 8}, base + 2));
        tensors.push_back(numbered(start + "attn.c_attn.weight", {4, 12}, base + 3));
        tensors.push_back(numbered(start + "attn.c_attn.bias", {12}, base + 4));
        tensors.push_back(numbered(start + "attn.c_proj.weight", {4, 4}, base + 5));
        tensors.push_back(numbered(start + "attn.c_proj.bias", {4}, base + 6));
        tensors.push_back(numbered(start + "mlp.c_proj.weight", {16, 4}, base + 7));
    }
    return tensors;
}

std::vector<NamedTensor> layer_of(const std::vector<NamedTensor>& tensors, const char* family,
                                  std::int64_t layer, const std::string& label) {
    std::vector<StoredArray> arrays;
    for (const NamedTensor& each : tensors) arrays.push_back({each.name, [&each] { return each; }});
    return pick_layer(arrays, attention_names(family), layer, label);
}

}  // namespace

TEST_SUITE("model_weights") {
    TEST_CASE("a GPT-2 layer is one fused matrix and an output, stored (in, out)") {
        for (const std::string prefix : {"", "transformer.", "model.transformer."}) {
            const auto layer = layer_of(gpt2(prefix), "gpt2", 10, "m");
            CHECK(attention_names("gpt2").fused);
            CHECK(attention_names("gpt2").in_out);
            REQUIRE(layer.size() == 4);
            CHECK(layer[0].name == "w_qkv");
            CHECK(layer[0].tensor.at(0) == 1003);
            CHECK(layer[1].name == "b_qkv");
            CHECK(layer[2].name == "w_output");
            CHECK(layer[2].tensor.at(0) == 1005);
            CHECK(layer[3].name == "b_output");
        }
    }

    TEST_CASE("a BERT layer is four matrices with biases, stored (out, in)") {
        std::vector<NamedTensor> tensors;
        const std::string start = "bert.encoder.layer.0.attention.";
        float first = 0;
        for (const char* name : {"self.query", "self.key", "self.value", "output.dense"}) {
            tensors.push_back(numbered(start + name + ".weight", {4, 4}, first += 100));
            tensors.push_back(numbered(start + name + ".bias", {4}, first + 50));
        }
        tensors.push_back(numbered(start + "output.LayerNorm.weight", {4}, 0));
        tensors.push_back(numbered("bert.encoder.layer.0.output.dense.weight", {4, 16}, 0));
        const auto layer = layer_of(tensors, "bert", 0, "m");
        CHECK_FALSE(attention_names("bert").fused);
        CHECK_FALSE(attention_names("bert").in_out);
        REQUIRE(layer.size() == 8);
        CHECK(layer[2].name == "w_key");
        CHECK(layer[2].tensor.at(0) == 200);
        CHECK(layer[7].name == "b_output");
        CHECK(layer[7].tensor.at(0) == 450);
    }

    TEST_CASE("a missing tensor is refused with the list of those present") {
        const auto tensors = gpt2("transformer.");
        const auto refused = [](const std::vector<NamedTensor>& from, const char* family,
                                std::int64_t layer) {
            return refusal([&] { layer_of(from, family, layer, "file"); });
        };
        CHECK(refused(tensors, "gpt2", 0).find("choose one of 1 to 10") != std::string::npos);
        CHECK(refused(tensors, "bert", 1).find("no tensor is named like those of bert") !=
              std::string::npos);
        std::vector<NamedTensor> both = gpt2("a.");
        for (NamedTensor& each : gpt2("b.")) both.push_back(std::move(each));
        CHECK(refused(both, "gpt2", 1).find("would be w_qkv") != std::string::npos);
        std::vector<NamedTensor> part = gpt2("");
        std::erase_if(
            part, [](const NamedTensor& each) { return each.name == "h.1.attn.c_proj.weight"; });
        CHECK(refused(part, "gpt2", 1).find("lacks h.1.attn.c_proj.weight") != std::string::npos);
        for (const char* other : {"gpt3", "llama", ""}) {
            CHECK_THROWS_AS(attention_names(other), ConfigError);
        }
    }
}
