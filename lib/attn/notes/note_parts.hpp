#pragma once
#include <string>
#include <string_view>

#include "attn/walk/ledger.hpp"
#include "attn/walk/plan.hpp"

namespace attn::notes {

/// What a note is about: one step of one walk.
struct Subject {
    std::string_view name;
    const Plan& plan;
    const Ledger& ledger;  ///< this step and those before it
    const Tensor& tensor;  ///< the step's own
};

// One small function a step, or a kind of step. Each reads its own tensor and those before it and
// claims only what these numbers show, so that a note stays true when a step was replaced.

std::string ids_note(const Subject& subject);
std::string embedding_note(const Subject& subject);
std::string x_note(const Subject& subject);

std::string weight_parameter_note(const Subject& subject);
std::string bias_note(const Subject& subject);
std::string projected_note(const Subject& subject);
std::string qkv_note(const Subject& subject);
std::string query_note(const Subject& subject);
std::string key_note(const Subject& subject);
std::string value_note(const Subject& subject);

std::string scores_note(const Subject& subject);
std::string scaled_scores_note(const Subject& subject);
std::string mask_note(const Subject& subject);
std::string masked_scores_note(const Subject& subject);

std::string row_max_note(const Subject& subject);
std::string exponentials_note(const Subject& subject);
std::string row_sum_note(const Subject& subject);
std::string weights_note(const Subject& subject);

std::string running_max_note(const Subject& subject);
std::string correction_note(const Subject& subject);
std::string running_sum_note(const Subject& subject);
std::string partial_context_note(const Subject& subject);
std::string fused_context_note(const Subject& subject);

std::string context_note(const Subject& subject);
std::string merged_note(const Subject& subject);
std::string output_note(const Subject& subject);

}  // namespace attn::notes
