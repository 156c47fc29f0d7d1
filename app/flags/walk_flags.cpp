#include "app/flags/walk_flags.hpp"

#include <algorithm>

#include "app/flags/config_file.hpp"
#include "app/flags/setting.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::Projection;
using attn::WalkConfig;

bool has_projection(const Plan& plan) { return plan.config.projection != Projection::none; }
bool has_matrix(const Plan& plan) { return has_projection(plan) || plan.config.output_projection; }
bool masks(const Plan& plan) { return plan.masks(); }
/// True if a kind of mask depends on the positions of queries, and these could be others.
bool aligns(const Plan& plan) {
    const auto goes_by_position = [&](const attn::MaskKind& kind) {
        return kind.condition != nullptr && kind.chosen(plan.config.mask);
    };
    return plan.query_len != plan.key_len &&
           std::ranges::any_of(attn::mask_kinds(), goes_by_position);
}
bool projects_output(const Plan& plan) { return plan.config.output_projection; }
bool has_heads(const Plan& plan) { return plan.has_head; }

std::vector<Flag> model_rows() {
    const Need projection{has_projection, "a projection: leave --projection none out"};
    const Need heads{has_heads, "several heads: pass --heads 2 or more"};
    return {
        Flag{flags::preset, "NAME",
             "the settings of a family of models, at small sizes (--list-presets); other flags "
             "override them, and --bias=false switches one off",
             one_of(preset_names)}
            .being(of_model),
        setting(flags::embed_dim, "N", "features of each token").being(of_model),
        setting(flags::heads, "N", "number of heads").being(of_model),
        setting(flags::kv_heads, "N",
                "heads of key and value, shared by the query heads: 1 is multi-query attention")
            .being(of_model)
            .needing(heads),
        setting(flags::head_dim, "N", "features of query and key in each head").being(of_model),
        setting("--value-dim", "N", "features of value in each head").being(of_model),
        setting("--output-dim", "N", "features of the output projection")
            .being(of_model)
            .needing({projects_output, "an output projection: add --output-projection"}),
        setting(flags::projection, "KIND",
                "how query, key and value are computed from x: split and matrix have a weight for "
                "each of the three, fused one for all (GPT-2), fused-by-head the same, arranged "
                "head by head (GPT-NeoX), stacked and per-head weights for each head, mha as in "
                "nn.MultiheadAttention")
            .being(of_model),
        setting("--init", "HOW", "how projections are drawn, one word or three for q,k,v")
            .being(of_model)
            .in_group(last_group)
            .needing(projection),
        setting("--bias", "", "biases on the query, key and value projections").being(of_model),
        setting("--draw-order", "ORDER", "order in which the projections are drawn")
            .being(of_model)
            .in_group(last_group)
            .needing({changes_draws<&WalkConfig::draw_order>,
                      "projections that are drawn one after the other"}),
        setting(flags::weight_layout, "LAYOUT", "how projection matrices are stored")
            .being(of_model)
            .in_group(last_group)
            .needing({has_matrix, projection.what}),
        setting("--output-projection", "", "mix the heads by an output projection at the end")
            .being(of_model),
        setting("--output-bias", "", "bias on the output projection").being(of_model),
        setting(flags::merge, "", "concatenate the heads at the end").needing(heads),
        setting(flags::no_merge, "", "keep the heads separate")
            .instead_of({flags::merge})
            .being(of_model)
            .needing(heads),
        setting(flags::weights, "FILE", "parameters from a file, by name; the others are drawn")
            .being(of_model),
        Flag{flags::map, "NAMES", "your name for a parameter or a step, then ours: W1:w_query"}
            .repeatable()
            .being(of_arithmetic)
            .needing({[](const Arguments& arguments) {
                          return arguments.has_any({flags::weights, flags::file});
                      },
                      "a file of tensors: pass --weights"}),
        setting(flags::model, "FAMILY", "the --weights file is from this model family")
            .being(of_model)
            .taking(one_of("gpt2 bert")),
        setting(flags::layer, "N", "layer of the model in --model-file or --weights")
            .taking(integer(0))
            .with_default("0")
            .being(of_arithmetic),
        setting(flags::mask, "KIND", attn::mask_help()),
        Flag{flags::mask_file, "FILE[:NAME]",
             "a mask from a file: bool, or 0 and 1, with --mask-true; other numbers are added to "
             "the scores",
             file()},
        Flag{flags::mask_true, "WHICH", "meaning of true in --mask-file", one_of("keep drop")},
        setting(flags::causal_align, "WHERE",
                "with unequal lengths, the causal mask aligns the first query with the first key, "
                "or the last with the last")
            .needing({aligns, "--mask causal, and a memory longer or shorter than x"}),
        setting("--empty-row", "WHAT", "the weights of a query whose keys are all hidden")
            .being(of_arithmetic)
            .needing({masks, "a mask: add --mask causal or padding"}),
        setting(flags::scale, "HOW",
                "divide the scores by the square root of head-dim or embed-dim, do not divide "
                "them (none), or multiply them by a number"),
        setting(flags::softcap, "X",
                "bound the scores softly: X * tanh(score / X), as in Gemma 2; 0 turns it off"),
        setting(flags::softmax_axis, "AXIS", "axis over which the weights sum to 1"),
    };
}

}  // namespace

std::vector<std::string> step_names() { return collected(attn::step_table(), &attn::Step::name); }

std::vector<std::string> mistake_ids() { return collected(attn::mistakes(), &attn::Mistake::id); }

std::vector<std::string> shipped_models() { return {"stories"}; }

const std::vector<Flag>& walk_flags() {
    static const std::vector<Flag> all = [] {
        std::vector<Flag> rows;
        for (const auto& part :
             {grouped("Input (one source; default: a sentence)", input_rows()),
              grouped("Model", model_rows()), grouped("Trained models", trained_rows()),
              grouped("Positions", position_rows()), grouped("Cache and sink", cache_rows()),
              grouped("Other forms of attention", variant_rows()),
              grouped("Rules", attention_rows()), grouped("Numbers", number_rows())}) {
            rows.insert(rows.end(), part.begin(), part.end());
        }
        return rows;
    }();
    return all;
}

}  // namespace app
