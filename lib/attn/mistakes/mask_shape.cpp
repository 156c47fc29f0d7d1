#include <algorithm>

#include "attn/cards/cards.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/plan/mask_kinds.hpp"
#include "attn/rules/print.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

std::string needs_causal(const Plan& plan) {
    if (plan.config.mask.prefix) return "a prefix is open in both directions";
    return plan.config.mask.causal ? "" : "there is no causal mask";
}

NotApplicable causal_with_two_keys() {
    return first_of({needs_causal, unless([](const Plan& plan) { return plan.key_len > 1; },
                                          "there is only one key")});
}

Mistake causal_mistake(std::string id, std::string title, std::string effect, std::string lesson,
                       NotApplicable not_applicable, std::string hides) {
    return entry(std::move(id), "mask", std::move(title), std::move(effect),
                 "hidden = torch.ones(Tq, Tk).triu(diagonal=Tk - Tq + 1).bool()",
                 "hidden = np.triu(np.ones((Tq, Tk), bool), k=Tk - Tq + 1)", std::move(lesson), "",
                 std::move(not_applicable),
                 masked_as([](MaskChoice& mask) { mask.causal = false; }, std::move(hides)));
}

Plan with_mask(const Plan& plan, const MaskChoice& mask) {
    Plan other = plan;
    other.config.mask = mask;
    return other;
}

MaskChoice padding_alone() {
    MaskChoice mask;
    mask.padding = true;
    return mask;
}

/// `b == 0 and q == 3`: the padding, of queries.
std::string padded_queries(const Plan& plan) {
    const Plan alone = with_mask(plan, padding_alone());
    const StepTable& table = step_table();
    const std::optional<Rule> rule = rule_of({alone, table, find_step(table, "mask")});
    return rule ? expression_text(
                      *rule->value,
                      [](const RuleNode& node) -> std::optional<std::string> {
                          const bool is_key = node.kind == RuleNode::Kind::name && node.word == "k";
                          return is_key ? std::optional<std::string>("q") : std::nullopt;
                      })
                : "";
}

/// Hides the rows of padded queries besides what the mask hides.
Tensor hide_padded_rows(const Plan& plan, bool keys_too) {
    Plan rest = plan;
    rest.config.mask.padding = keys_too;
    const Outline outline = score_cells(plan);
    Array<bool> cells = empty_array<bool>(outline.shape);
    if (rest.masks()) std::ranges::copy(hidden_cells(rest).cells, cells.begin());
    const std::size_t sample = cells.size() / (plan.has_batch ? plan.batch : 1);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t row = plan.key_padding.dimension() == 2 ? i / sample * plan.key_len : 0;
        const std::size_t query = i / plan.key_len % plan.query_len;
        cells.data()[i] = (rest.masks() && cells.data()[i]) || plan.key_padding.data()[row + query];
    }
    return {outline.axes, std::move(cells)};
}

Mistake padding_mistake(std::string id, std::string title, std::string effect, bool keys_too) {
    const auto change = [keys_too](Plan& plan) { plan.config.mask.padding = keys_too; };
    const auto rest = [change](const Plan& plan) {
        Plan other = plan;
        change(other);
        return other.config.mask.any();
    };
    const auto rule = [rest](const Plan& plan) {
        const std::string rows = padded_queries(plan);
        if (rows.empty()) return rows;
        return (rest(plan) ? "mask[q,k] = mask[q,k] or " : "mask[q,k] = ") + rows;
    };
    const auto lines = [rest](const StepLines& of, const std::string& right) {
        const Plan alone = with_mask(of.plan, padding_alone());
        const std::string rows = mask_code({{alone, of.table, of.step}, of.language}) +
                                 "\nrows = " + of.swapped("mask", "-2, -1") + "\n";
        const std::string both = rest(of.plan) ? "mask | rows" : "rows";
        return rows + (rest(of.plan) ? right + "\n" : "") +
               say("mask = (" + both + ").expand({grid})",
                   "mask = np.broadcast_to(" + both + ", ({grid}))")(of, "");
    };
    const auto compute = [keys_too](const Plan& plan, const Ledger&, const Compute&) {
        return hide_padded_rows(plan, keys_too);
    };
    return entry(std::move(id), "mask", std::move(title), std::move(effect),
                 "hidden = is_padding[:, None, None, :]", "hidden = is_padding[:, None, None, :]",
                 "What must not be read are padded keys, the columns; a padded query may ask.",
                 "nan in padded rows", first_of({needs_padding, needs_square}),
                 all_of({with_plan({"mask"}, change),
                         follows({rule, lines, score_cells, compute, "mask"})}));
}

