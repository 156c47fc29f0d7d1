#include <algorithm>
#include <array>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

std::string needs_causal(const Plan& plan) {
    if (plan.config.mask.prefix) return "a prefix is open in both directions";
    return plan.config.mask.causal ? "" : "there is no causal mask";
}

void causal_mistake(std::vector<Mistake>& list, const char* id, const char* title,
                    const char* effect, const char* lesson, const Need& needs, const char* hides) {
    entry(list, id, "mask", title, effect,
          Fix("hidden = torch.ones(Tq, Tk).triu(diagonal=Tk - Tq + 1).bool()",
              "hidden = np.triu(np.ones((Tq, Tk), bool), k=Tk - Tq + 1)"),
          lesson, needs, masked_as([](MaskChoice& mask) { mask.causal = false; }, hides));
}

/// Hides the rows of padded queries, besides the padded keys or in their place.
void padding_mistake(std::vector<Mistake>& list, const char* id, const char* title,
                     const char* effect, bool keys_too) {
    const auto padded_queries = [](const Plan& plan) {
        return where_true(plan.key_padding, plan.has_batch ? "bq" : "q");
    };
    entry(list, id, "mask", title, effect, "hidden = is_padding[:, None, None, :]",
          "What must not be read are padded keys, the columns; a padded query may ask.",
          {{[](const Plan& plan) { return plan.config.mask.padding; }, "there is no padding mask"},
           needs_square},
          masked_as([keys_too](MaskChoice& mask) { mask.padding = keys_too; }, padded_queries),
          "nan in padded rows");
}

}  // namespace

void add_mask_shape_mistakes(std::vector<Mistake>& list) {
    const Need several_masks{{[](const Plan& plan) { return plan.config.mask.padding; },
                              "the mask is the same for every sample"},
                             {[](const Plan& plan) { return plan.batch > 1 && plan.heads > 1; },
                              "there are not several samples and several heads"}};
    entry(list, "mask-inverted", "mask", "The mask was read with the opposite meaning",
          "what should be seen is hidden and the other way round",
          Fix("scores.masked_fill(~keep, float('-inf'))", "np.where(keep, scores, -np.inf)"),
          "Ask of each mask what True means: masked_fill hides it, scaled_dot_product_attention "
          "keeps it.",
          needs_mask, follows({.rule = "mask[q,k] = not mask[q,k]", .outline = score_cells}));
    causal_mistake(list, "causal-diag-minus1", "The causal mask also hides each token itself",
                   "the first token sees nothing, and no token sees itself",
                   "A token may look at itself: the diagonal stays visible.", needs_causal,
                   "k >= q + offset");
    causal_mistake(list, "causal-diag-plus1", "The causal mask lets one later token through",
                   "each token sees its successor, the very one it should predict",
                   "One step too far along the diagonal and the answer is in sight.",
                   {needs_causal, needs_keys}, "k > q + offset + 1");
    causal_mistake(list, "causal-triu", "The causal mask keeps the upper triangle",
                   "each token sees itself and what comes after it",
                   "Rows are queries: the past of row q lies to the left of the diagonal.",
                   {needs_causal, needs_keys}, "k < q + offset");
    causal_mistake(list, "causal-top-left", "The causal mask was aligned at the first key",
                   "with earlier keys in a cache, late queries see only the first few",
                   "With a cache the last query belongs to the last key.",
                   {needs_causal,
                    {[](const Plan& plan) { return causal_offset(plan) != 0; },
                     "queries and keys start together"}},
                   "k > q");
    padding_mistake(list, "pad-on-query-axis", "The padding mask was laid along the queries",
                    "padded keys keep their weight and padded rows turn to nan", false);
    padding_mistake(list, "pad-on-query-axis=both",
                    "The padding mask was laid along queries and keys", "padded rows turn to nan",
                    true);
    entry(list, "mask-broadcast", "mask", "A (B, T, T) mask was broadcast over (B, H, T, T) scores",
          "head h of every sample uses the mask of sample h",
          Fix("hidden = hidden[:, None]  # (B, 1, T, T)", "hidden = hidden[:, None]"),
          "Shapes are matched from the right: give the head its own 1.",
          {several_masks,
           {[](const Plan& plan) { return plan.batch == plan.heads; },
            "batch and heads differ, so the program would stop"}},
          follows({.rule = "mask[b,h,q,k] = mask[h,0,q,k]", .outline = score_cells}));
    entry(
        list, "mask-tile-order", "mask", "Masks were repeated in the wrong order for a (B*H) axis",
        "heads use the masks of other samples",
        Fix("hidden = hidden.repeat_interleave(H, dim=0)", "hidden = np.repeat(hidden, H, axis=0)"),
        "Repeat each mask for its heads before the next sample's begins.", several_masks,
        follows({.rule = "mask[b,h,q,k] = mask[(b * H + h) % {B},0,q,k]", .outline = score_cells}));
}

namespace {

bool hides_a_whole_row(const Plan& plan) {
    const std::vector<bool> hidden = hidden_cells(plan).cells;
    for (std::size_t row = 0; row < hidden.size(); row += plan.key_len) {
        const auto first = hidden.begin() + static_cast<std::ptrdiff_t>(row);
        if (std::all_of(first, first + static_cast<std::ptrdiff_t>(plan.key_len),
                        [](bool hides) { return hides; })) {
            return true;
        }
    }
    return false;
}

}  // namespace

