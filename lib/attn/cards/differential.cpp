#include <algorithm>
#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/notes/attention_rows.hpp"

namespace attn {
namespace {

using namespace notes;

bool is_differential(const Plan& plan) { return plan.differs(); }

// lambda_full: how much of the second softmax is taken away.

Step lambda_vector_card(const char* name) {
    return drawn_card(name, "one of four vectors that make lambda", is_differential,
                      says("All heads share it. Training starts it near 0, so that its exponential "
                           "is near 1."));
}

std::optional<std::string> lambda_word(std::string_view word, const StepLines& of) {
    if (word == "depth") return std::to_string(*of.plan.config.differential.depth);
    if (word == "init") return json_number(of.plan.lambda_init());
    return word == "rest" ? std::optional(json_number(1 - of.plan.lambda_init())) : std::nullopt;
}

Step lambda_card() {
    return {
        .name = "lambda_full",
        .title = "how much of each pair's second softmax is taken away",
        .called = "lam lambda lambda_ lambda_value",
        .applies = is_differential,
        .reads = these({"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}),
        .outline =
            [](const Plan&) {
                return Outline{{"feature"}, {1}};
            },
        .rule = texts({"lambda_full[i] = exp(sum f: lambda_q1[f] * lambda_k1[f]) - "
                       "exp(sum f: lambda_q2[f] * lambda_k2[f]) + {init}"},
                      lambda_word),
        .note =
            says("One number for all heads of the layer. Deeper layers start with a larger one: "
                 "0.2 in layer 0, 0.8 far down."),
        .code = field_lines(
            {"lambda_init = 0.8 - 0.6 * math.exp(-0.3 * {depth})\n"
             "lambda_full = {np}.exp((lambda_q1 * lambda_k1).sum(-1, {keepdim}=True)) - "
             "{np}.exp((lambda_q2 * lambda_k2).sum(-1, {keepdim}=True)) + lambda_init"},
            lambda_word),
    };
}

// differential_weights: the first softmax of each pair, less lambda times the second.

std::string difference_note(const Subject& subject) {
    const std::vector<std::size_t> heads = heads_in(subject, subject.plan.key_len);
    std::string pairs;
    for (std::size_t i = 0; i < std::min<std::size_t>(heads.size(), 2); ++i) {
        pairs += (i == 0 ? "Heads " : ", heads ") + std::to_string(2 * heads[i]) + " and " +
                 std::to_string(2 * heads[i] + 1) +
                 (i == 0 ? " of the weights make head " : " head ") + std::to_string(heads[i]);
    }
    std::string note = pairs +
                       ": what both attend to cancels, as in a difference of two noisy "
                       "measurements.";
    const Cells cells(subject.tensor);
    const std::size_t keys = subject.tensor.shape().back();
    if (keys == 0 || subject.tensor.size() > most_cells) return note;
    std::size_t negative = 0;
    double sum = 0;
    for (std::size_t i = 0; i < subject.tensor.size(); ++i) {
        if (cells[i] < 0) ++negative;
        if (i < keys) sum += cells[i];
    }
    const double lambda = subject.ledger["lambda_full"].at(0);
    if (!subject.excerpt.has_all("key")) {
        // The sums of whole rows cannot be seen.
    } else if (std::abs(sum - (1 - lambda)) < 1e-3) {
        say(note, "Each row sums to 1 - lambda = " + number(1 - lambda) + ", not to 1.");
    } else if (std::isfinite(sum)) {
        say(note, "The first row sums to " + number(sum) + ".");
    }
    if (negative > 0) {
        say(note, std::to_string(negative) + " of " + std::to_string(subject.tensor.size()) +
                      " cells" + shown_here(subject) +
                      " are negative: there the second head attends more.");
    }
    return note;
}

Step difference_card() {
    return {
        .name = "differential_weights",
        .title = "the weights of each pair of heads, the second taken from the first",
        .called = "diff_weights diff_attn attn_diff diff_attn_weights",
        .chain = Chain::weights,
        .applies = is_differential,
        .reads = these({"weights", "lambda_full"}),
        .outline =
            [](const Plan& plan) {
                return Outline{
                    plan.per_head_axes("query", "key"),
                    plan.per_head_shape(plan.query_len, plan.key_len, plan.context_heads())};
            },
        .rule = always("differential_weights[h,q,k] = weights[2 * h, q, k] - "
                       "lambda_full[0] * weights[2 * h + 1, q, k]"),
        .note = difference_note,
    };
}

// normed_context and scaled_context: what keeps all heads of one size.

Outline head_context_outline(const Plan& plan) {
    return {plan.per_head_axes("query", "feature"),
            plan.per_head_shape(plan.query_len, plan.value_dim, plan.context_heads())};
}

constexpr double context_eps = 1e-5;

RmsStep context_norm() {
    return {
        .name = "normed_context",
        .title = "the context, every row of each head brought to one length",
        .before = Chain::contexts,
        .gain = "g_context",
        .eps = context_eps,
        .why_here =
            "Weights that sum to 1 - lambda make heads of different sizes: each row of each head "
            "is divided by its root mean square.",
        .applies = is_differential,
        .outline = head_context_outline,
        .chain = Chain::contexts,
    };
}

std::string rest_text(const Plan& plan) { return brief(1 - plan.lambda_init()); }

Step scaled_context_card() {
    return {
        .name = "scaled_context",
        .title = "the normed context, at the size that it has without a difference",
        .chain = Chain::contexts,
        .applies = is_differential,
        .reads = these({Chain::contexts}),
        .outline = head_context_outline,
        .rule = texts({"scaled_context[q,f] = contexts[q,f] * {rest}"}, lambda_word),
        .note = [](const Subject& subject) -> std::string {
            return "A fixed number, " + rest_text(subject.plan) +
                   " in this layer, so that gradients are as large as with one softmax.";
        },
        .code = field_lines({"scaled_context = {contexts} * (1 - lambda_init)"}),
    };
}

}  // namespace

StepTable difference_cards() {
    StepTable cards;
    for (const char* name : {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}) {
        cards.push_back(lambda_vector_card(name));
    }
    cards.push_back(lambda_card());
    cards.push_back(difference_card());
    return cards;
}

StepTable difference_context_cards() {
    return {rms_gain_card(context_norm()), rms_card(context_norm()), scaled_context_card()};
}

}  // namespace attn
