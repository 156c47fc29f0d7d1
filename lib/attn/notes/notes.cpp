#include "attn/notes/notes.hpp"

#include <array>
#include <utility>

#include "attn/notes/note_parts.hpp"

namespace attn {
namespace {

using Writer = std::string (*)(const notes::Subject&);

/// Who writes the note of which step.
constexpr std::array<std::pair<std::string_view, Writer>, 38> writers{{
    {"ids", notes::ids_note},
    {"embedding", notes::embedding_note},
    {"x", notes::x_note},
    {"memory_ids", notes::ids_note},
    {"memory_embedding", notes::embedding_note},
    {"memory", notes::x_note},
    {"w_query", notes::weight_parameter_note},
    {"b_query", notes::bias_note},
    {"w_key", notes::weight_parameter_note},
    {"b_key", notes::bias_note},
    {"w_value", notes::weight_parameter_note},
    {"b_value", notes::bias_note},
    {"w_qkv", notes::weight_parameter_note},
    {"b_qkv", notes::bias_note},
    {"projected_query", notes::projected_note},
    {"projected_key", notes::projected_note},
    {"projected_value", notes::projected_note},
    {"qkv", notes::qkv_note},
    {"query", notes::query_note},
    {"key", notes::key_note},
    {"value", notes::value_note},
    {"scores", notes::scores_note},
    {"scaled_scores", notes::scaled_scores_note},
    {"mask", notes::mask_note},
    {"masked_scores", notes::masked_scores_note},
    {"row_max", notes::row_max_note},
    {"exponentials", notes::exponentials_note},
    {"row_sum", notes::row_sum_note},
    {"weights", notes::weights_note},
    {"running_max", notes::running_max_note},
    {"correction", notes::correction_note},
    {"running_sum", notes::running_sum_note},
    {"partial_context", notes::partial_context_note},
    {"context", notes::context_note},
    {"merged", notes::merged_note},
    {"w_output", notes::weight_parameter_note},
    {"b_output", notes::bias_note},
    {"output", notes::output_note},
}};

}  // namespace

std::string step_note(std::string_view name, const Plan& plan, const Ledger& ledger) {
    const Tensor* tensor = ledger.find(name);
    if (tensor == nullptr || tensor->size() == 0) return {};
    const notes::Subject subject{name, plan, ledger, *tensor};
    for (const auto& [step, write] : writers) {
        if (step == name) return write(subject);
    }
    return {};
}

}  // namespace attn
