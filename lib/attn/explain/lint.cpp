#include "attn/explain/lint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "attn/explain/words.hpp"
#include "attn/steps/groups.hpp"
#include "attn/walk/words.hpp"

namespace attn {
namespace {

using Answer = std::optional<std::string>;

std::string text(std::size_t number) { return std::to_string(number); }

const Tensor& softmax_input(const Ledger& ledger) {
    return *ledger.latest({"scores", "scaled_scores", "masked_scores"});
}

double largest_of(const Tensor& tensor) {
    double largest = -HUGE_VAL;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isfinite(tensor.at(i))) largest = std::max(largest, tensor.at(i));
    }
    return largest;
}

Answer softmax_axis(const Plan& plan, const Ledger&) {
    if (plan.config.softmax_axis == SoftmaxAxis::key) return std::nullopt;
    return "softmax runs over the " + std::string(word(plan.config.softmax_axis)) +
           " axis: no query shares out 1 among its keys";
}

Answer scale_dmodel(const Plan& plan, const Ledger&) {
    if (plan.config.scale.by != ScaleChoice::By::embed_dim || plan.embed_dim == plan.head_dim) {
        return std::nullopt;
    }
    const double factor =
        std::sqrt(static_cast<double>(plan.head_dim) / static_cast<double>(plan.embed_dim));
    return "scores are divided by sqrt(embed_dim " + text(plan.embed_dim) + "), but head_dim is " +
           text(plan.head_dim) + ": they come out " + brief(factor) + " times what they should be";
}

Answer scale_missing(const Plan& plan, const Ledger& ledger) {
    if (plan.scales() || plan.head_dim == 1) return std::nullopt;
    return "scores are not scaled: sqrt(head_dim) is " +
           brief(std::sqrt(static_cast<double>(plan.head_dim))) + ", the largest score " +
           brief(largest_of(ledger["scores"]));
}

Answer scale_number(const Plan& plan, const Ledger&) {
    const double usual = 1 / std::sqrt(static_cast<double>(plan.head_dim));
    if (plan.config.scale.by != ScaleChoice::By::number ||
        std::abs(plan.config.scale.number - usual) <= 1e-6 * usual) {
        return std::nullopt;
    }
    return "scores are multiplied by " + brief(plan.config.scale.number) +
           "; 1/sqrt(head_dim) is " + brief(usual);
}

Answer hidden_rows(const Plan& plan, const Ledger& ledger) {
    if (!plan.masks() || plan.config.softmax_axis != SoftmaxAxis::key) return std::nullopt;
    const Tensor& row_max = ledger["row_max"];
    std::size_t empty = 0;
    for (std::size_t i = 0; i < row_max.size(); ++i) {
        empty += row_max.at(i) == -std::numeric_limits<double>::infinity() ? 1U : 0U;
    }
    if (empty == 0) return std::nullopt;
    return text(empty) + " of " + text(row_max.size()) +
           " rows hide every key: nothing is left to share out";
}

Answer unmasked_padding(const Plan& plan, const Ledger& ledger) {
    if (plan.config.mask.padding) return std::nullopt;
    const Source& keys = plan.config.memory ? *plan.config.memory : plan.config.input;
    const auto* tokens = std::get_if<Tokens>(&keys);
    const bool knows_pad = tokens != nullptr && tokens->pad_id.has_value();
    const Tensor& weights = ledger["weights"];
    const std::size_t cells = weights.size() / plan.batch;
    std::size_t seen = 0;
    for (std::size_t b = 0; b < plan.batch; ++b) {
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            const bool is_pad = knows_pad && tokens->sequences[b][k] == *tokens->pad_id;
            const bool beyond = !plan.config.lengths.empty() &&
                                static_cast<std::int64_t>(k) >= plan.config.lengths[b];
            if (!is_pad && !beyond) continue;
            // A padded key that some query sees, whatever mask there is, counts once.
            bool visible = false;
            for (std::size_t cell = k; cell < cells; cell += plan.key_len) {
                visible = visible || softmax_input(ledger).at(b * cells + cell) > -HUGE_VAL;
            }
            seen += visible ? 1U : 0U;
        }
    }
    if (seen == 0) return std::nullopt;
    return text(seen) + " of " + text(plan.batch * plan.key_len) +
           " keys are padding and no mask hides them: they take part in averages";
}

