#include "attn/steps/position_bias.hpp"

#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/cards/products.hpp"
#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/explain/why.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/text/numbers.hpp"
#include "attn/walk/mask_kinds.hpp"
#include "attn/walk/score_bias.hpp"

namespace attn {
namespace {

using namespace notes;
using BiasKind = PositionBias::Kind;

bool has_kind(const Plan& plan, BiasKind kind) {
    return plan.biases() && plan.config.position_bias->kind == kind;
}
bool is_alibi(const Plan& plan) { return has_kind(plan, BiasKind::alibi); }
bool is_t5(const Plan& plan) { return has_kind(plan, BiasKind::t5); }

/// `q`, or where the queries begin later: the position of a query in formulas and in code.
std::string query_position(const Plan& plan) {
    return causal_offset(plan) == 0 ? "q" : "(q + key_len - query_len)";
}

/// `torch.arange(3, 7)[:, None]`
std::string query_positions_code(const StepLines& of) {
    const std::ptrdiff_t first = causal_offset(of.plan);
    const std::string end = std::to_string(first + static_cast<std::ptrdiff_t>(of.plan.query_len));
    return of.module() + ".arange(" + (first == 0 ? "" : std::to_string(first) + ", ") + end +
           ")[:, None]";
}
std::string key_positions_code(const StepLines& of) {
    return of.module() + ".arange(" + std::to_string(of.plan.key_len) + ")";
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
std::size_t regular_heads(const Plan& plan) {
    std::size_t count = 1;
    while (2 * count <= plan.heads) count *= 2;
    return count;
}

std::string slopes_formula(const PlannedStep& of) {
    const std::size_t regular = regular_heads(of.plan);
    const std::string rule = "slopes(h) = 2^(-8 (h+1) / " + std::to_string(regular) + ")";
    if (regular == of.plan.heads) return rule;
    return rule + " for the first " + std::to_string(regular) +
           " heads, then every second of 2^(-8 (h+1) / " + std::to_string(2 * regular) + ")";
}

std::string slopes_note(const Subject& subject) {
    const Cells slopes(subject.tensor);
    const std::size_t heads = subject.tensor.size();
    std::string note = "Head 0 loses " + number(slopes[0]) + " for each token of distance";
    if (heads > 1) note += ", head " + std::to_string(heads - 1) + " " + number(slopes[heads - 1]);
    note += ": a small slope looks far back.";
    if (regular_heads(subject.plan) != heads) {
        say(note,
            std::to_string(heads) + " heads are no power of two, so the slopes are not in order.");
    }
    return note;
}

void why_slopes(const WalkView& view, Derivation& derivation) {
    const std::size_t regular = regular_heads(view.plan);
    const std::size_t h = view.place.at("head");
    const bool first = h < regular;
    derivation.rule = "2^(-8 * " + std::to_string(first ? h + 1 : 2 * (h - regular) + 1) + " / " +
                      std::to_string(first ? regular : 2 * regular) + ")";
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

std::string buckets_formula(const PlannedStep& of) {
    const BucketRule rule = bucket_rule(of.plan);
    const std::string exact = std::to_string(rule.exact());
    const std::string q = query_position(of.plan);
    return "buckets(q, k) = n for n < " + exact + ", else " + exact + " + log(n / " + exact +
           ") / log(" + std::to_string(rule.max_distance) + " / " + exact + ") * " + exact +
           (rule.bidirectional
                ? ", n = |k - " + q + "|; + " + std::to_string(rule.buckets / 2) + " where k > " + q
                : ", n = max(" + q + " - k, 0)");
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

void why_buckets(const WalkView& view, Derivation& derivation) {
    const auto q = static_cast<std::int64_t>(view.place.at("query")) + causal_offset(view.plan);
    const auto distance = static_cast<std::int64_t>(view.place.at("key")) - q;
    derivation.rule = "the bucket of distance " + std::to_string(distance);
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

// position_bias: what each query and key add for where they stand.

Outline position_bias_outline(const Plan& plan) {
    Axes axes{"query", "key"};
    Shape shape{plan.query_len, plan.key_len};
    if (has_kind(plan, BiasKind::file)) {
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
        if (has_kind(plan, BiasKind::file)) {
            return {outline.axes,
                    cast(*plan.config.position_bias->given, plan.compute_dtype).template as<T>()};
        }
        Array<T> bias = twin(plan, loop::position_bias<T>, vectorized::position_bias<T>)(
            distance_bias<T>(plan, ledger), causal_offset(plan), plan.query_len, plan.key_len);
        bias.reshape(outline.shape);
        return {outline.axes, std::move(bias)};
    });
}

std::string position_bias_formula(const PlannedStep& of) {
    if (has_kind(of.plan, BiasKind::file)) return "position_bias is the given tensor";
    const std::string head = of.plan.has_head ? "h, " : "";
    const std::string of_head = of.plan.has_head ? "h" : "0";
    const std::string name = "position_bias(" + head + "q, k) = ";
    if (is_t5(of.plan)) return name + "relative_attention_bias(buckets(q, k), " + of_head + ")";
    return name + "-|" + query_position(of.plan) + " - k| * slopes(" + of_head + ")";
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

void why_position_bias(const WalkView& view, Derivation& derivation) {
    const Plan& plan = view.plan;
    if (has_kind(plan, BiasKind::file)) {
        derivation.rule = "given";
        return;
    }
    const auto found = view.place.find("head");
    const Place head = with(view.place, "head", found == view.place.end() ? 0 : found->second);
    const auto q = static_cast<std::int64_t>(view.place.at("query")) + causal_offset(plan);
    const auto distance = static_cast<std::int64_t>(view.place.at("key")) - q;
    if (is_t5(plan)) {
        const std::int64_t bucket = bucket_of(distance, bucket_rule(plan));
        const Cell cell = view.at("relative_attention_bias",
                                  with(head, "bucket", static_cast<std::size_t>(bucket)));
        derivation.copy(cell, "the table's number for distance " + std::to_string(distance) +
                                  ", bucket " + std::to_string(bucket));
        return;
    }
    const Cell slope = view.at("slopes", head);
    const std::string lost = "-" + std::to_string(std::abs(distance)) + " * ";
    derivation.rule = lost + "slopes";
    derivation.arithmetic = lost + four_decimals(slope.value);
    derivation.sources = {slope};
}

std::string position_bias_code(const StepLines& of) {
    if (has_kind(of.plan, BiasKind::file)) {
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
            Array<T> result = empty_array<T>(scores.shape());
            twin(plan, loop::add_bias<T>, vectorized::add_bias<T>)(
                matrices_of(scores.as<T>()), bias.view(), matrices_of(result));
            return {scores.axes(), std::move(result)};
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

void why_biased(const WalkView& view, Derivation& derivation) {
    const Cell score = view.latest(Chain::scores);
    const Cell bias = view.at("position_bias");
    derivation.rule = score.step + " + position_bias";
    derivation.arithmetic = four_decimals(score.value) + " + " + four_decimals(bias.value);
    derivation.sources = {score, bias};
}

bool adds_bias(const Plan& plan) { return keeps_scores(plan) && plan.biases(); }

}  // namespace

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
            .formula = slopes_formula,
            .compute = compute_slopes,
            .note = slopes_note,
            .why = why_slopes,
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

StepTable bias_cards() {
    return {
        {
            .name = "buckets",
            .title = "the row of the table that each query and key read (T5)",
            .kind = Step::Kind::detail,
            .shown = false,
            .applies = [](const Plan& plan) { return adds_bias(plan) && is_t5(plan); },
            .outline =
                [](const Plan& plan) {
                    return Outline{{"query", "key"}, {plan.query_len, plan.key_len}};
                },
            .follows_plan = true,
            .formula = buckets_formula,
            .compute = compute_buckets,
            .note = buckets_note,
            .why = why_buckets,
            .code = buckets_code,
        },
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
            .follows_plan = true,
            .formula = position_bias_formula,
            .compute = compute_position_bias,
            .note = position_bias_note,
            .why = why_position_bias,
            .code = position_bias_code,
        },
        {
            .name = "biased_scores",
            .title = "the scores, with the bias",
            .chain = Chain::scores,
            .applies = adds_bias,
            .reads = these({Chain::scores, "position_bias"}),
            .outline = score_outline,
            .formula =
                [](const PlannedStep& of) {
                    return "biased_scores = " + of.latest(Chain::scores) + " + position_bias";
                },
            .compute = compute_biased,
            .rows =
                [](const Plan&) {
                    return RowStep([](const auto& b) {
                        is_loop(b.plan) ? loop::add_bias(b.cells, b.bias, b.result)
                                        : vectorized::add_bias(b.cells, b.bias, b.result);
                    });
                },
            .note =
                [](const Subject&) {
                    return std::string(
                        "Softmax sees content and position in one number: exp(score + bias) = "
                        "exp(score) * exp(bias).");
                },
            .why = why_biased,
            .code =
                [](const StepLines& of) {
                    return "biased_scores = " + of.latest(Chain::scores) + " + position_bias";
                },
        },
    };
}

}  // namespace attn
