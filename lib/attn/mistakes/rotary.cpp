#include <fmt/format.h>

#include <regex>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/steps/rotary.hpp"

namespace attn {
namespace {

const std::vector<std::string> turned_steps{"rotated_query", "rotated_key"};

std::string angle_prefix(const Plan& plan, const std::string& step) {
    return step == "rotated_key" && plan.has_memory ? "memory_" : "";
}

/// Positions, and the frequencies that they are multiplied with.
struct OtherAngles {
    Array<std::int64_t> positions;
    std::size_t width;
};
using Angles = std::function<OtherAngles(const Plan&, const Array<std::int64_t>& positions)>;

/// The named rotations turn by the angles of other positions, or of another width.
TableEdit turned_by(std::vector<std::string> steps, Angles angles) {
    return [steps = std::move(steps), angles = std::move(angles)](StepTable table,
                                                                  const Plan& plan) {
        for (const std::string& step : steps) {
            table = with_ledger({step}, [step, angles](Ledger& ledger, const Plan& of) {
                const std::string prefix = angle_prefix(of, step);
                const OtherAngles other =
                    angles(of, ledger[prefix + "positions"].as<std::int64_t>());
                with_floating(of.compute_dtype, [&](auto zero) {
                    using T = decltype(zero);
                    const Array<T> frequencies =
                        other.width == 2 * of.rotary_pairs()
                            ? ledger["inverse_frequencies"].as<T>()
                            : loop::inverse_frequencies<T>(of.rotary_base(), other.width);
                    const Array<T> all = loop::angles(other.positions, frequencies);
                    const double factor = of.rotary_factor();
                    ledger.record(prefix + "cos", {{"token", "pair"}, loop::cosines(all, factor)});
                    ledger.record(prefix + "sin", {{"token", "pair"}, loop::sines(all, factor)});
                });
            })(std::move(table), plan);
        }
        return table;
    };
}

/// All positions moved, `by` as far as the first one stands from 0, and one step more.
Angles moved(std::int64_t by, std::int64_t more) {
    return [by, more](const Plan& plan, const Array<std::int64_t>& positions) {
        OtherAngles other{positions, 2 * plan.rotary_pairs()};
        const std::int64_t shift = by * positions(0) + more;
        for (std::int64_t& position : other.positions) position += shift;
        return other;
    };
}

/// The lines of a rotation by other positions.
Lines moved_lines(const std::string& shift) {
    return [shift](const StepLines& of, const std::string& right) {
        const std::string prefix = angle_prefix(of.plan, of.step.name);
        const std::string positions = prefix + "positions";
        const std::string moved = std::regex_replace(shift, std::regex("POSITIONS"), positions);
        const std::string name = prefix + "moved_angles";
        const double factor = of.plan.rotary_factor();
        const auto turned = [&](const std::string& text, const std::string& function) {
            const std::string value = of.module() + "." + function + "(" + name + ")";
            return std::regex_replace(
                text, std::regex("\\b(memory_)?" + function + "\\b(?!\\()"),
                factor == 1 ? value : fmt::format("({} * {})", value, factor));
        };
        return name + " = (" + moved + ")[:, None] * inverse_frequencies\n" +
               turned(turned(right, "cos"), "sin");
    };
}

std::vector<WrongLines> for_each_turned(const std::vector<std::string>& steps, const Lines& lines,
                                        const std::string& words) {
    std::vector<WrongLines> all;
    for (const std::string& step : steps)
        all.push_back({step, lines, formula("{right}, " + words)});
    return all;
}

/// The features of each row that turn, the even ones first, then the odd ones.
Tensor even_ones_first(const Tensor& tensor, const Plan& plan) {
    const std::size_t pairs = plan.rotary_pairs();
    return rearranged(tensor, [pairs](GridCell cell, const Grid&) {
        const std::size_t f = cell.c;
        cell.c = f >= 2 * pairs ? f : f < pairs ? 2 * f : 2 * (f - pairs) + 1;
        return cell;
    });
}

Lines even_ones_first_lines(const std::string& name) {
    return [name](const StepLines& of, const std::string& right) {
        const std::string variable = name.empty()                      ? of.step.name
                                     : of.step.name == "rotated_query" ? of.latest(Chain::queries)
                                                                       : of.latest(Chain::keys);
        const std::string width = std::to_string(2 * of.plan.rotary_pairs());
        const std::string part = variable + "[..., ";
        const std::string rest =
            2 * of.plan.rotary_pairs() < of.plan.head_dim ? ", " + part + width + ":]" : "";
        const std::string permuted = variable + " = " +
                                     (of.torch() ? "torch.cat((" : "np.concatenate((") + part +
                                     "0:" + width + ":2], " + part + "1:" + width + ":2]" + rest +
                                     (of.torch() ? "), dim=-1)" : "), axis=-1)");
        return name.empty() ? right + "\n" + permuted : permuted + "\n" + right;
    };
}

TableEdit rearranged_before() {
    return [](StepTable table, const Plan& plan) {
        for (const std::string& step : turned_steps) {
            table = with_ledger({step}, [step](Ledger& ledger, const Plan& of) {
                const auto [name, tensor] = *ledger.find_latest(chain_of_side(step), step);
                ledger.record(name, even_ones_first(tensor, of));
            })(std::move(table), plan);
        }
        return table;
    };
}

StepEdit partners_half_a_head_apart(const std::string& step) {
    return [step](const Plan& plan, const Ledger& ledger, const Compute&) {
        const Tensor& before = ledger.latest(chain_of_side(step), step);
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
        const std::string before = of.latest(chain_of_side(of.step.name));
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

bool starts_late(const Plan& plan) { return plan.config.positions[0] != 0; }
bool starts_alike(const Plan& plan) {
    return !plan.has_memory || plan.config.positions[0] == plan.config.memory_positions[0];
}
/// Whether no gain of its own for each feature stands behind the rotation.
bool norms_first_or_alike(const Plan& plan) {
    const Ledger& given = plan.config.parameters;
    return plan.config.qk_norm.place == QkNorm::Place::before ||
           !(given.has("g_query") || given.has("g_key"));
}
bool is_partial(const Plan& plan) { return 2 * plan.rotary_pairs() < plan.head_dim; }

void other_pairing(Plan& plan) {
    Pairing& pairing = *plan.config.rotary.pairing;
    pairing = pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
}

NotApplicable two_pairs() {
    return rope_and([](const Plan& plan) { return plan.rotary_pairs() > 1; },
                    "one pair is the same either way");
}

void turn_all(Plan& plan) { plan.config.rotary.dim = static_cast<std::int64_t>(plan.head_dim); }

}  // namespace

void add_rotary_mistakes(std::vector<Mistake>& list) {
    const std::string call = "q, k = apply_rotary_pos_emb(q, k, cos, sin)";
    const std::string numpy_call = "q, k = rotate(q, cos, sin), rotate(k, cos, sin)";
    const NotApplicable late =
        rope_and(starts_late, "the first token stands at position 0: pass --positions");
    add(list,
        {
            {"rope-style", "rotated_query", "The features were paired in the other style",
             "each token's score with itself is right, the others are not",
             "pairs = half  # Llama, Qwen, NeoX: (i, i + d/2); Meta's files, GPT-J: (2i, 2i + 1)",
             "pairs = half  # (i, i + d/2), or interleaved: (2i, 2i + 1), as the weights were made",
             "Which features make a pair is a property of the weights, and no shape shows it.",
             "the other pairs", two_pairs(), with_plan(turned_steps, other_pairing)},
            {"rope-q-only", "rotated_key", "Only the query was turned",
             "scores depend on where the query stands, not on the distance to the key", call,
             numpy_call, "A rotation tells distances only when both sides turn.", "", needs_rope(),
             left_out({"rotated_key"}), left_out_lines({"rotated_key"})},
            {"rope-k-only", "rotated_query", "Only the key was turned",
             "scores depend on where the key stands, not on the distance to the query", call,
             numpy_call, "A rotation tells distances only when both sides turn.", "", needs_rope(),
             left_out({"rotated_query"}), left_out_lines({"rotated_query"})},
            {"rope-missing", "rotated_query", "Neither query nor key was turned",
             "scores are those without positions: equal tokens have equal rows", call, numpy_call,
             "Without positions attention sees a bag of tokens.", "", needs_rope(),
             left_out(turned_steps), left_out_lines(turned_steps)},
            {"rope-value",
             "context",
             "The values were turned too",
             "weights are right, the context is not, except for tokens at position 0",
             call + "  # and leave v alone",
             numpy_call + "  # and leave v alone",
             "Positions say whom to look at, not what is there: values do not turn.",
             "",
             rope_and(
                 [](const Plan& plan) {
                     return plan.value_dim >= 2 * plan.rotary_pairs() && !plan.fused() &&
                            plan.past_len == 0;
                 },
                 "the values have fewer features than turn, or a past that has turned"),
             with_ledger({"context"},
                         [](Ledger& ledger, const Plan& plan) {
                             const std::string prefix = plan.has_memory ? "memory_" : "";
                             with_floating(plan.compute_dtype, [&](auto zero) {
                                 using T = decltype(zero);
                                 const Tensor value = ledger.latest(Chain::values);
                                 replace_latest(
                                     ledger, Chain::values,
                                     {value.axes(),
                                      loop::rotate(value.as<T>(), ledger[prefix + "cos"].as<T>(),
                                                   ledger[prefix + "sin"].as<T>(),
                                                   *plan.config.rotary.pairing)});
                             });
                         }),
             {{"context",
               [](const StepLines& of, const std::string&) {
                   const Step& key = find_step(of.table, "rotated_key");
                   const std::string value = of.latest(Chain::values);
                   std::string lines = key.code({{of.plan, of.table, key}, of.language});
                   const std::string before =
                       PlannedStep{of.plan, of.table, key}.latest(Chain::keys);
                   lines =
                       std::regex_replace(lines, std::regex("\\brotated_key\\b"), "rotated_value");
                   lines = std::regex_replace(lines, std::regex("\\b" + before + "\\b"), value);
                   return lines + "\ncontext = weights @ rotated_value";
               },
               formula("context = weights @ rotated value")}}},
            {"rope-sign", "rotated_query", "Query and key were turned the other way round",
             "each token's score with itself is right; the order of the tokens is read backwards",
             "q * cos + rotate_half(q) * sin  # rotate_half(x) = (-x2, x1)",
             "first * cos - second * sin, second * cos + first * sin",
             "Turning by minus the angle exchanges before and after.", "", needs_rope(),
             turned_by(turned_steps,
                       [](const Plan& plan, const Array<std::int64_t>& positions) {
                           OtherAngles other{positions, 2 * plan.rotary_pairs()};
                           for (std::int64_t& position : other.positions) position = -position;
                           return other;
                       }),
             for_each_turned(turned_steps, moved_lines("-POSITIONS"), "positions negated")},
            {"rope-offset-q", "rotated_query", "The query was turned as if it stood at position 0",
             "every score is that of another distance",
             "q = rotate(q, past_length + torch.arange(T))",
             "q = rotate(q, past_length + np.arange(T))",
             "With a cache the new token stands behind it: its position is not its row.", "", late,
             turned_by({"rotated_query"}, moved(-1, 0)),
             for_each_turned({"rotated_query"}, moved_lines("POSITIONS - POSITIONS[0]"),
                             "positions from 0")},
            {"rope-offset-drift", "rotated_query", "The query was turned one position too far",
             "every score is that of a distance larger by one", "positions = torch.arange(T)",
             "positions = np.arange(T)",
             "Count the cached tokens once: a distance of 0 belongs to the token itself.", "",
             needs_rope(), turned_by({"rotated_query"}, moved(0, 1)),
             for_each_turned({"rotated_query"}, moved_lines("POSITIONS + 1"), "positions + 1")},
            {"rope-partial-ignored", "rotated_query",
             "All features turned, not the first ones alone",
             "features that should stay differ from those of query and key",
             "q[..., :rotary_dim] = rotate(q[..., :rotary_dim])",
             "q[..., :rotary_dim] = rotate(q[..., :rotary_dim])",
             "partial_rotary_factor (or rotary_dim) says how many features tell positions.", "",
             first_of({rope_and(is_partial, "all features turn here"),
                       unless([](const Plan& plan) { return plan.head_dim % 2 == 0; },
                              "a head of odd width does not turn as a whole")}),
             all_of({turned_by(turned_steps,
                               [](const Plan& plan, const Array<std::int64_t>& positions) {
                                   return OtherAngles{positions, plan.head_dim};
                               }),
                     written_with_plan(turned_steps, turn_all)}),
             for_each_turned(
                 turned_steps,
                 [](const StepLines& of, const std::string& right) {
                     Plan plan = of.plan;
                     turn_all(plan);
                     const Step& step = find_step(of.table, "inverse_frequencies");
                     const std::string frequencies =
                         step.code({{plan, of.table, step}, of.language});
                     return std::regex_replace(frequencies, std::regex("inverse_frequencies"),
                                               "all_frequencies") +
                            "\n" +
                            std::regex_replace(moved_lines("POSITIONS")(of, right),
                                               std::regex("inverse_frequencies"),
                                               "all_frequencies");
                 },
                 "all features turn")},
            {"rope-permute-missing", "rotated_query",
             "Query and key were rearranged for the other pairing, which is not used",
             "each token's score with itself is right, the others are not",
             "w_query = permute(w_query)  # once, when Meta's files become Hugging Face's",
             "w_query = permute(w_query)  # once, when the file is converted",
             "Rearranging the rows of a checkpoint and choosing the pairing go together.",
             "the other pairs", two_pairs(), rearranged_before(),
             for_each_turned(turned_steps, even_ones_first_lines("before"), "even features first")},
            {"rope-partial-pairing", "rotated_query",
             "Partners were half a head apart, not half of what turns",
             "features turn that should stay, and others stay that should turn",
             "first, second = q[..., :r // 2], q[..., r // 2:r]",
             "first, second = q[..., :r // 2], q[..., r // 2:r]",
             "With a partial rotation the halves are those of the part that turns.", "",
             first_of({rope_and(is_partial, "all features turn here"),
                       unless(
                           [](const Plan& plan) {
                               return plan.config.rotary.pairing == Pairing::half &&
                                      plan.head_dim % 2 == 0;
                           },
                           "the pairs are neighbours, or the head has an odd width")}),
             all_of({replace_step({"rotated_query"}, partners_half_a_head_apart("rotated_query")),
                     replace_step({"rotated_key"}, partners_half_a_head_apart("rotated_key"))}),
             for_each_turned(turned_steps, half_a_head_lines(), "partners half a head apart")},
        });
}

void add_harmless_rotations(std::vector<Mistake>& list) {
    const NotApplicable not_cached = unless([](const Plan& plan) { return plan.past_len == 0; },
                                            "the keys of the cache stay as they are");
    const auto shifted = [not_cached](const char* id, const char* title,
                                      NotApplicable not_applicable, std::int64_t by,
                                      std::int64_t more, const char* moved_to) {
        return Mistake{id,
                       "rotated_query",
                       title,
                       "query and key turn alike: no score changes, until they meet others",
                       "positions = past_length + torch.arange(T)",
                       "positions = past_length + np.arange(T)",
                       "Scores depend on distances alone; a cache needs one count for all.",
                       "",
                       first_of({not_cached, std::move(not_applicable)}),
                       turned_by(turned_steps, moved(by, more)),
                       for_each_turned(turned_steps, moved_lines(moved_to), "other positions")};
    };
    add(list,
        {
            shifted("positions-plus-one", "All positions were counted from 1, not from 0",
                    needs_rope(), 0, 1, "POSITIONS + 1"),
            shifted("rope-offset-both", "All positions were counted from 0 again",
                    first_of({rope_and(starts_late,
                                       "the first token stands at position 0: pass --positions"),
                              unless(starts_alike,
                                     "query and memory do not begin at the same position")}),
                    -1, 0, "POSITIONS - POSITIONS[0]"),
            {"rope-concat-output", "rotated_query",
             "Interleaved pairs were turned and put down as two halves",
             "query and key are permuted alike: the scores are right until they meet others",
             "rotated = torch.stack((even, odd), dim=-1).flatten(-2)",
             "rotated = np.stack((even, odd), axis=-1).reshape(q.shape)",
             "A permutation of both sides cancels in their product, and breaks a shared cache.", "",
             first_of({not_cached, two_pairs(),
                       unless(norms_first_or_alike, "the gains behind it meet other features"),
                       unless(
                           [](const Plan& plan) {
                               return plan.config.rotary.pairing == Pairing::interleaved;
                           },
                           "the pairs are halves already")}),
             replace_step(turned_steps,
                          [](const Plan& plan, const Ledger& ledger, const Compute& before) {
                              return even_ones_first(before(plan, ledger), plan);
                          }),
             for_each_turned(turned_steps, even_ones_first_lines(""), "even features first")},
        });
}

}  // namespace attn