Answer saturated(const Plan& plan, const Ledger& ledger) {
    if (plan.config.softmax_axis != SoftmaxAxis::key) return std::nullopt;
    const Tensor& weights = ledger["weights"];
    const std::size_t keys = weights.extent("key");
    double sum = 0;
    std::size_t rows = 0;
    for (std::size_t row = 0; row < weights.size() / keys; ++row) {
        double largest = 0;
        std::size_t visible = 0;
        for (std::size_t k = 0; k < keys; ++k) {
            const double weight = weights.at(row * keys + k);
            if (weight > largest) largest = weight;
            visible += softmax_input(ledger).at(row * keys + k) > -HUGE_VAL ? 1U : 0U;
        }
        if (visible < 2) continue;  // one key takes all, whatever its score
        sum += largest;
        ++rows;
    }
    if (rows == 0 || sum / static_cast<double>(rows) < 0.95) return std::nullopt;
    return "the largest weight of a row is " + four_decimals(sum / static_cast<double>(rows)) +
           " on average: softmax is saturated, each query sees one key only";
}

Answer exp_overflow(const Plan& plan, const Ledger& ledger) {
    const bool in_double = plan.compute_dtype == DType::float64;
    const double limit = in_double ? 709.78 : 88.72;
    const double largest = largest_of(softmax_input(ledger));
    if (largest <= limit) return std::nullopt;
    return "the largest score is " + brief(largest) + ": exp() without subtracting the maximum " +
           "overflows " + std::string(dtype_name(plan.compute_dtype)) + " from " + brief(limit) +
           " on";
}

Answer rank_one(const Plan&, const Ledger& ledger) {
    const Tensor& scores = ledger["scores"];
    const auto [groups, rows, columns] = groups_of(scores.shape());
    if (rows < 3 || columns < 3) return std::nullopt;
    // Find the first matrix's largest singular value by power iteration.
    double energy = 0;
    for (std::size_t i = 0; i < rows * columns; ++i) energy += scores.at(i) * scores.at(i);
    std::vector<double> right(columns, 1);
    double first = 0;
    for (int turn = 0; turn < 60; ++turn) {
        std::vector<double> left(rows, 0);
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                left[r] += scores.at(r * columns + c) * right[c];
            }
        }
        std::fill(right.begin(), right.end(), 0.0);
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                right[c] += scores.at(r * columns + c) * left[r];
            }
        }
        double norm = 0;
        for (const double value : right) norm += value * value;
        norm = std::sqrt(norm);
        if (!(norm > 0) || !std::isfinite(norm)) return std::nullopt;
        for (double& value : right) value /= norm;
        first = norm;
    }
    if (!(energy > 0) || first / energy < 0.99) return std::nullopt;
    return brief(100 * first / energy) +
           "% of the scores' energy is one pattern (rank 1): all queries prefer the same keys";
}

Answer positive_init(const Plan& plan, const Ledger& ledger) {
    for (const char* name : {"w_query", "w_qkv"}) {
        const Tensor* weight = ledger.find(name);
        if (weight == nullptr || weight->size() < 8) continue;
        for (std::size_t i = 0; i < weight->size(); ++i) {
            if (weight->at(i) < 0) return std::nullopt;
        }
        return std::string(name) + " has no negative number (init " +
               std::string(word((*plan.config.init)[0])) +
               "): scores grow with the sum of features";
    }
    return std::nullopt;
}

Answer no_position(const Plan& plan, const Ledger& ledger) {
    const Tensor* ids = ledger.find("ids");
    if (ids == nullptr) return std::nullopt;
    const std::size_t length = ids->extent("query");
    const auto* tokens = std::get_if<Tokens>(&plan.config.input);
    for (std::size_t i = 0; i < ids->size(); ++i) {
        if (tokens->pad_id && ids->at(i) == static_cast<double>(*tokens->pad_id)) continue;
        for (std::size_t j = i + 1; j < (i / length + 1) * length; ++j) {
            if (ids->at(i) != ids->at(j)) continue;
            return "positions " + text(i % length) + " and " + text(j % length) +
                   " hold the same token and nothing encodes position: their rows of x are equal";
        }
    }
    return std::nullopt;
}

