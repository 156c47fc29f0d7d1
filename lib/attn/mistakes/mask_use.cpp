#include <algorithm>

#include "attn/mistakes/change.hpp"

namespace attn {
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
    entry(list, "mask-after-softmax", "masked_scores", "The mask was applied to the weights",
          "rows sum to less than 1, and hidden keys still count in the denominator",
          Fix("weights = F.softmax(scores.masked_fill(hidden, float('-inf')), dim=-1)",
              "weights = softmax(np.where(hidden, -np.inf, scores))"),
          "Mask before softmax, or the hidden keys have already taken their share.", needs_mask,
          all_of({follows("masked_scores[q,k] = scores[q,k]"),
                  follows("weights[q,k] = if mask[q,k] then 0 else weights[q,k]")}));
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
