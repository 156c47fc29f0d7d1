#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/plan/mask_kinds.hpp"

namespace attn {
namespace {

/// Whether a causal mask hides (query, key).
using Causal = std::function<bool(std::size_t q, std::size_t k, const Plan&)>;
/// Whether a full mask hides a cell, from the right full mask.
using Hides = std::function<bool(std::size_t b, std::size_t h, std::size_t q, std::size_t k,
                                 const Grid& right, const Plan&)>;

/// The whole mask by another rule.
TableEdit hidden_by(Hides hides) {
    return replace_step(
        {"mask"}, [hides](const Plan& plan, const Ledger& ledger, const Compute& before) {
            const Grid right = hidden_cells(plan, before(plan, ledger));
            Grid wrong = right;
            wrong.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
                return hides(b, h, q, k, right, plan) ? 1.0 : 0.0;
            });
            return mask_of(wrong, plan);
        });
}

/// The right mask without one of its parts.
Grid hidden_without(bool MaskChoice::*part, const Plan& plan) {
    Plan rest = plan;
    rest.config.mask.*part = false;
    return rest.masks() ? hidden_cells(rest) : score_grid(plan);
}

/// The causal part by another rule; what padding and files hide stays hidden.
TableEdit causal_by(Causal causal) {
    return replace_step({"mask"}, [causal](const Plan& plan, const Ledger&, const Compute&) {
        const Grid rest = hidden_without(&MaskChoice::causal, plan);
        Grid hidden = rest;
        hidden.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
            return rest.at(b, h, q, k) != 0 || causal(q, k, plan) ? 1.0 : 0.0;
        });
        return mask_of(hidden, plan);
    });
}

std::ptrdiff_t ahead(std::size_t q, std::size_t k, const Plan& plan) {
    return static_cast<std::ptrdiff_t>(k) - static_cast<std::ptrdiff_t>(q) - causal_offset(plan);
}

std::string needs_causal(const Plan& plan) {
    if (plan.config.mask.prefix) return "a prefix is open in both directions";
    return plan.config.mask.causal ? "" : "there is no causal mask";
}

NotApplicable causal_with_two_keys() {
    return first_of({needs_causal, unless([](const Plan& plan) { return plan.key_len > 1; },
                                          "there is only one key")});
}

bool is_padding(const Plan& plan, std::size_t b, std::size_t token) {
    const std::size_t row = plan.key_padding.dimension() == 2 ? b * plan.key_len : 0;
    return plan.key_padding.data()[row + token];
}

/// The causal part as another triangle of ones: from so many diagonals beyond the right one on.
Lines causal_lines(const char* triangle, std::ptrdiff_t beyond) {
    return [triangle, beyond](const StepLines& of, const std::string& right) {
        const std::string diagonal = std::to_string(causal_offset(of.plan) + 1 + beyond);
        const std::string ones = of.torch() ? "torch.ones({Tq}, {Tk}, dtype=torch.bool)"
                                            : "np.ones(({Tq}, {Tk}), dtype=bool)";
        const std::string part =
            of.torch() ? ones + "." + triangle + "(" + diagonal + ")"
                       : std::string("np.") + triangle + "(" + ones + ", " + diagonal + ")";
        return over_the_grid()(of,
                               replaced("causal = .*", say("causal = " + part)(of, ""))(of, right));
    };
}

Lines aligned_at_start() {
    return [](const StepLines& of, const std::string& right) {
        return causal_lines("triu", -causal_offset(of.plan))(of, right);
    };
}

/// The padding part along the queries: alone, or along the keys too.
Lines padding_lines(bool keys_too) {
    return [keys_too](const StepLines& of, const std::string& right) {
        const std::string transposed = of.swapped("padding", "-2, -1");
        return over_the_grid()(
            of, replaced("(padding = .*)", "$1\npadding = " + (keys_too ? "padding | " + transposed
                                                                        : transposed))(of, right));
    };
}

Mistake causal_mistake(std::string id, std::string title, std::string effect, std::string lesson,
                       NotApplicable not_applicable, Causal causal, Lines lines, const char* rule) {
    return {std::move(id),
            "mask",
            std::move(title),
            std::move(effect),
            "hidden = torch.ones(T, T).triu(diagonal=1).bool()",
            "hidden = np.triu(np.ones((T, T), bool), k=1)",
            std::move(lesson),
            "",
            std::move(not_applicable),
            causal_by(std::move(causal)),
            {{"mask", std::move(lines), formula_with("k > q( \\+ key_len - query_len)?", rule)}}};
}

Mistake padding_mistake(std::string id, std::string title, std::string effect, bool keys_too) {
    return {std::move(id),
            "mask",
            std::move(title),
            std::move(effect),
            "hidden = is_padding[:, None, None, :]",
            "hidden = is_padding[:, None, None, :]",
            "What must not be read are padded keys, the columns; a padded query may ask.",
            "nan in padded rows",
            first_of({needs_padding, needs_square}),
            replace_step(
                {"mask"},
                [keys_too](const Plan& plan, const Ledger&, const Compute&) {
                    Grid hidden =
                        keys_too ? hidden_cells(plan) : hidden_without(&MaskChoice::padding, plan);
                    const Grid rest = hidden;
                    hidden.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
                        return rest.at(b, h, q, k) != 0 || is_padding(plan, b, q) ? 1.0 : 0.0;
                    });
                    return mask_of(hidden, plan);
                }),
            {{"mask", padding_lines(keys_too),
              formula_with("key k is padding",
                           keys_too ? "query q or key k is padding" : "query q is padding")}}};
}