Answer vocabulary_gaps(const Plan& plan, const Ledger& ledger) {
    const Tensor* ids = ledger.find("ids");
    if (ids == nullptr) return std::nullopt;
    std::set<double> used;
    for (std::size_t i = 0; i < ids->size(); ++i) used.insert(ids->at(i));
    const auto* tokens = std::get_if<Tokens>(&plan.config.input);
    if (tokens->pad_id) used.insert(static_cast<double>(*tokens->pad_id));
    const auto below = static_cast<std::size_t>(*used.rbegin()) + 1;
    const std::size_t smallest = used.count(0) != 0 ? below : below - 1;
    if (used.size() >= smallest) return std::nullopt;
    return text(used.size()) + " distinct ids reach up to " + text(below - 1) + ": " +
           text(smallest - used.size()) + " rows of the embedding are never used";
}

Answer coincident_sizes(const Plan& plan, const Ledger&) {
    struct Size {
        const char* name;
        std::size_t length;
    };
    std::vector<Size> sizes{{"query_len", plan.query_len}, {"head_dim", plan.head_dim}};
    if (plan.has_batch) sizes.push_back({"batch", plan.batch});
    if (plan.has_head) sizes.push_back({"heads", plan.heads});
    if (plan.embed_dim != plan.head_dim) sizes.push_back({"embed_dim", plan.embed_dim});
    std::string equal;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        for (std::size_t j = i + 1; j < sizes.size(); ++j) {
            if (sizes[i].length != sizes[j].length) continue;
            equal += (equal.empty() ? "" : ", ") + std::string(sizes[i].name) + " = " +
                     sizes[j].name + " = " + text(sizes[i].length);
        }
    }
    if (equal.empty()) return std::nullopt;
    return equal + ": a mistaken axis would go unnoticed";
}

Answer blind_padding(const Plan& plan, const Ledger& ledger) {
    if (!plan.config.mask.padding || plan.config.bias || !ledger.has("ids")) return std::nullopt;
    const Tensor& mask = ledger["mask"];
    if (plan.config.mask.causal) return std::nullopt;
    const Tensor& scores = *ledger.latest({"scores", "scaled_scores"});
    const Tensor& masked = ledger["masked_scores"];
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (masked.at(i) > -HUGE_VAL) continue;
        ++hidden;
        if (scores.at(i) != 0) return std::nullopt;
    }
    if (hidden == 0) return std::nullopt;
    return "all " + text(hidden) + " hidden scores (mask " + shape_text(mask.shape()) +
           ") are 0 before the mask: a mask of zeros and no mask would look the same";
}

Answer causal_lengths(const Plan& plan, const Ledger&) {
    if (!plan.config.mask.causal || plan.query_len == plan.key_len) return std::nullopt;
    return text(plan.query_len) + " queries and " + text(plan.key_len) +
           " keys under a causal mask: it is aligned at the " +
           std::string(word(plan.config.causal_align));
}

Answer no_output_projection(const Plan& plan, const Ledger&) {
    if (plan.config.output_projection || plan.heads == 1) return std::nullopt;
    return text(plan.heads) +
           " heads stand side by side and nothing mixes them: no output projection";
}

Answer fused_by_head(const Plan& plan, const Ledger&) {
    if (plan.config.projection != Projection::fused_by_head) return std::nullopt;
    return "w_qkv is ordered head by head; GPT-2 and PyTorch order it query, key, value first";
}

Answer three_heads(const Plan& plan, const Ledger&) {
    if (!plan.one_weight() || plan.heads != 3) return std::nullopt;
    return "3 heads and 3 parts of w_qkv: cutting it in the wrong order keeps every shape";
}

Answer no_power(const Plan& plan, const Ledger&) {
    if (plan.query_len > 1 && plan.key_len > 1) return std::nullopt;
    return "with " + text(plan.query_len) +
           (plan.query_len == 1 ? " query and " : " queries and ") + text(plan.key_len) +
           (plan.key_len == 1 ? " key" : " keys") +
           " there is little to see: softmax over one key is 1";
}

}  // namespace