NotApplicable several_samples_and_heads() {
    return first_of({unless([](const Plan& plan) { return plan.config.mask.padding; },
                            "the mask is the same for every sample"),
                     unless([](const Plan& plan) { return plan.batch > 1 && plan.heads > 1; },
                            "there are not several samples and several heads")});
}

}  // namespace

void add_mask_shape_mistakes(std::vector<Mistake>& list) {
    entry(list, "mask-inverted", "mask", "The mask was read with the opposite meaning",
          "what should be seen is hidden and the other way round",
          "scores.masked_fill(~keep, float('-inf'))", "np.where(keep, scores, -np.inf)",
          "Ask of each mask what True means: masked_fill hides it, "
          "scaled_dot_product_attention "
          "keeps it.",
          "", needs_mask, follows({.rule = "mask[q,k] = not mask[q,k]", .outline = score_cells}));
    list.push_back(causal_mistake("causal-diag-minus1",
                                  "The causal mask also hides each token itself",
                                  "the first token sees nothing, and no token sees itself",
                                  "A token may look at itself: the diagonal stays visible.",
                                  needs_causal, "k >= q + offset"));
    list.push_back(causal_mistake("causal-diag-plus1",
                                  "The causal mask lets one later token through",
                                  "each token sees its successor, the very one it should predict",
                                  "One step too far along the diagonal and the answer is in sight.",
                                  causal_with_two_keys(), "k > q + offset + 1"));
    list.push_back(
        causal_mistake("causal-triu", "The causal mask keeps the upper triangle",
                       "each token sees itself and what comes after it",
                       "Rows are queries: the past of row q lies to the left of the diagonal.",
                       causal_with_two_keys(), "k < q + offset"));
    list.push_back(causal_mistake(
        "causal-top-left", "The causal mask was aligned at the first key",
        "with earlier keys in a cache, late queries see only the first few",
        "With a cache the last query belongs to the last key.",
        first_of({needs_causal, unless([](const Plan& plan) { return causal_offset(plan) != 0; },
                                       "queries and keys start together")}),
        "k > q"));
    list.push_back(
        padding_mistake("pad-on-query-axis", "The padding mask was laid along the queries",
                        "padded keys keep their weight and padded rows turn to nan", false));
    list.push_back(padding_mistake("pad-on-query-axis=both",
                                   "The padding mask was laid along queries and keys",
                                   "padded rows turn to nan", true));
    entry(list, "mask-broadcast", "mask", "A (B, T, T) mask was broadcast over (B, H, T, T) scores",
          "head h of every sample uses the mask of sample h",
          "hidden = hidden[:, None]  # (B, 1, T, T)", "hidden = hidden[:, None]",
          "Shapes are matched from the right: give the head its own 1.", "",
          first_of({several_samples_and_heads(),
                    unless([](const Plan& plan) { return plan.batch == plan.heads; },
                           "batch and heads differ, so the program would stop")}),
          follows({"mask[b,h,q,k] = mask[h,0,q,k]",
                   say("{right}\nmask = mask[:, 0].expand({grid})",
                       "{right}\nmask = np.broadcast_to(mask[:, 0], ({grid}))"),
                   score_cells}));
    entry(list, "mask-tile-order", "mask",
          "Masks were repeated in the wrong order for a (B*H) axis",
          "heads use the masks of other samples", "hidden = hidden.repeat_interleave(H, dim=0)",
          "hidden = np.repeat(hidden, H, axis=0)",
          "Repeat each mask for its heads before the next sample's begins.", "",
          several_samples_and_heads(),
          follows({[](const Plan& plan) {
                       return "mask[b,h,q,k] = mask[(b * H + h) % " + std::to_string(plan.batch) +
                              ",0,q,k]";
                   },
                   say("{right}\nmask = mask[:, 0].repeat({H}, 1, 1).reshape({B}, {H}, -1, "
                       "{Tk}).expand({grid})",
                       "{right}\nmask = np.tile(mask[:, 0], ({H}, 1, 1)).reshape({B}, {H}, -1, "
                       "{Tk})\nmask = np.broadcast_to(mask, ({grid}))"),
                   score_cells}));
}

}  // namespace attn
