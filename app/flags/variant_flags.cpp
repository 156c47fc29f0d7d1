#include "app/flags/setting.hpp"
#include "app/flags/walk_rows.hpp"

namespace app {
namespace {

using attn::Differential;
using attn::Latent;
using attn::Plan;
using attn::WalkConfig;

bool has_latent(const Plan& plan) { return plan.has_latent(); }

/// The number of the layer; alone it stands for the first.
void set_depth(WalkConfig& config, const Flag& flag, const std::string& text) {
    config.differential.depth = text.empty() ? 0 : parse_integer(flag.name, text, 0, 1000);
}

std::vector<std::string> ways() { return {"softmax", "sigmoid"}; }

}  // namespace

std::vector<Flag> variant_rows() {
    const Need mla{nullptr, has_latent, "latent attention: add --mla 8"};
    return {
        setting<&WalkConfig::differential, &Differential::depth>(
            "--differential", "DEPTH",
            "differential attention: a second softmax, times lambda, is taken from that of each "
            "head; lambda starts where it does in layer DEPTH, 0 without a number")
            .taking(integer(0, 1000))
            .or_alone()
            .set_by(set_depth),
        setting<&WalkConfig::latent, &Latent::rank>(
            "--mla", "RANK",
            "multi-head latent attention (DeepSeek): keys and values of all heads from RANK "
            "features of each token; --rotary-dim more features of each head rotate"),
        setting<&WalkConfig::latent, &Latent::query_rank>(
            "--mla-query-rank", "RANK", "latent attention: make the queries of a latent too")
            .needing(mla),
        setting<&WalkConfig::latent, &Latent::absorbed>(
            "--mla-absorbed", "",
            "latent attention: let queries meet the latents themselves, as when text is written")
            .needing(mla),
        Flag{"--weights-by", "HOW",
             "what makes weights of scores: softmax, or the sigmoid of each score by itself",
             one_of(ways), "softmax"}
            .set_by([](WalkConfig& config, const Flag&, const std::string& text) {
                config.sigmoid = text == ways().back();
            })
            .recorded("weights_by",
                      [](const Plan& plan) {
                          return attn::json_string(ways()[plan.config.sigmoid ? 1 : 0]);
                      })
            .said_by([](const WalkConfig& config) {
                return config.sigmoid ? std::optional(ways().back()) : std::nullopt;
            }),
        Flag{"--rule", "RULE",
             "make a step by a rule of your own, as 'scaled_scores[q,k] = scores[q,k] / D'; "
             "@FILE: one rule a line"}
            .repeatable()
            .in_group("Rules"),
    };
}

}  // namespace app