const std::vector<LintRule>& lint_rules() {
    static const std::vector<LintRule> rules{
        {"softmax-axis", Severity::error, softmax_axis,
         "Softmax belongs on the key axis: each query shares out 1 among the keys it sees. An axis "
         "number that is right for one rank is wrong for another, so count from the end: -1."},
        {"scale-dmodel", Severity::error, scale_dmodel,
         "A score is a sum of head_dim products, so its spread grows with the root of head_dim. "
         "Dividing by the root of the whole embedding makes the weights too flat."},
        {"hidden-rows", Severity::error, hidden_rows,
         "Where every key is hidden, softmax divides 0 by 0. Leave such a query one key, or set "
         "its "
         "row to zero after softmax."},
        {"unmasked-padding", Severity::error, unmasked_padding,
         "Padding only fills up a batch. Without a mask its keys take a share of every row, and "
         "the "
         "result depends on how long the other sequences are."},
        {"scale-missing", Severity::warning, scale_missing,
         "Unscaled scores spread with the root of head_dim; the larger they are, the nearer each "
         "row "
         "comes to a single 1, where gradients vanish."},
        {"scale-number", Severity::warning, scale_number,
         "The usual factor is 1/sqrt(head_dim). Another one is a choice of sharpness: make it on "
         "purpose."},
        {"saturated-softmax", Severity::warning, saturated,
         "A row with one weight near 1 is a look-up, not an average: small changes of the scores "
         "change nothing, so nothing is learned from them."},
        {"exp-overflow", Severity::warning, exp_overflow,
         "exp() of a large score is infinite and infinity divided by itself is nan. Subtracting "
         "the "
         "row's maximum first changes no weight and keeps every exponential at 1 or below."},
        {"rank-one-scores", Severity::warning, rank_one,
         "When the scores are one pattern times a number for each query, queries do not differ in "
         "what they look for, only in how strongly."},
        {"init-positive", Severity::warning, positive_init,
         "Weights drawn from 0 to 1 have a mean; every projection then adds up all features. Draw "
         "them around zero, with a spread of about 1/sqrt(inputs)."},
        {"no-position", Severity::warning, no_position,
         "Attention sees a bag of tokens: the same token twice gives the same row twice. Add "
         "positions to the embedding, or rotate query and key."},
        {"vocabulary-gaps", Severity::warning, vocabulary_gaps,
         "Number the distinct words, not the words as they come: otherwise ids have holes and the "
         "table has rows that nothing uses."},
        {"coincident-sizes", Severity::warning, coincident_sizes,
         "Two axes of the same length can be exchanged without an error. While trying things out, "
         "give every axis a length of its own."},
        {"blind-padding", Severity::warning, blind_padding,
         "Keys that are all zero have score 0 before any mask, so this input cannot tell a mask "
         "that "
         "works from one that multiplies by zero. Use a bias, or a padding row that is not zero."},
        {"causal-lengths", Severity::info, causal_lengths,
         "With a cache of earlier keys the last query should meet the last key (align end); "
         "PyTorch's "
         "tril meets them at the start."},
        {"no-output-projection", Severity::info, no_output_projection,
         "Putting heads side by side does not let them speak to each other; the output projection "
         "does."},
        {"fused-by-head", Severity::info, fused_by_head,
         "Both orders of a fused weight are right, but not exchangeable: a checkpoint must be cut "
         "the "
         "way it was made."},
        {"three-heads", Severity::info, three_heads,
         "Three heads and the three parts query, key, value can be confused without any shape "
         "complaining. Test with another number of heads."},
        {"no-power", Severity::info, no_power,
         "An input with one token hides nearly every mistake. Use several, of different number "
         "than "
         "heads and features."},
    };
    return rules;
}

std::vector<LintFinding> lint(const Plan& plan, const Ledger& ledger) {
    std::vector<LintFinding> findings;
    for (const LintRule& rule : lint_rules()) {
        if (std::optional<std::string> line = rule.check(plan, ledger)) {
            findings.push_back({&rule, std::move(*line)});
        }
    }
    return findings;
}

}  // namespace attn
