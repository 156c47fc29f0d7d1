#include "app/flags/known_words.hpp"
#include "app/flags/setting.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/flags/walk_rows.hpp"

namespace app {
namespace {

using attn::WalkConfig;

bool has_model(const attn::Plan& plan) { return !plan.config.model_file.empty(); }
bool norms_x(const attn::Plan& plan) { return plan.config.x_norm.has_value(); }

}  // namespace

std::vector<Flag> trained_rows() {
    const Need model{nullptr, has_model, "a trained model: add --model-file stories"};
    return {
        setting<&WalkConfig::model_file>(
            "--model-file", "FILE",
            "walk through a layer of a trained model: stories or sorter, which the program holds, "
            "a folder of Hugging Face (config.json and .safetensors files), or a file of llama2.c")
            .being(of_arithmetic)
            .taking(such_as(shipped_models, Takes::Kind::file)),
        Flag{"--tokenizer", "FILE", "tokenizer of the trained model", file(),
             "the one beside the model"}
            .being(of_arithmetic)
            .needing(model),
        setting<&WalkConfig::x_norm>(
            "--x-norm", "KIND", "norm of x in front of the projections, as models have it", "none"),
        setting<&WalkConfig::x_norm_eps>("--x-norm-eps", "X",
                                         "added to the mean square in the norm of x")
            .needing({nullptr, norms_x, "a norm of x: add --x-norm rms"}),
    };
}

}  // namespace app
