#include "attn/steps/latent.hpp"

#include <algorithm>

#include "attn/cards/cards.hpp"
#include "attn/steps/heads.hpp"

namespace attn {
namespace {

using namespace notes;

// key and value: made of the latents, or these themselves.

Tensor compute_latent_part(const Plan& plan, const Ledger& ledger, const Projected& part) {
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const bool is_key = part.letter() == 'k';
        const auto split = twin(plan, loop::split_heads<T>, vectorized::split_heads<T>);
        const Axes axes = plan.per_head_axes(part.axis(plan), "feature");
        Array<T> rows;
        if (is_absorbed(plan)) {
            rows = split(ledger["normed_latent"].as<T>(), 1);
        } else {
            std::vector<std::size_t> features;
            for (std::size_t h = 0; h < plan.heads; ++h) {
                for (std::size_t f = 0; f < width_in_head(plan, is_key); ++f) {
                    features.push_back(h * pair_width(plan) + first_in_head(plan, is_key) + f);
                }
            }
            rows =
                split(take_features(ledger["projected_key_value"].as<T>(), features), plan.heads);
        }
        if (!is_key) return {axes, std::move(rows)};
        const auto append = twin(plan, loop::append_shared<T>, vectorized::append_shared<T>);
        return {axes, append(rows, ledger["rotary_key"].as<T>())};
    });
}

std::string latent_part_rule(const Plan& plan, const Projected& part) {
    const bool is_key = part.letter() == 'k';
    const std::string rows =
        is_absorbed(plan) ? "normed_latent[t,f]"
                          : "projected_key_value[t, h * " + std::to_string(pair_width(plan)) +
                                " + " + std::to_string(first_in_head(plan, is_key)) + " + f]";
    const std::string own =
        std::to_string(is_absorbed(plan) ? plan.latent_rank() : still_dim(plan));
    return part.name + "[h,t,f] = " +
           (is_key ? "if f < " + own + " then " + rows + " else rotary_key[t, f - " + own + "]"
                   : rows);
}

std::string latent_part_note(const Plan& plan, const Projected& part) {
    const bool is_key = part.letter() == 'k';
    if (is_absorbed(plan)) {
        return is_key
                   ? "One key for all heads: the latent itself, and the part that rotates behind "
                     "it. Keys of " +
                         counted(plan.heads, "head") +
                         " are never made, for the queries have taken their matrix up."
                   : "The latent itself, in the place of the values of all heads: what makes "
                     "values of it comes behind the weighted sum.";
    }
    if (!is_key) {
        return "Cut into " + counted(plan.heads, "head") + " of " +
               counted(plan.value_dim, "feature") + ", each from behind the key of its head.";
    }
    return counted(still_dim(plan), "feature") + " of each head's own, then " +
           std::to_string(2 * plan.rotary_pairs()) +
           " that are the same in all heads: the part that will rotate.";
}

// absorbed_query and expanded_context: the matrices that the latents have not met.

/// The part of w_key_value that makes keys (or values), a matrix for each head.
template <class T>
Array<T> matrices_of_heads(const Plan& plan, const Ledger& ledger, bool is_key) {
    return head_matrices(ledger["w_key_value"].as<T>(), *plan.config.weight_layout, plan.heads,
                         first_in_head(plan, is_key), width_in_head(plan, is_key));
}

Step absorbed_query_card() {
    return {
        .name = "absorbed_query",
        .title = "the query, multiplied by the matrix that would have made the keys",
        .chain = Chain::queries,
        .applies = is_absorbed,
        .reads = these({Chain::queries, "w_key_value"}),
        .outline =
            [](const Plan& plan) {
                return Outline{plan.per_head_axes("query", "feature"),
                               plan.per_head_shape(plan.query_len, plan.key_dim())};
            },
        .mixes_features = true,
        .rule =
            [](const PlannedStep& of) {
                const bool out_in = *of.plan.config.weight_layout == WeightLayout::out_in;
                const std::string still = std::to_string(still_dim(of.plan));
                const std::string rank = std::to_string(of.plan.latent_rank());
                const std::string out = "h * " + std::to_string(pair_width(of.plan)) + " + g";
                return "absorbed_query[h,t,f] = if f < " + rank + " then (sum g in 0.." + still +
                       ": queries[h,t,g] * w_key_value[" + (out_in ? out + ", f" : "f, " + out) +
                       "]) else queries[h,t,f - " + rank + " + " + still + "]";
            },
        .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
            const Tensor& query = ledger.latest(Chain::queries, "absorbed_query");
            const auto multiply =
                twin(plan, loop::multiply_heads<T>, vectorized::multiply_heads<T>);
            const Array<T> absorbed =
                multiply(query.as<T>(), matrices_of_heads<T>(plan, ledger, true), plan.arithmetic);
            const std::size_t rank = plan.latent_rank();
            Shape shape = absorbed.shape();
            shape.back() = plan.key_dim();
            Array<T> result = empty_array<T>(shape);

            // The features that rotate stay behind.
            const std::size_t rotated = plan.key_dim() - rank;
            const T* behind = query.as<T>().data() + still_dim(plan);
            for (std::size_t row = 0; row < result.size() / plan.key_dim(); ++row) {
                T* to = result.data() + row * plan.key_dim();
                std::copy_n(absorbed.data() + row * rank, rank, to);
                std::copy_n(behind + row * plan.head_dim, rotated, to + rank);
            }
            return {query.axes(), std::move(result)};
        }),
        .note = [](const Subject& subject) -> std::string {
            return "q . (W c) is (q W) . c: the query takes the key matrix of its head up, so "
                   "that it meets the latents, " +
                   std::to_string(subject.plan.latent_rank()) +
                   " features wide, without a key for each head. The scale stays that of " +
                   std::to_string(subject.plan.head_dim) + " features.";
        },
    };
}

