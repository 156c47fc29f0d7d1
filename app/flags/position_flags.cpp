
#include "app/flags/setting.hpp"
#include "app/terminal/messages.hpp"
#include "attn/files/io/read_tensor.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

bool counts(const Plan& plan) { return plan.rotates() || plan.adds_positions(); }
bool norms(const Plan& plan) { return plan.norms(); }
bool norms_and_rotates(const Plan& plan) { return plan.norms() && plan.rotates(); }
bool rotates(const Plan& plan) { return plan.rotates(); }

/// Accepts `alibi`, `t5` with its numbers, or a file.
void set_position_bias(WalkConfig& config, const Flag& flag, const std::string& text) {
    const bool is_t5 = before(text, ':') == "t5";
    if (is_t5 || !names_a_file(text)) return flag.setting->set(config, flag.name, text);
    attn::PositionBias& bias = config.position_bias.emplace();
    bias.kind = attn::PositionBias::Kind::file;
    bias.given = attn::read_tensor(text, report_note);
}

}  // namespace

std::vector<Flag> position_rows() {
    const Need rope{rotates, "rotary positions: add --rope half"};
    return {
        setting(
            "--position-embedding", "KIND",
            "add to each token a row for its position: from a learned table (GPT-2, BERT), or the "
            "sines and cosines of the first Transformer"),
        setting("--positions", "N,N",
                "positions of the tokens: 7,8,9; after a semicolon those of the memory")
            .needing({counts, "positions: add --rope half or --position-embedding learned"}),
        setting(
            flags::rope, "PAIRING",
            "rotary positions: rotate pairs of features of query and key, each with the one half a "
            "head away (Llama, Qwen) or with its neighbour (GPT-J)"),
        setting(flags::rope_theta, "X", "base of the rotary frequencies theta^(-2i/rotary-dim)")
            .needing(rope),
        setting(flags::rotary_dim, "N", "rotate only the first N features of each head")
            .needing(rope),
        setting(flags::rope_scaling, "KIND:N:...",
                "rotary frequencies for inputs longer than those of training: linear:F, "
                "dynamic:F:LENGTH, llama3:F:LOW:HIGH:LENGTH, longrope:F:LENGTH:SHORT:LONG with two "
                "lists of a factor for each pair (1,1.1), or yarn:F:LENGTH[:FAST:SLOW], with "
                "truncate=false, attention_factor=X, mscale=X and mscale_all_dim=X after colons")
            .needing(rope),
        setting(flags::position_bias, "HOW",
                "add a number to each score for the distance between query and key: alibi, t5 "
                "(t5:32:128 are buckets and the largest distance), or a file")
            .set_by(set_position_bias)
            .being(or_file),
        setting("--qk-norm", "OVER",
                "normalise query and key: RMSNorm over each head (Qwen3, Gemma 3), over all heads "
                "together (OLMo 2), or each row to length 1")
            .being(of_model),
        setting("--qk-norm-place", "WHERE",
                "normalise query and key before the rotation, or after it")
            .needing({norms_and_rotates, "--qk-norm head and --rope half"}),
        setting("--norm-eps", "X",
                "added to the mean square in the norms of query and key; for l2, "
                "the minimum length")
            .needing({norms, "a norm: add --qk-norm head"}),
    };
}

}  // namespace app
