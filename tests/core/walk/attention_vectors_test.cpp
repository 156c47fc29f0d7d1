// Whole configurations against PyTorch and NumPy: every step in float64 from the float32 draws,
// both variants.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/core/cards/step_table.hpp"
#include "attn/show/render/numpy_text.hpp"
#include "attn/show/render/torch_text.hpp"
#include "tests/support/vectors.hpp"

using namespace attn;
using nlohmann::json;

namespace {

Init init_of(const std::string& word) {
    if (word == "rand") return Init::uniform;
    if (word == "randn") return Init::normal;
    return Init::linear;
}

std::array<Init, 3> inits_of(const std::string& words) {
    const std::size_t comma = words.find(',');
    if (comma == std::string::npos) return {init_of(words), init_of(words), init_of(words)};
    const std::size_t second = words.find(',', comma + 1);
    return {init_of(words.substr(0, comma)), init_of(words.substr(comma + 1, second - comma - 1)),
            init_of(words.substr(second + 1))};
}

Source source_of(const json& config) {
    const std::string input = config["input"];
    if (input != "embedding") {
        return RandomInput{input == "rand" ? Distribution::uniform : Distribution::normal};
    }
    Tokens tokens;
    tokens.vocab_size = config["vocab"].get<std::int64_t>();
    if (!config["pad"].is_null()) tokens.pad_id = config["pad"].get<std::int64_t>();
    if (config["ids"][0].is_array()) {
        tokens.sequences = config["ids"].get<std::vector<std::vector<std::int64_t>>>();
    } else {
        tokens.sequences = {config["ids"].get<std::vector<std::int64_t>>()};
    }
    return tokens;
}

WalkConfig config_of(const json& given, Variant variant) {
    static const std::map<std::string, Projection> layouts{
        {"split", Projection::split},
        {"fused_by_head", Projection::fused_by_head},
        {"fused_by_role", Projection::fused},
        {"split_matrix", Projection::matrix},
        {"head_stack", Projection::stacked},
        {"head_loop", Projection::per_head},
        {"mha", Projection::mha}};
    WalkConfig config;
    config.rng = given["engine"] == "numpy" ? Rng::numpy : Rng::torch;
    config.seed = given["seed"].get<std::uint64_t>();
    config.input = source_of(given);
    if (!given["batch"].is_null()) config.batch = given["batch"].get<std::int64_t>();
    if (!std::holds_alternative<Tokens>(config.input)) config.query_len = given["seq"];
    config.embed_dim = given["embed"].get<std::int64_t>();
    config.heads = given["heads"].get<std::int64_t>();
    config.head_dim = given["head_dim"].get<std::int64_t>();
    config.value_dim = given["dim_v"].get<std::int64_t>();
    if (!given["lengths"].is_null()) {
        config.lengths = given["lengths"].get<std::vector<std::int64_t>>();
    }
    config.projection = layouts.at(given["layout"]);
    config.draw_order = given["order"];
    const std::string weights = given["weights"];
    config.bias = weights == "linear_bias";
    if (config.projection != Projection::mha) config.init = inits_of(weights);
    config.redraw = given["redraw"];
    for (const json& burn : given["burn"]) {
        config.burn.push_back(
            {burn[0] == "rand" ? Distribution::uniform : Distribution::normal, burn[1]});
    }
    const std::string mask = given["mask"];
    config.mask.causal = mask == "causal" || mask == "both";
    config.mask.padding = mask == "padding" || mask == "both";
    const std::string scale = given["scale"];
    config.scale.by = scale == "none"    ? ScaleChoice::By::none
                      : scale == "embed" ? ScaleChoice::By::embed_dim
                                         : ScaleChoice::By::head_dim;
    config.merge = given["combine"] == "concat";
    config.output_projection = given["out_proj"] != "none" || config.projection == Projection::mha;
    config.output_bias = given["out_proj"] == "linear_bias";
    // The vectors of both engines have float64 results; torch draws in float32.
    config.dtype = config.rng == Rng::torch ? DType::float32 : DType::float64;
    config.compute_dtype = DType::float64;
    config.variant = variant;

    const int axes =
        2 + (given["batch"].is_null() ? 0 : 1) +
        (config.heads > 1 || config.projection == Projection::stacked ||
                 config.projection == Projection::mha || config.projection == Projection::fused ||
                 config.projection == Projection::fused_by_head
             ? 1
             : 0);
    const int axis = given["softmax_axis"].get<int>();
    const int from_end = axis < 0 ? -axis : axes - axis;
    config.softmax_axis = from_end == 1   ? SoftmaxAxis::key
                          : from_end == 2 ? SoftmaxAxis::query
                          : from_end == 3 && axes - (given["batch"].is_null() ? 0 : 1) == 3
                              ? SoftmaxAxis::head
                              : SoftmaxAxis::batch;
    return config;
}

double number_of(const json& value) {
    if (!value.is_string()) return value.get<double>();
    if (value == "nan") return std::nan("");
    return value == "inf" ? HUGE_VAL : -HUGE_VAL;
}

/// The ledger's tensor for a name of the vectors.
const Tensor& step_of(const Ledger& ledger, const std::string& name) {
    static const std::map<std::string, std::string> names{
        {"q", "query"}, {"k", "key"}, {"v", "value"}, {"combined", "merged"}};
    if (name == "scores_raw") return ledger["scores"];
    if (name == "scores_scaled") return ledger.latest(Chain::scores, "masked_scores");
    if (name == "scores_masked") {
        return ledger.latest(Chain::scores);
    }
    if (name == "out") return ledger.latest(Chain::contexts);
    const auto found = names.find(name);
    return ledger[found == names.end() ? name : found->second];
}

void check_step(const Tensor& tensor, const json& expected, const std::string& where) {
    INFO(where);
    const Shape shape = expected["shape"].get<Shape>();
    REQUIRE(tensor.shape() == shape);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double correct = tensor.at(i);
        const double actual = number_of(expected["values"][i]);
        const bool same = correct == actual || (std::isnan(correct) && std::isnan(actual)) ||
                          std::abs(correct - actual) <= 1e-10 * std::max(1.0, std::abs(actual));
        REQUIRE_MESSAGE(same, "cell " << i << ": " << correct << " is not " << actual);
    }
}

}  // namespace

TEST_SUITE("vectors: attention") {
    TEST_CASE("every step agrees with PyTorch and NumPy within 1e-10, and prints as they print") {
        const json vectors = vectors::read("attention_samples.json");
        std::size_t steps = 0;
        for (const json& sample : vectors["cases"]) {
            for (const Variant variant : {Variant::loop, Variant::vectorized}) {
                const Plan plan = resolve(config_of(sample["config"], variant));
                const Ledger ledger = walk(plan, draw(plan));
                const std::string name = sample["name"].get<std::string>() +
                                         (variant == Variant::loop ? " loop " : " vectorized ");
                for (const auto& [step, expected] : sample["tensors"].items()) {
                    check_step(step_of(ledger, step), expected, name + step);
                    ++steps;
                }
                for (const auto& [step, texts] : sample["texts"].items()) {
                    INFO(name << step);
                    const Tensor& tensor = step_of(ledger, step);
                    PrintOptions options;
                    options.default_dtype = DType::float64;
                    if (texts.contains("text64")) {
                        CHECK(torch_text(tensor, options) == texts["text64"].get<std::string>());
                    }
                    if (texts.contains("str")) {
                        CHECK(numpy_str(tensor) == texts["str"].get<std::string>());
                    }
                }
            }
        }
        CHECK(steps > 0);
    }
}