Step expanded_context_card() {
    return {
        .name = "expanded_context",
        .title = "the weighted sum of the latents, made into values of each head",
        .chain = Chain::contexts,
        .applies = is_absorbed,
        .reads = these({Chain::contexts, "w_key_value"}),
        .outline =
            [](const Plan& plan) {
                return Outline{plan.per_head_axes("query", "feature"),
                               plan.per_head_shape(plan.query_len, plan.value_dim)};
            },
        .rule =
            [](const PlannedStep& of) {
                const bool out_in = *of.plan.config.weight_layout == WeightLayout::out_in;
                const std::string out = "h * " + std::to_string(pair_width(of.plan)) + " + " +
                                        std::to_string(still_dim(of.plan)) + " + f";
                return "expanded_context[h,t,f] = sum c: " + of.latest(Chain::contexts) +
                       "[h,t,c] * w_key_value[" + (out_in ? out + ", c]" : "c, " + out + "]");
            },
        .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
            const Tensor& context = ledger.latest(Chain::contexts, "expanded_context");
            const Array<T> stored = matrices_of_heads<T>(plan, ledger, false);
            Array<T> matrices = empty_array<T>({plan.heads, stored.shape(2), stored.shape(1)});
            for (std::size_t h = 0; h < plan.heads; ++h) {
                for (std::size_t f = 0; f < stored.shape(1); ++f) {
                    for (std::size_t r = 0; r < stored.shape(2); ++r) {
                        matrices(h, r, f) = stored(h, f, r);
                    }
                }
            }
            const auto multiply =
                twin(plan, loop::multiply_heads<T>, vectorized::multiply_heads<T>);
            return {context.axes(), multiply(context.as<T>(), matrices, plan.arithmetic)};
        }),
        .note =
            says("A weighted sum of W c is W times the weighted sum of c: the same context as "
                 "from values of every head, to rounding, with one product a query in the place "
                 "of one a key."),
    };
}

Step latent_part_card(const Projected& part, const Step& projected) {
    Step card = projected;
    card.reads = [part](const Plan& plan) {
        std::vector<Input> inputs{is_absorbed(plan) ? "normed_latent" : "projected_key_value"};
        if (part.letter() == 'k') inputs.push_back("rotary_key");
        return inputs;
    };
    card.rule = [part](const PlannedStep& of) { return latent_part_rule(of.plan, part); };
    card.compute = [part](const Plan& plan, const Ledger& ledger) {
        return compute_latent_part(plan, ledger, part);
    };
    card.note = [part](const Subject& subject) { return latent_part_note(subject.plan, part); };
    return card;
}

}  // namespace

void take_from_latents(StepTable& table) {
    const auto card_of = [&](const std::string& name) -> Step& {
        return *std::ranges::find(table, name, &Step::name);
    };
    for (const char letter : {'k', 'v'}) {
        const Projected& part = projected_of(letter);
        Step& card = card_of(part.name);
        card = either(has_latents, latent_part_card(part, card), card);
        Step& projected = card_of("projected_" + part.name);
        projected.applies = [applies = projected.applies](const Plan& plan) {
            return applies(plan) && !has_latents(plan);
        };
    }
}

StepTable absorbed_cards() { return {absorbed_query_card()}; }

StepTable expanded_cards() { return {expanded_context_card()}; }

}  // namespace attn
