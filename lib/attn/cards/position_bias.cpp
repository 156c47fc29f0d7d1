#include <bit>
#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/plan/mask_kinds.hpp"
#include "attn/plan/score_bias.hpp"
#include "attn/steps/position_bias.hpp"
#include "attn/text/number_text.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

bool is_file(const Plan& plan) {
    return plan.biases() && plan.config.position_bias->kind == PositionBias::Kind::file;
}

// position_bias: what each query and key add for where they stand.

Outline position_bias_outline(const Plan& plan) {
    Axes axes{"query", "key"};
    Shape shape{plan.query_len, plan.key_len};
    if (is_file(plan)) {
        shape = plan.config.position_bias->given->shape();
        const Axes all = plan.per_head_axes("query", "key");
        axes = {all.end() - static_cast<std::ptrdiff_t>(shape.size()), all.end()};
    } else if (plan.has_head) {
        axes.insert(axes.begin(), "head");
        shape.insert(shape.begin(), plan.heads);
    }
    return {axes, shape};
}

Tensor compute_position_bias(const Plan& plan, const Ledger& ledger) {
    Outline outline = position_bias_outline(plan);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        if (is_file(plan)) {
            return {outline.axes,
                    cast(*plan.config.position_bias->given, plan.compute_dtype).template as<T>()};
        }
        Array<T> bias = twin(plan, loop::position_bias<T>, vectorized::position_bias<T>)(
            distance_bias<T>(plan, ledger), causal_offset(plan), plan.query_len, plan.key_len);
        bias.reshape(outline.shape);
        return {outline.axes, std::move(bias)};
    });
}

std::string position_bias_rule(const PlannedStep& of) {
    if (is_file(of.plan)) return {};
    const std::string left = of.plan.has_head ? "position_bias[h,q,k] = " : "position_bias[q,k] = ";
    const std::string h = of.plan.has_head ? "h" : "0";
    if (is_t5(of.plan)) return left + "relative_attention_bias[buckets[q,k], " + h + "]";
    return left + "-abs(q + offset - k) * slopes[" + h + "]";
}

std::string position_bias_note(const Subject& subject) {
    if (is_alibi(subject.plan)) {
        return "The further away a key stands, the more is taken from its score. Nothing is "
               "learned, and query and key stay as they are.";
    }
    if (is_t5(subject.plan)) {
        return "A learned number for each distance and head. T5 scales no scores and adds none in "
               "cross-attention.";
    }
    return "Added to the scores as it was given.";
}

std::string position_bias_code(const StepLines& of) {
    if (is_file(of.plan)) {
        return "position_bias = " + tensor_literal(*of.plan.config.position_bias->given,
                                                   of.plan.compute_dtype, of.language);
    }
    if (is_t5(of.plan)) {
        const std::string rows = "relative_attention_bias[buckets]";
        const std::string moved =
            of.torch() ? rows + ".permute(2, 0, 1)" : rows + ".transpose(2, 0, 1)";
        return buckets_code(of) +
               "\nposition_bias = " + (of.plan.has_head ? moved : rows + "[..., 0]");
    }
    const std::string distance =
        of.module() + ".abs(" + query_positions_code(of) + " - " + key_positions_code(of) + ")";
    return "position_bias = -" + distance + " * slopes" +
           std::string(of.plan.has_head ? "[:, None, None]" : "");
}

// biased_scores: the scores with it.

Tensor compute_biased(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores, "biased_scores");
        const std::size_t queries = scores.shape()[scores.dimension() - 2];
        const std::size_t keys = scores.shape()[scores.dimension() - 1];
        const auto with_bias_of = [&](const Plan& of, const Ledger& made) -> Tensor {
            const ScoreBias<T> bias(of, made);
            return {scores.axes(), twin(plan, loop::add_bias<T>, vectorized::add_bias<T>)(
                                       scores.as<T>(), bias.view())};
        };
        if (queries == plan.query_len && keys == plan.key_len) return with_bias_of(plan, ledger);
        // A mistake has made scores of other lengths: they meet the bias of their distances.
        Plan fitting = plan;
        fitting.query_len = queries;
        fitting.key_len = keys;
        Ledger of_their_distances = ledger;
        of_their_distances.record("position_bias", compute_position_bias(fitting, ledger));
        return with_bias_of(fitting, of_their_distances);
    });
}

bool adds_bias(const Plan& plan) { return keeps_scores(plan) && plan.biases(); }

}  // namespace

