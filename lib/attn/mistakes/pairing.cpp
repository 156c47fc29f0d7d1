#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/rotation.hpp"
#include "attn/plan/projected.hpp"
#include "attn/text/told.hpp"

namespace attn {
namespace {

/// The features of each row that rotate, the even ones first, then the odd ones.
Tensor even_ones_first(const Tensor& tensor, const Plan& plan) {
    const std::size_t pairs = plan.rotary_pairs();
    const std::size_t first = plan.first_rotated(tensor.shape().back());
    return rearranged(tensor, [pairs, first](GridCell cell, const Grid&) {
        if (cell.c < first || cell.c >= first + 2 * pairs) return cell;
        const std::size_t place = cell.c - first;
        cell.c = first + (place < pairs ? 2 * place : 2 * (place - pairs) + 1);
        return cell;
    });
}

Lines even_ones_first_lines(const std::string& name) {
    return [name](const StepLines& of, const std::string& right) {
        const std::string variable = name.empty()                      ? of.step.name
                                     : of.step.name == "rotated_query" ? of.latest(Chain::queries)
                                                                       : of.latest(Chain::keys);
        const bool is_query = of.step.name == "rotated_query";
        const std::size_t width = projected_of(is_query ? 'q' : 'k').width(of.plan);
        const std::size_t first = of.plan.first_rotated(width);
        const std::size_t last = first + 2 * of.plan.rotary_pairs();
        const std::string end = std::to_string(last);
        const std::string part = variable + "[..., ";
        const std::string still = first > 0 ? part + ":" + std::to_string(first) + "], " : "";
        const std::string rest = last < width ? ", " + part + end + ":]" : "";
        const std::string permuted =
            variable + " = " + (of.torch() ? "torch.cat((" : "np.concatenate((") + still + part +
            std::to_string(first) + ":" + end + ":2], " + part + std::to_string(first + 1) + ":" +
            end + ":2]" + rest + (of.torch() ? "), dim=-1)" : "), axis=-1)");
        return name.empty() ? right + "\n" + permuted : permuted + "\n" + right;
    };
}

TableEdit rearranged_before() {
    return for_each_step(rotated_steps, [](const std::string& step) {
        return with_ledger({step}, [step](Ledger& ledger, const Plan& of) {
            const auto [name, tensor] = *ledger.find_latest(chain_of(step), step);
            ledger.record(name, even_ones_first(tensor, of));
        });
    });
}

StepEdit partners_half_a_head_apart(const std::string& step) {
    return [step](const Plan& plan, const Ledger& ledger, const Compute&) {
        const Tensor& before = ledger.latest(chain_of(step), step);
        const std::string prefix = angle_prefix(plan, step);
        const std::size_t pairs = plan.rotary_pairs();
        const std::size_t apart = plan.head_dim / 2;
        const Tensor& cosines = ledger[prefix + "cos"];
        const Tensor& sines = ledger[prefix + "sin"];
        const Grid right = grid_of(before);
        Grid wrong = right;
        wrong.fill([&](std::size_t b, std::size_t h, std::size_t t, std::size_t f) {
            const std::size_t pair = f % apart;
            if (pair >= pairs) return right.at(b, h, t, f);
            const double cos = cosines.at(t * pairs + pair);
            const double sin = sines.at(t * pairs + pair);
            const double partner = right.at(b, h, t, f < apart ? f + apart : f - apart);
            return right.at(b, h, t, f) * cos + (f < apart ? -partner : partner) * sin;
        });
        return tensor_of(wrong, before.axes(), plan.compute_dtype);
    };
}

Lines half_a_head_lines() {
    return [](const StepLines& of, const std::string&) {
        const std::string before = of.latest(chain_of(of.step.name));
        const std::string prefix = angle_prefix(of.plan, of.step.name);
        const std::size_t pairs = of.plan.rotary_pairs();
        const std::size_t apart = of.plan.head_dim / 2;
        const auto part = [&](std::size_t first, std::size_t end) {
            return before + "[..., " + slice_text(first, end - first) + "]";
        };
        return "first, second = " + part(0, pairs) + ", " + part(apart, apart + pairs) + "\n" +
               of.step.name + " = " + (of.torch() ? "torch.cat((" : "np.concatenate((") +
               "first * " + prefix + "cos - second * " + prefix + "sin, " + part(pairs, apart) +
               ", second * " + prefix + "cos + first * " + prefix + "sin, " +
               part(apart + pairs, of.plan.head_dim) + (of.torch() ? "), dim=-1)" : "), axis=-1)");
    };
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
    return {
        harmless ? "rope-concat-both" : "rope-concat-output",
        "rotated_query",
        "Interleaved pairs were rotated and put down as two halves",
        harmless ? "query and key are permuted alike: the scores are right until they meet others"
                 : "scores among the new tokens are right, those with cached keys are not",
        "rotated = torch.stack((even, odd), dim=-1).flatten(-2)",
        "rotated = np.stack((even, odd), axis=-1).reshape(q.shape)",
        "A permutation of both sides cancels in their product, and breaks a shared cache.",
        "",
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
        replace_step(rotated_steps,
                     [](const Plan& plan, const Ledger& ledger, const Compute& before) {
                         return even_ones_first(before(plan, ledger), plan);
                     }),
        lines_of_each(rotated_steps, even_ones_first_lines(""), "even features first")};
}

}  // namespace

void add_pairing_mistakes(std::vector<Mistake>& list) {
    add(list,
        {
            {"rope-style", "rotated_query", "The features were paired in the other style",
             "each token's score with itself is right, the others are not",
             "pairs = half  # Llama, Qwen, NeoX: (i, i + d/2); Meta's files, GPT-J: (2i, 2i + 1)",
             "pairs = half  # (i, i + d/2), or interleaved: (2i, 2i + 1), as the weights were made",
             "Which features make a pair is a property of the weights, and no shape shows it.",
             "the other pairs", several_pairs(), with_plan(rotated_steps, other_pairing)},
            {"rope-permute-missing", "rotated_query",
             "Query and key were rearranged for the other pairing, which is not used",
             "each token's score with itself is right, the others are not",
             "w_query = permute(w_query)  # once, when Meta's files become Hugging Face's",
             "w_query = permute(w_query)  # once, when the file is converted",
             "Rearranging the rows of a checkpoint and choosing the pairing go together.",
             "the other pairs", several_pairs(), rearranged_before(),
             lines_of_each(rotated_steps, even_ones_first_lines("before"), "even features first")},
            {"rope-partial-pairing", "rotated_query",
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
             all_of({replace_step({"rotated_query"}, partners_half_a_head_apart("rotated_query")),
                     replace_step({"rotated_key"}, partners_half_a_head_apart("rotated_key"))}),
             lines_of_each(rotated_steps, half_a_head_lines(), "partners half a head apart")},
            concatenated(false),
        });
}

void add_harmless_pairings(std::vector<Mistake>& list) {
    add(list, {
                  concatenated(true),
              });
}

}  // namespace attn
