#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <regex>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/rotation.hpp"
#include "attn/plan/projected.hpp"
#include "attn/steps/rotary.hpp"
#include "attn/text/told.hpp"

namespace attn {

namespace {

/// Positions, and the frequencies that they are multiplied with.
struct OtherAngles {
    Array<std::int64_t> positions;
    std::size_t width;
};
using Angles = std::function<OtherAngles(const Plan&, const Array<std::int64_t>& positions)>;

/// The named rotations rotate by the angles of other positions, or of another width.
TableEdit rotated_by(const std::vector<std::string>& steps, const Angles& angles) {
    return for_each_step(steps, [&](const std::string& step) {
        return with_ledger({step}, [step, angles](Ledger& ledger, const Plan& of) {
            const std::string prefix = angle_prefix(of, step);
            const OtherAngles other = angles(of, ledger[prefix + "positions"].as<std::int64_t>());
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
        });
    });
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

/// The lines of a rotation by other angles.
Lines lines_with_angles(std::function<std::string(const StepLines&)> angles) {
    return [angles = std::move(angles)](const StepLines& of, const std::string& right) {
        const std::string name = angle_prefix(of.plan, of.step.name) + "moved_angles";
        const double factor = of.plan.rotary_factor();
        const auto rotated = [&](const std::string& text, const std::string& function) {
            const std::string value = of.module() + "." + function + "(" + name + ")";
            return std::regex_replace(
                text, std::regex("\\b(memory_)?" + function + "\\b(?!\\()"),
                factor == 1 ? value : fmt::format("({} * {})", value, factor));
        };
        return name + " = " + angles(of) + " * inverse_frequencies\n" +
               rotated(rotated(right, "cos"), "sin");
    };
}

/// The lines of a rotation by other positions.
Lines moved_lines(const std::string& shift) {
    return lines_with_angles([shift](const StepLines& of) {
        const std::string positions = angle_prefix(of.plan, of.step.name) + "positions";
        const std::string moved = std::regex_replace(shift, std::regex("POSITIONS"), positions);
        return "(" + std::regex_replace(moved, std::regex("MODULE"), of.module()) + ")[:, None]";
    });
}

/// Rotates every token of a head by the number of the head.
TableEdit rotated_by_head() {
    return for_each_step(rotated_steps, [](const std::string& step) {
        return replace_step(
            {step}, [step](const Plan& of, const Ledger& ledger, const Compute&) -> Tensor {
                const Tensor& before = ledger.latest(chain_of(step), step);
                const std::size_t axes = before.dimension();
                const Tensor tokens_first = exchanged(before, axes - 3, axes - 2);
                return with_floating(of.compute_dtype, [&](auto zero) -> Tensor {
                    using T = decltype(zero);
                    Array<std::int64_t> heads =
                        empty_array<std::int64_t>({before.shape()[axes - 3]});
                    std::iota(heads.begin(), heads.end(), 0);
                    const Array<T> angles =
                        loop::angles(heads, ledger["inverse_frequencies"].as<T>());
                    const double factor = of.rotary_factor();
                    const Tensor rotated(
                        before.axes(),
                        loop::rotate(tokens_first.as<T>(), loop::cosines(angles, factor),
                                     loop::sines(angles, factor), *of.config.rotary.pairing,
                                     of.first_rotated(before.shape().back())));
                    return exchanged(rotated, axes - 3, axes - 2);
                });
            });
    });
}

/// The first of each pair as under negated angles, the second one as it is.
Tensor without_minus(const Plan& plan, const Ledger& ledger, const Compute& before) {
    Ledger negated = ledger;
    for (const char* sin : {"sin", "memory_sin"}) {
        const Tensor* sines = ledger.find(sin);
        if (sines) negated.record(sin, mapped(*sines, [](auto sine) { return -sine; }));
    }
    const Grid firsts = grid_of(before(plan, negated));
    const Tensor right = before(plan, ledger);
    Grid wrong = grid_of(right);
    const std::size_t start = plan.first_rotated(wrong.columns);
    for (std::size_t pair = 0; pair < plan.rotary_pairs(); ++pair) {
        const std::size_t first =
            start + feature_pair(*plan.config.rotary.pairing, pair, 2 * plan.rotary_pairs()).first;
        for (std::size_t i = first; i < wrong.cells.size(); i += wrong.columns) {
            wrong.cells[i] = firsts.cells[i];
        }
    }
    return tensor_of(wrong, right.axes(), right.dtype());
}

/// The tokens that StreamingLLM never evicts, or as many as there are but one.
std::size_t kept_tokens(const Plan& plan) { return std::min<std::size_t>(4, plan.query_len - 1); }

bool starts_late(const Plan& plan) { return plan.config.positions[0] != 0; }
bool starts_alike(const Plan& plan) {
    return !plan.has_memory || plan.config.positions[0] == plan.config.memory_positions[0];
}

void rotate_all(Plan& plan) { plan.config.rotary.dim = static_cast<std::int64_t>(plan.head_dim); }

/// Query and key counted from another position: harmless by itself, and a mistake beside keys of a
/// cache that were counted otherwise.
Mistake moved_together(std::string id, std::string title, bool harmless, NotApplicable possible,
                       std::function<std::int64_t(const Plan&)> shift) {
    const auto moved_lines_of = [shift](const StepLines& of, const std::string& right) {
        return moved_lines("POSITIONS + " + std::to_string(shift(of.plan)))(of, right);
    };
    return {
        std::move(id),
        "rotated_query",
        std::move(title),
        harmless ? "query and key rotate alike: no score changes, until they meet others"
                 : "scores among the new tokens are right, those with cached keys are not",
        "positions = past_length + torch.arange(T)",
        "positions = past_length + np.arange(T)",
        "Scores depend on distances alone; a cache needs one count for all.",
        "",
        first_of({needs_rope(),
                  unless([harmless](const Plan& plan) { return harmless == (plan.past_len == 0); },
                         harmless ? "the keys of the past have rotated already"
                                  : "there are no earlier keys: pass $past"_told),
                  std::move(possible)}),
        rotated_by(rotated_steps,
                   [shift](const Plan& plan, const Array<std::int64_t>& positions) {
                       OtherAngles other{positions, 2 * plan.rotary_pairs()};
                       for (std::int64_t& position : other.positions) position += shift(plan);
                       return other;
                   }),
        lines_of_each(rotated_steps, moved_lines_of, "other positions")};
}

/// The three ways to count all tokens from another position.
std::vector<Mistake> all_moved_together(bool harmless) {
    const auto always = [](const Plan&) { return std::string(); };
    const NotApplicable late =
        first_of({unless(starts_late, "the first token stands at position 0: pass $positions"_told),
                  unless(starts_alike, "query and memory do not begin at the same position")});
    std::vector<Mistake> list;
    list.push_back(moved_together(harmless ? "positions-from-zero" : "rope-offset-both",
                                  "All positions were counted from 0 again", harmless, late,
                                  [](const Plan& plan) { return -plan.config.positions[0]; }));
    list.push_back(moved_together(harmless ? "positions-plus-one" : "rope-offset-drift=both",
                                  "All positions were counted one too far", harmless, always,
                                  [](const Plan&) { return 1; }));
    if (harmless) return list;
    list.push_back(
        moved_together("rope-offset-drift=twice", "The earlier tokens were counted twice", false,
                       unless([](const Plan& plan) { return plan.past_len != 1; },
                              "one earlier token is the same as one too far"),
                       [](const Plan& plan) { return static_cast<std::int64_t>(plan.past_len); }));
    return list;
}

}  // namespace

Mistake rotated_too_far(double tokens, const std::string& word) {
    return {"rope-offset=" + word,
            "rotated_query",
            "The query was rotated " + word + " positions too far",
            "every score is that of another distance",
            "positions = past_length + torch.arange(T)",
            "positions = past_length + np.arange(T)",
            "Count the cached tokens once: a distance of 0 belongs to the token itself.",
            "",
            needs_rope(),
            rotated_by({"rotated_query"}, moved(0, static_cast<std::int64_t>(tokens))),
            lines_of_each({"rotated_query"}, moved_lines("POSITIONS + " + word),
                          "positions + " + word)};
}

void add_rotary_mistakes(std::vector<Mistake>& list) {
    const std::string call = "q, k = apply_rotary_pos_emb(q, k, cos, sin)";
    const std::string numpy_call = "q, k = rotate(q, cos, sin), rotate(k, cos, sin)";
    const NotApplicable late =
        rope_and(starts_late, "the first token stands at position 0: pass $positions"_told);
    add(list, {
                  {"rope-q-only", "rotated_key", "Only the query was rotated",
                   "scores depend on where the query stands, not on the distance to the key", call,
                   numpy_call, "A rotation tells distances only when both sides rotate.", "",
                   needs_rope(), left_out({"rotated_key"}), left_out_lines({"rotated_key"})},
                  {"rope-k-only", "rotated_query", "Only the key was rotated",
                   "scores depend on where the key stands, not on the distance to the query", call,
                   numpy_call, "A rotation tells distances only when both sides rotate.", "",
                   needs_rope(), left_out({"rotated_query"}), left_out_lines({"rotated_query"})},
                  {"rope-missing", "rotated_query", "Neither query nor key was rotated",
                   "scores are those without positions: equal tokens have equal rows", call,
                   numpy_call, "Without positions attention sees a bag of tokens.", "",
                   needs_rope(), left_out(rotated_steps), left_out_lines(rotated_steps)},
              });
    add_rotated_value_mistakes(list);
    add(list,
        {
            {"rope-sign", "rotated_query", "Query and key were rotated the other way round",
             "each token's score with itself is right; the order of the tokens is read backwards",
             "q * cos + rotate_half(q) * sin  # rotate_half(x) = (-x2, x1)",
             "first * cos - second * sin, second * cos + first * sin",
             "Rotating by minus the angle exchanges before and after.", "", needs_rope(),
             rotated_by(rotated_steps,
                        [](const Plan& plan, const Array<std::int64_t>& positions) {
                            OtherAngles other{positions, 2 * plan.rotary_pairs()};
                            for (std::int64_t& position : other.positions) position = -position;
                            return other;
                        }),
             lines_of_each(rotated_steps, moved_lines("-POSITIONS"), "positions negated")},
            {"rope-rotate-half-sign", "rotated_query", "rotate_half has no minus",
             "the first feature of each pair is added to where it should be taken off",
             "rotate_half(x) = torch.cat((-x2, x1), dim=-1)",
             "rotate_half(x) = np.concatenate((-x2, x1), axis=-1)",
             "A rotation adds once and takes off once: (x1 c - x2 s, x2 c + x1 s).", "",
             needs_rope(), replace_step(rotated_steps, without_minus),
             lines_of_each(rotated_steps, replaced("cos - second", "cos + second"), "no minus")},
            {"rope-offset-q", "rotated_query", "The query was rotated as if it stood at position 0",
             "every score is that of another distance",
             "q = rotate(q, past_length + torch.arange(T))",
             "q = rotate(q, past_length + np.arange(T))",
             "With a cache the new token stands behind it: its position is not its row.", "", late,
             rotated_by({"rotated_query"}, moved(-1, 0)),
             lines_of_each({"rotated_query"}, moved_lines("POSITIONS - POSITIONS[0]"),
                           "positions from 0")},
            {"rope-offset-drift", "rotated_query", "The query was rotated one position too far",
             "every score is that of a distance larger by one", "positions = torch.arange(T)",
             "positions = np.arange(T)",
             "Count the cached tokens once: a distance of 0 belongs to the token itself.", "",
             needs_rope(), rotated_by({"rotated_query"}, moved(0, 1)),
             lines_of_each({"rotated_query"}, moved_lines("POSITIONS + 1"), "positions + 1")},
            {"rope-partial-ignored", "rotated_query",
             "All features rotated, not the first ones alone",
             "features that should stay differ from those of query and key",
             "q[..., :rotary_dim] = rotate(q[..., :rotary_dim])",
             "q[..., :rotary_dim] = rotate(q[..., :rotary_dim])",
             "partial_rotary_factor (or rotary_dim) says how many features tell positions.", "",
             first_of({rope_and(is_partial, "all features rotate here"),
                       unless([](const Plan& plan) { return plan.head_dim % 2 == 0; },
                              "a head of odd width does not rotate as a whole")}),
             all_of({rotated_by(rotated_steps,
                                [](const Plan& plan, const Array<std::int64_t>& positions) {
                                    return OtherAngles{positions, plan.head_dim};
                                }),
                     written_with_plan(rotated_steps, rotate_all)}),
             lines_of_each(
                 rotated_steps,
                 [](const StepLines& of, const std::string& right) {
                     Plan plan = of.plan;
                     rotate_all(plan);
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
                 "all features rotate")},
            {"rope-wrong-axis", "rotated_query", "Heads were counted in the place of tokens",
             "all tokens of a head rotate alike: the scores know no positions",
             "cos[None, :, None, :]  # beside (B, T, H, D), or cos[None, None] beside (B, H, T, D)",
             "cos[:, None, :]  # beside (B, T, H, D), or cos beside (B, H, T, D)",
             "Say which axis holds the tokens: shape[1] is the heads once they were moved in "
             "front.",
             "positions that cancel",
             rope_and([](const Plan& plan) { return plan.has_head && plan.heads > 1; },
                      "there is one head"),
             rotated_by_head(),
             lines_of_each(rotated_steps, lines_with_angles([](const StepLines& of) {
                               const bool query = of.step.name == "rotated_query";
                               return of.module() + ".arange(" +
                                      std::to_string(query ? of.plan.heads : of.plan.kv_heads) +
                                      ")[:, None, None]";
                           }),
                           "by the number of the head")},
            {"streaming-positions=sinks", "rotated_query",
             "Positions were not counted anew when tokens were evicted",
             "distances to recent keys are right, those to the first keys too large",
             "position_ids = torch.arange(cache_length)  # places in the cache",
             "positions = np.arange(cache_length)  # places in the cache",
             "StreamingLLM keeps the first tokens and counts within the cache, not in the text; "
             "$bug takes four first tokens and one that was evicted."_told,
             "",
             first_of(
                 {rope_and([](const Plan& plan) { return plan.query_len > 1 && !plan.has_memory; },
                           "there are no tokens behind the first"),
                  unless([](const Plan& plan) { return plan.past_len == 0; },
                         "the first tokens are in the past, which has rotated")}),
             rotated_by(rotated_steps,
                        [](const Plan& plan, const Array<std::int64_t>& positions) {
                            OtherAngles other{positions, 2 * plan.rotary_pairs()};
                            for (std::size_t t = kept_tokens(plan); t < positions.size(); ++t) {
                                ++other.positions(t);
                            }
                            return other;
                        }),
             lines_of_each(
                 rotated_steps,
                 [](const StepLines& of, const std::string& right) {
                     return moved_lines(
                         "POSITIONS + (MODULE.arange(" + std::to_string(of.plan.query_len) +
                         ") >= " + std::to_string(kept_tokens(of.plan)) + ")")(of, right);
                 },
                 "later tokens one position on")},
            {"streaming-positions=new-key", "rotated_key",
             "The newest key was rotated for its place in the text, not in the cache",
             "the column of the newest key has other scores",
             "key = rotate(key, torch.arange(cache_length))  # after the eviction",
             "key = rotate(key, np.arange(cache_length))  # after the eviction",
             "When a token is evicted, all behind it move up: keys rotate by their new places.", "",
             rope_and([](const Plan& plan) { return plan.query_len > 1 && !plan.has_memory; },
                      "there is no newest of several keys"),
             rotated_by({"rotated_key"},
                        [](const Plan& plan, const Array<std::int64_t>& positions) {
                            OtherAngles other{positions, 2 * plan.rotary_pairs()};
                            ++other.positions(positions.size() - 1);
                            return other;
                        }),
             lines_of_each(
                 {"rotated_key"},
                 [](const StepLines& of, const std::string& right) {
                     const std::size_t tokens = of.plan.query_len;
                     return moved_lines("POSITIONS + (MODULE.arange(" + std::to_string(tokens) +
                                        ") == " + std::to_string(tokens - 1) + ")")(of, right);
                 },
                 "the newest one position on")},
        });
    std::ranges::move(all_moved_together(false), std::back_inserter(list));
}

void add_harmless_rotations(std::vector<Mistake>& list) {
    std::ranges::move(all_moved_together(true), std::back_inserter(list));
}

}  // namespace attn