StepTable bias_cards() {
    return {
        buckets_card(),
        {
            .name = "position_bias",
            .title = "what is added to each score for where query and key stand",
            .applies = adds_bias,
            .reads =
                [](const Plan& plan) {
                    if (is_alibi(plan)) return std::vector<Input>{"slopes"};
                    if (is_t5(plan)) return std::vector<Input>{"relative_attention_bias"};
                    return std::vector<Input>();
                },
            .outline = position_bias_outline,
            .varies_where_hidden = true,
            .rule = position_bias_rule,
            .compute = compute_position_bias,
            .note = position_bias_note,
            .code = position_bias_code,
        },
        {
            .name = "biased_scores",
            .title = "the scores, with the bias",
            .chain = Chain::scores,
            .applies = adds_bias,
            .reads = these({Chain::scores, "position_bias"}),
            .outline = score_outline,
            .varies_where_hidden = true,
            .rule = always("biased_scores[q,k] = scores[q,k] + position_bias[q,k]"),
            .compute = compute_biased,
            .note =
                [](const Subject&) {
                    return std::string(
                        "Softmax sees content and position in one number: exp(score + bias) = "
                        "exp(score) * exp(bias).");
                },
            .code =
                [](const StepLines& of) {
                    return "biased_scores = " + of.latest(Chain::scores) + " + position_bias";
                },
        },
    };
}

namespace {

using namespace notes;

bool has_kind(const Plan& plan, PositionBias::Kind kind) {
    return plan.biases() && plan.config.position_bias->kind == kind;
}

// slopes of ALiBi, one for each head.

Tensor compute_slopes(const Plan& plan, const Ledger&) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const std::vector<double> slopes = alibi_slopes(plan.heads);
        Array<T> result = empty_array<T>({plan.heads});
        for (std::size_t h = 0; h < plan.heads; ++h) result(h) = static_cast<T>(slopes[h]);
        return {{"head"}, std::move(result)};
    });
}

/// The heads that take every slope of a power of two; the others take every second of the next.
std::size_t regular_heads(const Plan& plan) { return std::bit_floor(plan.heads); }

std::string slopes_rule(const PlannedStep& of) {
    const std::size_t regular = regular_heads(of.plan);
    const std::string first = "2 ^ (-8 * (h + 1) / " + std::to_string(regular) + ")";
    if (regular == of.plan.heads) return "slopes[h] = " + first;
    const std::string count = std::to_string(regular);
    return "slopes[h] = if h < " + count + " then " + first + " else 2 ^ (-8 * (2 * (h - " + count +
           ") + 1) / " + std::to_string(2 * regular) + ")";
}

std::string slopes_note(const Subject& subject) {
    const Cells slopes(subject.tensor);
    const Excerpt& excerpt = subject.excerpt;
    const std::size_t last = subject.tensor.size() - 1;
    const std::size_t heads = excerpt.length("head", last + 1);
    const auto head = [&](std::size_t i) {
        return "head " + std::to_string(excerpt.index("head", i)) + " ";
    };
    std::string note =
        capitalised(head(0)) + "loses " + number(slopes[0]) + " for each token of distance";
    if (last > 0) note += ", " + head(last) + number(slopes[last]);
    note += ": a small slope looks far back.";
    if (regular_heads(subject.plan) != heads) {
        say(note,
            std::to_string(heads) + " heads are no power of two, so the slopes are not in order.");
    }
    return note;
}

std::string slopes_code(const StepLines& of) {
    const std::size_t regular = regular_heads(of.plan);
    std::string list = "[2 ** (-8 * (h + 1) / " + std::to_string(regular) + ") for h in range(" +
                       std::to_string(regular) + ")]";
    if (regular != of.plan.heads) {
        list += " + [2 ** (-8 * (2 * h + 1) / " + std::to_string(2 * regular) +
                ") for h in range(" + std::to_string(of.plan.heads - regular) + ")]";
    }
    const std::string type = dtype_code(of.plan.compute_dtype, of.language);
    return "slopes = " + of.module() + (of.torch() ? ".tensor(" : ".array(") + list +
           ", dtype=" + type + ")";
}

// buckets of T5: which row of its table each query and key read.

Tensor compute_buckets(const Plan& plan, const Ledger&) {
    const BucketRule rule = bucket_rule(plan);
    Array<std::int64_t> buckets = empty_array<std::int64_t>({plan.query_len, plan.key_len});
    for (std::size_t q = 0; q < plan.query_len; ++q) {
        const std::int64_t position = static_cast<std::int64_t>(q) + causal_offset(plan);
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            buckets(q, k) = bucket_of(static_cast<std::int64_t>(k) - position, rule);
        }
    }
    return {{"query", "key"}, std::move(buckets)};
}

