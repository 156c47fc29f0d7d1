#include "attn/mistakes/rotation.hpp"
#include "attn/plan/projected.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

/// A step with the features that rotate in another order, the even ones first, then the odd ones.
std::string even_ones_first(const Plan& plan, const std::string& step, const std::string& tensor) {
    const std::size_t width = projected_of(step == "rotated_query" ? 'q' : 'k').width(plan);
    const std::size_t pairs = plan.rotary_pairs();
    const std::size_t first = plan.first_rotated(width);
    const auto text = [](std::size_t number) { return std::to_string(number); };
    return tensor + "[t,f] = " + tensor + "[t, if f < " + text(first) +
           " or f >= " + text(first + 2 * pairs) + " then f else if f < " + text(first + pairs) +
           " then 2 * f - " + text(first) + " else 2 * (f - " + text(pairs) + ") - " + text(first) +
           " + 1]";
}

TableEdit rearranged_before() {
    return for_each_step(rotated_steps, [](const std::string& step) {
        const std::string chain = step == "rotated_query" ? "queries" : "keys";
        return reads({step}, chain,
                     [=](const Plan& plan) { return even_ones_first(plan, step, chain); });
    });
}

TableEdit partners_half_a_head_apart() {
    return for_each_step(rotated_steps, [](const std::string& step) {
        return follows([step](const Plan& plan) {
            const std::string apart = std::to_string(plan.head_dim / 2);
            const std::string x = step == "rotated_query" ? "queries[t, f" : "keys[t, f";
            const std::string pair = "[t, f % " + apart + "]";
            const std::string prefix = angle_prefix(plan, step);
            const std::string turned = x + "] * " + prefix + "cos" + pair;
            const std::string sin = "] * " + prefix + "sin" + pair;
            return step + "[t,f] = if f % " + apart + " >= " + std::to_string(plan.rotary_pairs()) +
                   " then " + x + "] else if f < " + apart + " then " + turned + " - " + x + " + " +
                   apart + sin + " else " + turned + " + " + x + " - " + apart + sin;
        });
    });
}

void other_pairing(Plan& plan) {
    Pairing& pairing = *plan.config.rotary.pairing;
    pairing = pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
}

NotApplicable several_pairs() {
    return rope_and([](const Plan& plan) { return plan.rotary_pairs() > 1; },
                    "one pair is the same either way");
}

/// Whether no gain of its own for each feature stands behind the rotation.
bool norms_first_or_alike(const Plan& plan) {
    const Ledger& given = plan.config.parameters;
    return plan.config.qk_norm.place == QkNorm::Place::before ||
           !(given.has("g_query") || given.has("g_key"));
}

/// The halves of rotated pairs one behind the other: harmless where query and key are permuted
/// alike, a mistake beside keys of a cache that are not.
Mistake concatenated(bool harmless) {
    return entry(
        harmless ? "rope-concat-both" : "rope-concat-output", "rotated_query",
        "Interleaved pairs were rotated and put down as two halves",
        harmless ? "query and key are permuted alike: the scores are right until they meet others"
                 : "scores among the new tokens are right, those with cached keys are not",
        "rotated = torch.stack((even, odd), dim=-1).flatten(-2)",
        "rotated = np.stack((even, odd), axis=-1).reshape(q.shape)",
        "A permutation of both sides cancels in their product, and breaks a shared cache.", "",
        first_of({several_pairs(),
                  unless([harmless](
                             const Plan& plan) { return !harmless || norms_first_or_alike(plan); },
                         "the gains behind it meet other features"),
                  unless(
                      [](const Plan& plan) {
                          return plan.config.rotary.pairing == Pairing::interleaved;
                      },
                      "the pairs are halves already"),
                  unless([harmless](const Plan& plan) { return harmless == (plan.past_len == 0); },
                         harmless ? "the keys of the past are in order"
                                  : "there are no earlier keys: pass $past"_told)}),
        for_each_step(rotated_steps, [](const std::string& step) {
            return follows([step](const Plan& plan) { return even_ones_first(plan, step, step); });
        }));
}

}  // namespace

void add_pairing_mistakes(std::vector<Mistake>& list) {
    entry(list, "rope-style", "rotated_query", "The features were paired in the other style",
          "each token's score with itself is right, the others are not",
          "pairs = half  # Llama, Qwen, NeoX: (i, i + d/2); Meta's files, GPT-J: (2i, 2i + "
          "1)",
          "pairs = half  # (i, i + d/2), or interleaved: (2i, 2i + 1), as the weights were "
          "made",
          "Which features make a pair is a property of the weights, and no shape shows it.",
          "the other pairs", several_pairs(), with_plan(rotated_steps, other_pairing));
    entry(list, "rope-permute-missing", "rotated_query",
          "Query and key were rearranged for the other pairing, which is not used",
          "each token's score with itself is right, the others are not",
          "w_query = permute(w_query)  # once, when Meta's files become Hugging Face's",
          "w_query = permute(w_query)  # once, when the file is converted",
          "Rearranging the rows of a checkpoint and choosing the pairing go together.",
          "the other pairs", several_pairs(), rearranged_before());
    entry(list, "rope-partial-pairing", "rotated_query",
          "Partners were half a head apart, not half of what rotates",
          "features rotate that should stay, and others stay that should rotate",
          "first, second = q[..., :r // 2], q[..., r // 2:r]",
          "first, second = q[..., :r // 2], q[..., r // 2:r]",
          "With a partial rotation the halves are those of the part that rotates.", "",
          first_of({rope_and(is_partial, "all features rotate here"),
                    unless(
                        [](const Plan& plan) {
                            return plan.config.rotary.pairing == Pairing::half &&
                                   plan.head_dim % 2 == 0;
                        },
                        "the pairs are neighbours, or the head has an odd width")}),
          partners_half_a_head_apart());
    list.push_back(concatenated(false));
}

void add_harmless_pairings(std::vector<Mistake>& list) { list.push_back(concatenated(true)); }

}  // namespace attn
