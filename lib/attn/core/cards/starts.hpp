#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attn/core/plan/plan.hpp"
#include "attn/core/plan/tokenize.hpp"
#include "attn/core/walk/step.hpp"

namespace attn {

/// x or memory: an input of the walk, with the names of its steps.
struct Start {
    const char *ids, *embedding, *tensor;
    bool of_memory;

    bool exists(const Plan& plan) const { return plan.has_x() && (!of_memory || plan.has_memory); }
    bool is_token_embedding() const { return tensor == std::string_view("token_embedding"); }
    const Source& source(const Plan& plan) const {
        return of_memory ? *plan.config.memory : plan.config.input;
    }
    bool has_ids(const Plan& plan) const {
        return exists(plan) && std::holds_alternative<Tokens>(source(plan));
    }
    /// True if a model has computed it from its ids.
    bool embedded(const Plan& plan) const {
        return has_ids(plan) && std::get<Tokens>(source(plan)).embedded;
    }
    std::size_t length(const Plan& plan) const { return of_memory ? plan.key_len : plan.query_len; }
    std::size_t features(const Plan& plan) const {
        return of_memory ? plan.memory_dim : plan.embed_dim;
    }
};

inline constexpr Start starts[]{{"ids", "embedding", "x", false},
                                {"memory_ids", "memory_embedding", "memory", true}};
/// x before positions are added.
inline constexpr Start tokens_alone{"ids", "embedding", "token_embedding", false};

/// Returns the ids of the source; nullptr if it has none.
inline const Tokens* tokens_of(const Start& start, const Plan& plan) {
    return std::get_if<Tokens>(&start.source(plan));
}

/// Returns the words for the rows of an embedding or its gradient; empty for other steps, and for
/// tokens without words.
inline std::vector<std::string> words_of_rows(const Plan& plan, const Step& step) {
    const std::string& name = step.gradient_of.empty() ? step.name : step.gradient_of;
    for (const Start& start : starts) {
        if (name != start.embedding || !start.has_ids(plan)) continue;
        return words_of_rows(*tokens_of(start, plan));
    }
    return {};
}

inline bool x_is_embedded(const Plan& plan) { return starts[0].embedded(plan); }

// Functions on x in a model.

/// True if x is given: computed by earlier layers, or by the model's norm of embeddings.
inline bool is_given_x(const Plan& plan) { return plan.config.parameters.has("x"); }
inline bool learns_positions(const Plan& plan) {
    return plan.config.position_embedding == PositionEmbedding::learned;
}
inline bool reads_positions(const Plan& plan) {
    return plan.config.parameters.has("position_embedding");
}

/// Returns `layer 0`, `layers 0 to 3`; for the first layer the norm of the embeddings, as in BERT.
inline std::string earlier_layers(const Plan& plan) {
    if (plan.config.layer == 0) return "the norm of the embeddings";
    const std::int64_t last = plan.config.layer - 1;
    return last == 0 ? "layer 0" : "layers 0 to " + std::to_string(last);
}

}  // namespace attn