std::string buckets_rule(const PlannedStep& of) {
    const BucketRule rule = bucket_rule(of.plan);
    const std::int64_t half = rule.bidirectional ? rule.buckets / 2 : rule.buckets;
    const std::string exact = std::to_string(rule.exact());
    const std::string n = rule.bidirectional ? "abs(k - q - offset)" : "max(q + offset - k, 0)";
    const std::string sorted =
        "if " + n + " < " + exact + " then " + n + " else min(" + exact + " + floor(log(" + n +
        " / " + exact + ") / log(" + std::to_string(rule.max_distance) + " / " + exact + ") * " +
        std::to_string(half - rule.exact()) + "), " + std::to_string(half - 1) + ")";
    return "buckets[q,k] = " +
           (rule.bidirectional
                ? "(if k > q + offset then " + std::to_string(half) + " else 0) + (" + sorted + ")"
                : sorted);
}

std::string buckets_note(const Subject& subject) {
    const BucketRule rule = bucket_rule(subject.plan);
    return "Distances below " + std::to_string(rule.exact()) +
           " have a bucket each, larger ones share one, and from " +
           std::to_string(rule.max_distance) + " on all are in the last." +
           (rule.bidirectional ? " Later keys have buckets of their own."
                               : " A causal mask hides later keys, so all buckets are for earlier "
                                 "ones.");
}

}  // namespace

bool is_alibi(const Plan& plan) { return has_kind(plan, PositionBias::Kind::alibi); }
bool is_t5(const Plan& plan) { return has_kind(plan, PositionBias::Kind::t5); }

std::string query_positions_code(const StepLines& of) {
    const std::ptrdiff_t first = causal_offset(of.plan);
    const std::string end = std::to_string(first + static_cast<std::ptrdiff_t>(of.plan.query_len));
    return of.module() + ".arange(" + (first == 0 ? "" : std::to_string(first) + ", ") + end +
           ")[:, None]";
}

std::string key_positions_code(const StepLines& of) {
    return of.module() + ".arange(" + std::to_string(of.plan.key_len) + ")";
}

std::string buckets_code(const StepLines& of) {
    const BucketRule rule = bucket_rule(of.plan);
    const bool torch = of.torch();
    const std::int64_t half = rule.bidirectional ? rule.buckets / 2 : rule.buckets;
    const std::string exact = std::to_string(rule.exact());
    const std::string beyond = std::to_string(half - rule.exact());
    const std::string n = rule.bidirectional ? (torch ? "distance.abs()" : "np.abs(distance)")
                          : torch            ? "(-distance).clamp(min=0)"
                                             : "np.maximum(-distance, 0)";
    const std::string at_least = torch ? "n.clamp(min=" + exact + ").float()"
                                       : "np.maximum(n, " + exact + ").astype(np.float32)";
    const std::string log = of.module() + ".log(" + at_least + " / " +
                            (torch ? exact : "np.float32(" + exact + ")") + ")";
    const std::string range = "math.log(" + std::to_string(rule.max_distance) + " / " + exact + ")";
    std::string lines = "distance = " + key_positions_code(of) + " - " + query_positions_code(of) +
                        "\nn = " + n + "\nlarge = " + exact + " + (" + log + " / " +
                        (torch ? range : "np.float32(" + range + ")") + " * " +
                        (torch ? beyond : "np.float32(" + beyond + ")") + ")" +
                        (torch ? ".long()" : ".astype(np.int64)") + "\nbuckets = " + of.module() +
                        ".where(n < " + exact + ", n, " +
                        (torch ? "large.clamp(max=" : "np.minimum(large, ") +
                        std::to_string(half - 1) + "))";
    if (rule.bidirectional) {
        lines += " + (distance > 0) * " + std::to_string(half);
    }
    return lines;
}

StepTable slope_cards() {
    return {
        {
            .name = "slopes",
            .title = "how much each head loses with distance (ALiBi)",
            .shown = false,
            .applies = is_alibi,
            .outline =
                [](const Plan& plan) {
                    return Outline{{"head"}, {plan.heads}};
                },
            .rule = slopes_rule,
            .compute = compute_slopes,
            .note = slopes_note,
            .code = slopes_code,
        },
        {
            .name = "relative_attention_bias",
            .title = "a number for each bucket of distances and each head (T5)",
            .kind = Step::Kind::parameter,
            .shown = false,
            .applies = is_t5,
            .outline = drawn_outline("relative_attention_bias"),
            .formula = learned,
            .note =
                [](const Subject&) {
                    return std::string(
                        "One row for each bucket of distances. T5 has it in the first layer, and "
                        "all layers share it.");
                },
        },
    };
}

Step buckets_card() {
    return {
        .name = "buckets",
        .title = "the row of the table that each query and key read (T5)",
        .kind = Step::Kind::detail,
        .shown = false,
        .applies = [](const Plan& plan) { return keeps_scores(plan) && is_t5(plan); },
        .outline =
            [](const Plan& plan) {
                return Outline{{"query", "key"}, {plan.query_len, plan.key_len}};
            },
        .rule = buckets_rule,
        .compute = compute_buckets,
        .note = buckets_note,
        .code = buckets_code,
    };
}

}  // namespace attn
