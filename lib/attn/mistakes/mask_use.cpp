#include <algorithm>
#include <array>

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

TableEdit masked_by(const std::string& cell) { return follows("masked_scores[q,k] = " + cell); }

/// In 16-bit floats, of which -65504 is the last.
Tensor masked_in_half(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor masked = before(plan, ledger);
    const Tensor& scores = ledger.latest(Chain::scores, "masked_scores");
    std::size_t i = 0;
    return mapped(scores, [&](double score) {
        const bool hidden = masked.at(i++) == -infinity;
        return hidden ? in_float16(in_float16(score) - 65504) : in_float16(score);
    });
}

const std::array<const char*, 2> fills{"scores.masked_fill(hidden, float('-inf'))",
                                       "np.where(hidden, -np.inf, scores)"};

}  // namespace

Mistake in_mask_use(std::string id, std::string title, std::string effect, std::string fix_torch,
                    std::string fix_numpy, std::string lesson, TableEdit edit,
                    std::string indistinguishable_from) {
    return entry(std::move(id), "masked_scores", std::move(title), std::move(effect),
                 std::move(fix_torch), std::move(fix_numpy), std::move(lesson),
                 std::move(indistinguishable_from), needs_mask, std::move(edit));
}

void add_mask_use_mistakes(std::vector<Mistake>& list) {
    list.push_back(
        in_mask_use("mask-not-applied", "The mask was made but never reached the scores",
                    "hidden keys take part like all others",
                    "scores = scores.masked_fill(hidden, float('-inf'))  # keep the result",
                    "scores = np.where(hidden, -np.inf, scores)",
                    "masked_fill hands back a new tensor: what is not kept did not happen.",
                    masked_by("scores[q,k]")));
    list.push_back(
        in_mask_use("mask-times-zero", "Scores were multiplied by a mask of zeros and ones",
                    "hidden scores become 0, whose exponential is 1", fills[0], fills[1],
                    "A score of 0 is an ordinary score; only minus infinity gives the weight 0.",
                    masked_by("if mask[q,k] then 0 else scores[q,k]"), "hidden scores at 0"));
    list.push_back(
        in_mask_use("mask-tiny-fill", "Hidden scores were filled with 1e-9",
                    "hidden scores are 0 to nine digits, and their exponential is 1", fills[0],
                    fills[1], "Mind the sign: 1e-9 is next to nothing, -1e9 is far below all.",
                    masked_by("if mask[q,k] then 1e-9 else scores[q,k]"), "hidden scores at 0"));
    entry(list, "mask-after-softmax", "masked_scores", "The mask was applied to the weights",
          "rows sum to less than 1, and hidden keys still count in the denominator",
          "weights = F.softmax(scores.masked_fill(hidden, float('-inf')), dim=-1)",
          "weights = softmax(np.where(hidden, -np.inf, scores))",
          "Mask before softmax, or the hidden keys have already taken their share.", "", needs_mask,
          all_of({masked_by("scores[q,k]"),
                  follows("weights[q,k] = if mask[q,k] then 0 else weights[q,k]")}));
    list.push_back(
        in_mask_use("mask-added-bool=keep", "A mask of ones for kept keys was added to the scores",
                    "kept keys gain a factor of e over hidden ones, and nothing is hidden",
                    "scores + torch.zeros(T, T).masked_fill(hidden, float('-inf'))",
                    "scores + np.where(hidden, -np.inf, 0)",
                    "An added mask holds 0 and minus infinity, not 1 and 0.",
                    masked_by("if mask[q,k] then scores[q,k] else scores[q,k] + 1")));
    list.push_back(in_mask_use(
        "mask-added-bool=hidden", "A mask of ones for hidden keys was added to the scores",
        "hidden keys gain a factor of e over the others",
        "scores + torch.zeros(T, T).masked_fill(hidden, float('-inf'))",
        "scores + np.where(hidden, -np.inf, 0)",
        "Adding 1 to a score multiplies its weight by 2.718, it hides nothing.",
        masked_by("if mask[q,k] then scores[q,k] + 1 else scores[q,k]")));
    list.push_back(
        in_mask_use("mask-sign=plus", "Hidden scores were filled with plus infinity",
                    "rows with a hidden key turn to nan", fills[0], fills[1],
                    "Plus infinity wins every comparison: the sign decides who is hidden.",
                    masked_by("if mask[q,k] then inf else scores[q,k]")));
    list.push_back(in_mask_use(
        "mask-sign=times", "Hidden scores were multiplied by minus infinity",
        "a hidden score that is negative becomes plus infinity, and its row nan", fills[0],
        fills[1], "Minus times minus is plus: put minus infinity there, do not multiply by it.",
        masked_by("if mask[q,k] then scores[q,k] * -inf else scores[q,k]")));
    entry(list, "fully-masked-row", "masked_scores",
          "A row that hides every key was filled with a finite number",
          "the row becomes uniform over padding instead of saying that nothing is left",
          "weights = weights.masked_fill(hidden.all(-1, keepdim=True), 0)",
          "weights = np.where(hidden.all(-1, keepdims=True), 0, weights)",
          "A fully masked row has no weights that sum to 1: keep one key or drop the "
          "row.",
          "no difference without an empty row",
          first_of({needs_mask, unless(hides_a_whole_row, "no row hides every key")}),
          masked_by("if mask[q,k] then -1e9 else scores[q,k]"));
    list.push_back(mistaken_fill(1e9));
    list.push_back(mistaken_fill(-1e4));
    list.push_back(mistaken_fill(-100));
    list.push_back(mistaken_fill(-10));
    list.push_back(in_mask_use(
        "mask-fp16", "The scores were masked in 16-bit floats",
        "scores keep three digits, and the fill ends at -65504",
        "scores.float().masked_fill(hidden, float('-inf'))",
        "np.where(hidden, -np.inf, scores.astype(np.float32))",
        "Half precision ends at 65504 and carries three digits: mask and softmax in "
        "float32.",
        computed("masked_scores", "masked_scores = scores - 65504 where mask is true, in float16",
                 masked_in_half,
                 say("half = {scores}.half()\nmasked_scores = torch.where(mask, half - 65504, "
                     "half).to({scores}.dtype)",
                     "half = {scores}.astype(np.float16)\nmasked_scores = np.where(mask, half - "
                     "np.float16(65504), half).astype({scores}.dtype)"))));
}

}  // namespace attn
