#include <cmath>
#include <set>

#include "attn/core/cards/step_table.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/judge/lint/lint_checks.hpp"

namespace attn::lint_checks {
namespace {

/// True if a weight has no negative number.
bool is_positive(const Tensor& weight) {
    return weight.size() >= 8 && all_cells(weight, [](double number) { return number >= 0; });
}

/// The tokens of x or of memory: their ids, the name of a position, and the padding id.
struct TokenSide {
    const Tensor* ids;
    const char* positions;
    const char* rows;
    std::optional<std::int64_t> pad_id;
};

std::vector<TokenSide> token_sides(const Plan& plan, const Ledger& ledger) {
    std::vector<TokenSide> sides;
    const auto add = [&](const char* ids, const char* positions, const char* rows,
                         const Source& source) {
        const auto* tokens = std::get_if<Tokens>(&source);
        if (tokens == nullptr || tokens->embedded || !ledger.has(ids)) return;
        sides.push_back({ledger.find(ids), positions, rows, tokens->pad_id});
    };
    add("ids", "positions ", "x", plan.config.input);
    if (plan.config.memory) {
        add("memory_ids", "memory positions ", "memory", *plan.config.memory);
    }
    return sides;
}

/// Joins the texts that `line` returns for each side.
template <class Line>
Answer of_each_side(const Plan& plan, const Ledger& ledger, Line line) {
    std::string lines;
    for (const TokenSide& side : token_sides(plan, ledger)) {
        const Answer answer = line(side);
        if (answer) lines += (lines.empty() ? "" : "; ") + *answer;
    }
    return lines.empty() ? std::nullopt : Answer(lines);
}

Answer repeated_token(const TokenSide& side) {
    const Tensor& ids = *side.ids;
    const std::size_t length = ids.shape().back();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (side.pad_id && ids.at(i) == static_cast<double>(*side.pad_id)) continue;
        for (std::size_t j = i + 1; j < (i / length + 1) * length; ++j) {
            if (ids.at(i) != ids.at(j)) continue;
            return side.positions + std::to_string(i % length) + " and " +
                   std::to_string(j % length) +
                   " hold the same token and nothing encodes position: their rows of " + side.rows +
                   " are equal";
        }
    }
    return std::nullopt;
}

Answer unused_rows(const TokenSide& side) {
    std::set<double> used;
    for (std::size_t i = 0; i < side.ids->size(); ++i) used.insert(side.ids->at(i));
    if (side.pad_id) used.insert(static_cast<double>(*side.pad_id));
    if (used.empty()) return std::nullopt;
    const auto below = static_cast<std::size_t>(*used.rbegin()) + 1;
    const std::size_t smallest = used.count(0) != 0 ? below : below - 1;
    if (used.size() >= smallest) return std::nullopt;
    const bool of_memory = std::string_view(side.rows) == "memory";
    return std::to_string(used.size()) + " distinct ids" + (of_memory ? " of memory" : "") +
           " reach up to " + std::to_string(below - 1) + ": " +
           std::to_string(smallest - used.size()) + " rows of the embedding are never used";
}

}  // namespace

Answer hidden_rows(const Plan& plan, const Ledger& ledger) {
    if (!plan.masks() || plan.config.softmax_axis != SoftmaxAxis::key) return std::nullopt;
    if (!ledger.has("row_max")) return std::nullopt;  // no softmax
    const Tensor& row_max = ledger["row_max"];
    const std::size_t empty = count_cells(row_max, [](double most) { return most == -HUGE_VAL; });
    if (empty == 0) return std::nullopt;
    return std::to_string(empty) + " of " + std::to_string(row_max.size()) +
           " rows are fully masked: all their scores are -inf";
}

bool is_padding(const Plan& plan, std::size_t batch, std::size_t position) {
    const Source& keys = plan.config.memory ? *plan.config.memory : plan.config.input;
    const auto* tokens = std::get_if<Tokens>(&keys);
    const std::vector<std::int64_t>& lengths = plan.config.lengths;
    const bool pads = tokens != nullptr && tokens->pad_id && position >= plan.past_len &&
                      tokens->sequences[batch][position - plan.past_len] == *tokens->pad_id;
    return pads || (!lengths.empty() && static_cast<std::int64_t>(position) >= lengths[batch]);
}