NotApplicable several_samples_and_heads() {
    return first_of({unless([](const Plan& plan) { return plan.config.mask.padding; },
                            "the mask is the same for every sample"),
                     unless([](const Plan& plan) { return plan.batch > 1 && plan.heads > 1; },
                            "there are not several samples and several heads")});
}

}  // namespace

void add_mask_shape_mistakes(std::vector<Mistake>& list) {
    add(list,
        {
            {"mask-inverted",
             "mask",
             "The mask was read with the opposite meaning",
             "what should be seen is hidden and the other way round",
             "scores.masked_fill(~keep, float('-inf'))",
             "np.where(keep, scores, -np.inf)",
             "Ask of each mask what True means: masked_fill hides it, scaled_dot_product_attention "
             "keeps it.",
             "",
             needs_mask,
             hidden_by([](std::size_t b, std::size_t h, std::size_t q, std::size_t k,
                          const Grid& right, const Plan&) { return right.at(b, h, q, k) == 0; }),
             {{"mask",
               say("{right}\nmask = (~mask).expand({grid})",
                   "{right}\nmask = np.broadcast_to(~mask, ({grid}))"),
               formula("{right}, then the other way round")}}},
            causal_mistake(
                "causal-diag-minus1", "The causal mask also hides each token itself",
                "the first token sees nothing, and no token sees itself",
                "A token may look at itself: the diagonal stays visible.", needs_causal,
                [](std::size_t q, std::size_t k, const Plan& plan) {
                    return ahead(q, k, plan) >= 0;
                },
                causal_lines("triu", -1), "k >= q$1"),
            causal_mistake(
                "causal-diag-plus1", "The causal mask lets one later token through",
                "each token sees its successor, the very one it should predict",
                "One step too far along the diagonal and the answer is in sight.",
                causal_with_two_keys(),
                [](std::size_t q, std::size_t k, const Plan& plan) {
                    return ahead(q, k, plan) > 1;
                },
                causal_lines("triu", 1), "k > q + 1$1"),
            causal_mistake(
                "causal-triu", "The causal mask keeps the upper triangle",
                "each token sees itself and what comes after it",
                "Rows are queries: the past of row q lies to the left of the diagonal.",
                causal_with_two_keys(),
                [](std::size_t q, std::size_t k, const Plan& plan) {
                    return ahead(q, k, plan) < 0;
                },
                causal_lines("tril", -2), "k < q$1"),
            with_fix(causal_mistake(
                         "causal-top-left", "The causal mask was aligned at the first key",
                         "with earlier keys in a cache, late queries see only the first few",
                         "With a cache the last query belongs to the last key.",
                         first_of({needs_causal,
                                   unless([](const Plan& plan) { return causal_offset(plan) != 0; },
                                          "queries and keys start together")}),
                         [](std::size_t q, std::size_t k, const Plan&) { return k > q; },
                         aligned_at_start(), "k > q"),
                     "hidden = torch.ones(Tq, Tk).triu(diagonal=Tk - Tq + 1).bool()",
                     "hidden = np.triu(np.ones((Tq, Tk), dtype=bool), k=Tk - Tq + 1)"),
            padding_mistake("pad-on-query-axis", "The padding mask was laid along the queries",
                            "padded keys keep their weight and padded rows turn to nan", false),
            padding_mistake("pad-on-query-axis=both",
                            "The padding mask was laid along queries and keys",
                            "padded rows turn to nan", true),
            {"mask-broadcast",
             "mask",
             "A (B, T, T) mask was broadcast over (B, H, T, T) scores",
             "head h of every sample uses the mask of sample h",
             "hidden = hidden[:, None]  # (B, 1, T, T)",
             "hidden = hidden[:, None]",
             "Shapes are matched from the right: give the head its own 1.",
             "",
             first_of({several_samples_and_heads(),
                       unless([](const Plan& plan) { return plan.batch == plan.heads; },
                              "batch and heads differ, so the program would stop")}),
             hidden_by([](std::size_t, std::size_t h, std::size_t q, std::size_t k,
                          const Grid& right, const Plan&) { return right.at(h, 0, q, k) != 0; }),
             {{"mask",
               say("{right}\nmask = mask[:, 0].expand({grid})",
                   "{right}\nmask = np.broadcast_to(mask[:, 0], ({grid}))"),
               formula("{right}, head h with the mask of sample h")}}},
            {"mask-tile-order",
             "mask",
             "Masks were repeated in the wrong order for a (B*H) axis",
             "heads use the masks of other samples",
             "hidden = hidden.repeat_interleave(H, dim=0)",
             "hidden = np.repeat(hidden, H, axis=0)",
             "Repeat each mask for its heads before the next sample's begins.",
             "",
             several_samples_and_heads(),
             hidden_by([](std::size_t b, std::size_t h, std::size_t q, std::size_t k,
                          const Grid& right, const Plan& plan) {
                 return right.at((b * plan.heads + h) % plan.batch, 0, q, k) != 0;
             }),
             {{"mask",
               say("{right}\nmask = mask[:, 0].repeat({H}, 1, 1).reshape({B}, {H}, -1, "
                   "{Tk}).expand({grid})",
                   "{right}\nmask = np.tile(mask[:, 0], ({H}, 1, 1)).reshape({B}, {H}, -1, "
                   "{Tk})\nmask = np.broadcast_to(mask, ({grid}))"),
               formula("{right}, repeated sample after sample")}}},
        });
}

}  // namespace attn
