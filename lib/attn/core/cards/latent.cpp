#include "attn/core/cards/cards.hpp"
#include "attn/core/steps/projection.hpp"

namespace attn {
namespace {

// Multi-head latent attention: one short row for each token, of which keys and values are made.

bool has_query_latent(const Plan& plan) { return plan.config.latent.query_rank.has_value(); }
bool expands(const Plan& plan) { return has_latents(plan) && !is_absorbed(plan); }

const Projected& key_part() { return projected_of('k'); }

Outline latent_outline(const Plan& plan, std::size_t features) {
    const std::string axis = key_part().axis(plan);
    return {plan.per_batch_axes(axis, "feature"),
            plan.per_batch_shape(key_part().length(plan), features)};
}

// The parameters.

// Products with them: the latent of the queries, that of keys and values, and these.

ProductStep query_latent() {
    return {
        "query_latent",
        "the latent of each query, before its norm",
        "query_latent",
        [](const Plan& plan) { return plan.projected_x(); },
        [](const Plan& plan) {
            return token_outline(plan, static_cast<std::size_t>(*plan.config.latent.query_rank));
        },
        has_query_latent,
    };
}

ProductStep projected_latent() {
    return {
        "projected_latent",
        "the latent of each token, and the part of its key that rotates",
        "latent",
        [](const Plan& plan) { return key_part().source(plan); },
        [](const Plan& plan) {
            return latent_outline(plan, plan.latent_rank() + 2 * plan.rotary_pairs());
        },
        has_latents,
    };
}

ProductStep projected_key_value() {
    return {
        "projected_key_value",
        "key and value of all heads, made of the latent",
        "key_value",
        [](const Plan&) { return "normed_latent"; },
        [](const Plan& plan) { return latent_outline(plan, plan.heads * pair_width(plan)); },
        expands,
    };
}

// latent and rotary_key: the two parts of projected_latent.

std::size_t first_of_part(const Plan& plan, bool rotates) {
    return rotates ? plan.latent_rank() : 0;
}
std::size_t width_of_part(const Plan& plan, bool rotates) {
    return rotates ? 2 * plan.rotary_pairs() : plan.latent_rank();
}

Step cut_card(const std::string& name, const std::string& title, bool rotates) {
    return {
        .name = name,
        .title = title,
        .applies = has_latents,
        .reads = these({"projected_latent"}),
        .outline =
            [rotates](const Plan& plan) {
                return latent_outline(plan, width_of_part(plan, rotates));
            },
        .rule =
            [name, rotates](const PlannedStep& of) {
                return name + "[t,f] = projected_latent[t, " +
                       std::to_string(first_of_part(of.plan, rotates)) + " + f]";
            },
    };
}

RmsStep latent_norm() {
    return {
        .name = "normed_latent",
        .title = "the latent, every row brought to one length",
        .before = "latent",
        .gain = "g_latent",
        .eps = latent_norm_eps,
        .applies = has_latents,
        .outline = [](const Plan& plan) { return latent_outline(plan, plan.latent_rank()); },
    };
}

RmsStep query_latent_norm() {
    return {
        .name = "normed_query_latent",
        .title = "the latent of each query, every row brought to one length",
        .before = "query_latent",
        .gain = "g_query_latent",
        .eps = latent_norm_eps,
        .applies = has_query_latent,
        .outline = query_latent().outline,
    };
}

}  // namespace

StepTable latent_cards() {
    return {
        drawn_card("w_query_latent", "the weight matrix that makes the latents of queries",
                   has_query_latent),
        drawn_card("w_latent", "the weight matrix that makes the latents", has_latents),
        drawn_card("w_key_value", "the weight matrix that makes keys and values of latents",
                   has_latents),
        called(product_card(query_latent()), "q_latent c_q q_c q_compressed compressed_q"),
        rms_gain_card(query_latent_norm()),
        rms_card(query_latent_norm()),
        called(product_card(projected_latent()), "kv_a compressed_kv_pe kv_a_out"),
        called(cut_card("latent", "the short row that keys and values are made of", false),
               "compressed_kv c_kv kv_c ckv kv_latent latents"),
        rms_gain_card(latent_norm()),
        called(rms_card(latent_norm()), "kv_norm kv_a_norm normed_kv c_kv_normed"),
        called(
            cut_card("rotary_key", "the part of the key that will rotate, one for all heads", true),
            "k_pe k_rope key_rope k_rot"),
        called(product_card(projected_key_value()), "kv kv_b kv_up kv_b_out"),
    };
}

}  // namespace attn