Answer unmasked_padding(const Plan& plan, const Ledger& ledger) {
    if (plan.config.mask.padding) return std::nullopt;
    const Tensor& weights = ledger["weights"];
    const std::size_t cells = weights.size() / plan.batch;
    std::size_t seen = 0;
    for (std::size_t b = 0; b < plan.batch; ++b) {
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            if (!is_padding(plan, b, k)) continue;
            // Count each padded key that some query sees, whatever mask there is, once.
            bool visible = false;
            for (std::size_t cell = k; cell < cells; cell += plan.key_len) {
                visible = visible || softmax_input(ledger).at(b * cells + cell) > -HUGE_VAL;
            }
            seen += visible ? 1U : 0U;
        }
    }
    if (seen == 0) return std::nullopt;
    return std::to_string(seen) + " of " + std::to_string(plan.batch * plan.key_len) +
           " keys are padding and no mask hides them: they take part in averages";
}

Answer not_finite(const Plan& plan, const Ledger& ledger) {
    std::string found;
    const bool hides_rows = hidden_rows(plan, ledger).has_value();
    for (const auto& [name, tensor] : ledger.entries()) {
        if (hides_rows && name == "mask") break;  // later steps are nan because of it
        const bool may_hide = plan.masks() && (name == "masked_scores" || name == "row_max");
        const std::size_t count = count_cells(tensor, [&](double number) {
            return !std::isfinite(number) && !(may_hide && number == -HUGE_VAL);
        });
        if (count == 0) continue;
        found += (found.empty() ? "nan or inf in " : ", ") + name + " (" + std::to_string(count) +
                 " of " + std::to_string(tensor.size()) + ")";
    }
    return found.empty() ? std::nullopt : Answer(found);
}

Answer huge_numbers(const Plan& plan, const Ledger& ledger) {
    for (const auto& [name, tensor] : ledger.entries()) {
        if (!has_step(step_table(plan), plan, name)) continue;  // of the backward pass
        const Step::Kind kind = find_step(step_table(plan), name).kind;
        if (kind != Step::Kind::input && kind != Step::Kind::parameter) continue;
        for (std::size_t i = 0; i < tensor.size(); ++i) {
            const double size = std::abs(tensor.at(i));
            if (size <= 65504 || !std::isfinite(size) || !tensor.is_floating()) continue;
            return name + " contains " + brief(tensor.at(i)) + ": the largest float16 is 65504";
        }
    }
    return std::nullopt;
}

Answer positive_init(const Plan&, const Ledger& ledger) {
    std::string names;
    std::size_t found = 0;
    bool in_scores = false;
    for (const std::string name : {"w_query", "w_key", "w_value", "w_qkv", "w_output"}) {
        const Tensor* weight = ledger.find(name);
        if (weight == nullptr || !is_positive(*weight)) continue;
        names += (found++ == 0 ? "" : ", ") + name;
        in_scores = in_scores || (name != "w_value" && name != "w_output");
    }
    if (found == 0) return std::nullopt;
    return names + (found == 1 ? " has" : " have") + " no negative number: " +
           (in_scores ? "scores grow with the sum of features"
                      : "each new feature adds up all others");
}

Answer no_position(const Plan& plan, const Ledger& ledger) {
    if (plan.rotates() || plan.adds_positions()) return std::nullopt;
    return of_each_side(plan, ledger, repeated_token);
}

Answer vocabulary_gaps(const Plan& plan, const Ledger& ledger) {
    return of_each_side(plan, ledger, unused_rows);
}

Answer blind_padding(const Plan& plan, const Ledger& ledger) {
    const char* key_ids = plan.has_memory ? "memory_ids" : "ids";
    if (!plan.config.mask.padding || plan.config.bias || !ledger.has(key_ids)) return std::nullopt;
    const Tensor& mask = ledger["mask"];
    if (plan.config.mask.causal) return std::nullopt;
    const Tensor& scores = ledger.latest(Chain::scores, "masked_scores");
    const Tensor& masked = ledger["masked_scores"];
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (masked.at(i) > -HUGE_VAL) continue;
        ++hidden;
        if (scores.at(i) != 0) return std::nullopt;
    }
    if (hidden == 0) return std::nullopt;
    return "all " + std::to_string(hidden) + " hidden scores (mask " + shape_text(mask.shape()) +
           ") are 0 before the mask: a mask of zeros and no mask would look the same";
}

}  // namespace attn::lint_checks