void in_mask_use(std::vector<Mistake>& list, std::string id, std::string title, std::string effect,
                 const Fix& fix, std::string lesson, const std::string& cell, std::string same_as) {
    entry(list, std::move(id), "masked_scores", std::move(title), std::move(effect), fix,
          std::move(lesson), needs_mask, follows("masked_scores[q,k] = " + cell),
          std::move(same_as));
}

void add_mask_use_mistakes(std::vector<Mistake>& list) {
    const Fix added("scores + torch.zeros(T, T).masked_fill(hidden, float('-inf'))",
                    "scores + np.where(hidden, -np.inf, 0)");
    in_mask_use(list, "mask-not-applied", "The mask was made but never reached the scores",
                "hidden keys take part like all others",
                Fix("scores = scores.masked_fill(hidden, float('-inf'))  # keep the result",
                    "scores = np.where(hidden, -np.inf, scores)"),
                "masked_fill hands back a new tensor: what is not kept did not happen.",
                "scores[q,k]");
    in_mask_use(list, "mask-times-zero", "Scores were multiplied by a mask of zeros and ones",
                "hidden scores become 0, whose exponential is 1", fill_with_inf,
                "A score of 0 is an ordinary score; only minus infinity gives the weight 0.",
                "if mask[q,k] then 0 else scores[q,k]", "hidden scores at 0");
    in_mask_use(list, "mask-tiny-fill", "Hidden scores were filled with 1e-9",
                "hidden scores are 0 to nine digits, and their exponential is 1", fill_with_inf,
                "Mind the sign: 1e-9 is next to nothing, -1e9 is far below all.",
                "if mask[q,k] then 1e-9 else scores[q,k]", "hidden scores at 0");
    const std::array<const char*, 3> after_softmax[]{
        {"", "The mask was applied to the weights", "0"},
        {"=inf", "Minus infinity was put into the weights", "-inf"}};
    for (const auto& [variant, title, cell] : after_softmax) {
        entry(list, std::string("mask-after-softmax") + variant, "masked_scores", title,
              "rows sum to less than 1, and hidden keys still count in the denominator",
              Fix("weights = F.softmax(scores.masked_fill(hidden, float('-inf')), dim=-1)",
                  "weights = softmax(np.where(hidden, -np.inf, scores))"),
              "Mask before softmax, or the hidden keys have already taken their share.", needs_mask,
              all_of({follows("masked_scores[q,k] = scores[q,k]"),
                      follows(std::string("weights[q,k] = if mask[q,k] then ") + cell +
                              " else weights[q,k]")}));
    }
    in_mask_use(list, "mask-convention",
                "A mask of 0 and minus infinity was used as one of 1 and 0",
                "visible scores fall by 1e9, where 32 bits no longer tell them apart",
                Fix("scores + mask  # not scores + (1 - mask) * -1e9"),
                "A mask that is added says 0 for visible, one that multiplies says 1: ask which.",
                "if mask[q,k] then -inf else scores[q,k] - 1e9");
    in_mask_use(list, "mask-added-bool=keep",
                "A mask of ones for kept keys was added to the scores",
                "kept keys gain a factor of e over hidden ones, and nothing is hidden", added,
                "An added mask holds 0 and minus infinity, not 1 and 0.",
                "if mask[q,k] then scores[q,k] else scores[q,k] + 1");
    in_mask_use(list, "mask-added-bool=hidden",
                "A mask of ones for hidden keys was added to the scores",
                "hidden keys gain a factor of e over the others", added,
                "Adding 1 to a score multiplies its weight by 2.718, it hides nothing.",
                "if mask[q,k] then scores[q,k] + 1 else scores[q,k]");
    in_mask_use(list, "mask-sign=plus", "Hidden scores were filled with plus infinity",
                "rows with a hidden key turn to nan", fill_with_inf,
                "Plus infinity wins every comparison: the sign decides who is hidden.",
                "if mask[q,k] then inf else scores[q,k]");
    in_mask_use(list, "mask-sign=times", "Hidden scores were multiplied by minus infinity",
                "a hidden score that is negative becomes plus infinity, and its row nan",
                fill_with_inf,
                "Minus times minus is plus: put minus infinity there, do not multiply by it.",
                "if mask[q,k] then scores[q,k] * -inf else scores[q,k]");
    entry(list, "fully-masked-row", "masked_scores",
          "A row that hides every key was filled with a finite number",
          "the row becomes uniform over padding instead of saying that nothing is left",
          Fix("weights = weights.masked_fill(hidden.all(-1, keepdim=True), 0)",
              "weights = np.where(hidden.all(-1, keepdims=True), 0, weights)"),
          "A fully masked row has no weights that sum to 1: keep one key or drop the row.",
          {needs_mask, {hides_a_whole_row, "no row hides every key"}},
          follows("masked_scores[q,k] = if mask[q,k] then -1e9 else scores[q,k]"),
          "no difference without an empty row");
    for (const double fill : {1e9, -1e4, -100., -10.}) list.push_back(mistaken_fill(fill));
    in_mask_use(
        list, "mask-fp16", "The scores were masked in 16-bit floats",
        "scores keep three digits, and the fill ends at -65504",
        Fix("scores.float().masked_fill(hidden, float('-inf'))",
            "np.where(hidden, -np.inf, scores.astype(np.float32))"),
        "Half precision ends at 65504 and carries three digits: mask and softmax in float32.",
        "if mask[q,k] then half(half(scores[q,k]) - 65504) else half(scores[q,k])");
}

}  // namespace attn
