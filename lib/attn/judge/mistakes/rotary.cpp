#include <algorithm>

#include "attn/core/plan/projected.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {

std::string of_pairs(const Plan& plan, const std::string& rule, std::size_t first,
                     std::size_t pairs) {
    const bool half = plan.config.rotary.pairing == Pairing::half;
    const std::string count = std::to_string(pairs), start = std::to_string(first);
    const std::string place = first == 0 ? "f" : "(f - " + start + ")";
    const std::string in_halves = "(" + place + " % " + count + ")";
    const std::string in_pairs = "floor(" + place + " / 2)";
    return filled(rule, {{"is_first", place + (half ? " < " + count : " % 2 == 0")},
                         {"pairs", count},
                         {"pair", half ? in_halves : in_pairs},
                         {"other", half ? in_pairs : in_halves},
                         {"apart", half ? count : "1"},
                         {"place", place},
                         {"first", start},
                         {"end", std::to_string(first + 2 * pairs)}});
}

TableEdit rotations_follow(const std::string& rule) {
    return for_each_step(rotated_steps, [=](const std::string& step) {
        return follows([=](const Plan& plan) {
            const bool is_query = step == "rotated_query";
            const std::size_t width = projected_of(is_query ? 'q' : 'k').width(plan);
            const std::string text = filled(rule, {{"step", step},
                                                   {"chain", is_query ? "queries" : "keys"},
                                                   {"sin", angle_prefix(plan, step) + "sin"}});
            return of_pairs(plan, text, plan.first_rotated(width), plan.rotary_pairs());
        });
    });
}

std::string rotation_rule(const Plan& plan, const std::string& left, const std::string& right,
                          std::size_t first, std::size_t pairs, const std::string& angle) {
    const double factor = plan.rotary_factor();
    const char* const rule =
        "{left}] = if f < {first} or f >= {end} then {x}] else if {is_first} then {x}] * "
        "cos({by}){more} - {x} + {apart}] * sin({by}){more} else {x}] * cos({by}){more} + {x} - "
        "{apart}] * sin({by}){more}";
    return of_pairs(plan,
                    filled(rule, {{"left", left},
                                  {"x", right},
                                  {"by", angle},
                                  {"more", factor == 1 ? "" : " * " + json_number(factor)}}),
                    first, pairs);
}

namespace {

/// The named rotations rotate by the angles of other positions: `{p}[t]` is the right one.
TableEdit moved(const std::vector<std::string>& steps, const Text& to) {
    std::vector<TableEdit> edits;
    for (const std::string& step : steps) {
        for (const std::string function : {"cos", "sin"}) {
            const auto name = [=](const Plan& plan) { return angle_prefix(plan, step) + function; };
            edits.push_back(reads({step}, name, [=](const Plan& plan) {
                const std::string positions = angle_prefix(plan, step) + "positions";
                const double factor = plan.rotary_factor();
                return name(plan) + "[t,i] = " + function + "((" +
                       filled(to(plan), {{"p", positions}}) + ") * inverse_frequencies[i])" +
                       (factor == 1 ? "" : " * " + json_number(factor));
            }));
        }
    }
    return all_of(edits);
}

/// Query and key rotate by another angle.
TableEdit turned_by(const Text& angle, bool all_features) {
    return for_each_step(rotated_steps, [=](const std::string& step) {
        return follows([=](const Plan& plan) {
            const bool is_query = step == "rotated_query";
            const std::size_t width = projected_of(is_query ? 'q' : 'k').width(plan);
            const std::string letters = angle(plan).starts_with("h") ? "[h,t,f" : "[t,f";
            return rotation_rule(
                plan, step + letters, (is_query ? "queries" : "keys") + letters,
                all_features ? 0 : plan.first_rotated(width),
                all_features ? width / 2 : plan.rotary_pairs(),
                filled(angle(plan), {{"p", angle_prefix(plan, step) + "positions"}}));
        });
    });
}

const Need starts_late{[](const Plan& plan) { return plan.config.positions[0] != 0; },
                       "the first token stands at position 0: pass $positions"};
const Fix from_past("positions = past_length + torch.arange(T)");

/// Query and key counted from another position: harmless by itself, and a mistake beside keys of a
/// cache that were counted otherwise.
void moved_together(std::vector<Mistake>& list, const char* id, const char* title, bool harmless,
                    Need possible, const char* positions) {
    entry(list, id, "rotated_query", title,
          harmless ? "query and key rotate alike: no score changes, until they meet others"
                   : "scores among the new tokens are right, those with cached keys are not",
          from_past, "Scores depend on distances alone; a cache needs one count for all.",
          {needs_rope,
           {[harmless](const Plan& plan) { return harmless == (plan.past_len == 0); },
            harmless ? "the keys of the past have rotated already"
                     : "there are no earlier keys: pass $past"},
           possible},
          moved(rotated_steps, positions));
}

/// The ways to count all tokens from another position.
void all_moved_together(std::vector<Mistake>& list, bool harmless) {
    const Need alike{[](const Plan& plan) {
                         return !plan.has_memory ||
                                plan.config.positions[0] == plan.config.memory_positions[0];
                     },
                     "query and memory do not begin at the same position"};
    moved_together(list, harmless ? "positions-from-zero" : "rope-offset-both",
                   "All positions were counted from 0 again", harmless, {starts_late, alike},
                   "{p}[t] - {p}[0]");
    moved_together(list, harmless ? "positions-plus-one" : "rope-offset-drift=both",
                   "All positions were counted one too far", harmless, {}, "{p}[t] + 1");
    if (harmless) return;
    moved_together(list, "rope-offset-drift=twice", "The earlier tokens were counted twice", false,
                   {[](const Plan& plan) { return plan.past_len != 1; },
                    "one earlier token is the same as one too far"},
                   "{p}[t] + P");
}

/// The sines of a step with the other sign.
TableEdit turned_back(const std::string& step) {
    const auto sin = [step](const Plan& plan) { return angle_prefix(plan, step) + "sin"; };
    return reads({step}, sin,
                 [sin](const Plan& plan) { return sin(plan) + "[t,i] = -" + sin(plan) + "[t,i]"; });
}

/// Keys of the past rotate once more.
std::string rotated_again(const Plan& plan) {
    const std::string cell = "present_key[k,f";
    const std::string all = rotation_rule(
        plan, cell, cell, plan.first_rotated(projected_of('k').width(plan)), plan.rotary_pairs(),
        "((positions[0] - P + k) * inverse_frequencies[{pair}])");
    const std::string start = cell + "] = ";
    return start + "if k >= P then " + cell + "] else " + all.substr(start.size());
}

}  // namespace

void rotated_too_far(std::vector<Mistake>& list, double, const std::string& word) {
    entry(list, "rope-offset=" + word, "rotated_query",
          "The query was rotated " + word + " positions too far",
          "every score is that of another distance", from_past,
          "Count the cached tokens once: a distance of 0 belongs to the token itself.", needs_rope,
          moved({"rotated_query"}, "{p}[t] + " + word));
}

void add_rotary_mistakes(std::vector<Mistake>& list) {
    const Fix call("q, k = apply_rotary_pos_emb(q, k, cos, sin)",
                   "q, k = rotate(q, cos, sin), rotate(k, cos, sin)");
    const Need partial{needs_rope, {is_partial, "all features rotate here"}};
    const auto several_tokens = [](const Plan& plan) {
        return plan.query_len > 1 && !plan.has_memory;
    };
    entry(list, "rope-q-only", "rotated_key", "Only the query was rotated",
          "scores depend on where the query stands, not on the distance to the key", call,
          "A rotation tells distances only when both sides rotate.", needs_rope,
          left_out({"rotated_key"}));
    entry(list, "rope-k-only", "rotated_query", "Only the key was rotated",
          "scores depend on where the key stands, not on the distance to the query", call,
          "A rotation tells distances only when both sides rotate.", needs_rope,
          left_out({"rotated_query"}));
    entry(list, "rope-missing", "rotated_query", "Neither query nor key was rotated",
          "scores are those without positions: equal tokens have equal rows", call,
          "Without positions attention sees a bag of tokens.", needs_rope, left_out(rotated_steps));
    add_rotated_value_mistakes(list);
    entry(list, "rope-sign", "rotated_query", "Query and key were rotated the other way round",
          "each token's score with itself is right; the order of the tokens is read backwards",
          Fix("q * cos + rotate_half(q) * sin  # rotate_half(x) = (-x2, x1)",
              "first * cos - second * sin, second * cos + first * sin"),
          "Rotating by minus the angle exchanges before and after.", needs_rope,
          for_each_step(rotated_steps, turned_back));
    entry(list, "rope-rotate-half-sign", "rotated_query", "rotate_half has no minus",
          "the first feature of each pair is added to where it should be taken off",
          "rotate_half(x) = torch.cat((-x2, x1), dim=-1)",
          "A rotation adds once and takes off once: (x1 c - x2 s, x2 c + x1 s).", needs_rope,
          rotations_follow(
              "{step}[t,f] = if f >= {first} and {place} < 2 * {pairs} and {is_first} then "
              "{step}[t,f] + 2 * {chain}[t, f + {apart}] * {sin}[t, {pair}] else {step}[t,f]"));
    entry(list, "rope-offset-q", "rotated_query",
          "The query was rotated as if it stood at position 0",
          "every score is that of another distance", "q = rotate(q, past_length + torch.arange(T))",
          "With a cache the new token stands after it: its position is not its row.",
          {needs_rope, starts_late}, moved({"rotated_query"}, "{p}[t] - {p}[0]"));
    entry(list, "rope-offset-drift", "rotated_query", "The query was rotated one position too far",
          "every score is that of a distance larger by one", from_past,
          "Count the cached tokens once: a distance of 0 belongs to the token itself.", needs_rope,
          moved({"rotated_query"}, "{p}[t] + 1"));
    entry(list, "rope-partial-ignored", "rotated_query",
          "All features rotated, not the first ones alone",
          "features that should stay differ from those of query and key",
          "q[..., :rotary_dim] = rotate(q[..., :rotary_dim])",
          "partial_rotary_factor (or rotary_dim) says how many features tell positions.",
          {partial,
           {[](const Plan& plan) { return plan.head_dim % 2 == 0; },
            "a head of odd width does not rotate as a whole"}},
          turned_by("{p}[t] * (1 / {base} ^ (2 * {pair} / D))", true));
    entry(list, "rope-table", "rotated_query",
          "Cosines and sines were laid out for the other pairing",
          "the two features of a pair rotate by two angles",
          Fix("emb = torch.cat((angles, angles), dim=-1)  # neighbours: "
              "angles.repeat_interleave(2, -1)",
              "emb = np.concatenate((angles, angles), axis=-1)  # neighbours: np.repeat(angles, 2, "
              "-1)"),
          "Halves need the angles one after the other, neighbours each angle twice.", needs_pairs,
          turned_by("{p}[t] * inverse_frequencies[{other}]", false));
    entry(list, "rope-cache", "present_key", "Cached keys were rotated again",
          "scores with cached keys are those of other distances, those among new tokens are right",
          "key = torch.cat([past_key, rotate(key)], dim=-2)  # the past has rotated",
          "Rotate a key once: before it is cached, or each time all of them.",
          {needs_rope,
           with_step("past_key", "there is no cache: pass $past"),
           {[](const Plan& plan) { return plan.config.positions[0] != 1; },
            "the one earlier token stands at position 0"}},
          follows(rotated_again));
    entry(
        list, "rope-wrong-axis", "rotated_query", "Heads were counted in the place of tokens",
        "all tokens of a head rotate alike: the scores know no positions",
        Fix("cos[None, :, None, :]  # beside (B, T, H, D), or cos[None, None] beside (B, H, T, D)",
            "cos[:, None, :]  # beside (B, T, H, D), or cos beside (B, H, T, D)"),
        "Say which axis holds the tokens: shape[1] is the heads once they were moved in front.",
        {needs_rope,
         {[](const Plan& plan) { return plan.has_head && plan.heads > 1; }, "there is one head"}},
        turned_by("h * inverse_frequencies[{pair}]", false), "positions that cancel");
    entry(
        list, "streaming-positions=sinks", "rotated_query",
        "Positions were not counted anew when tokens were evicted",
        "distances to recent keys are right, those to the first keys too large",
        Fix("position_ids = torch.arange(cache_length)  # places in the cache",
            "positions = np.arange(cache_length)  # places in the cache"),
        "StreamingLLM keeps the first tokens and counts within the cache, not in the text; $bug takes four first tokens and one that was evicted."_told,
        {needs_rope,
         {several_tokens, "there are no tokens after the first"},
         {[](const Plan& plan) { return plan.past_len == 0; },
          "the first tokens are in the past, which has rotated"}},
        moved(rotated_steps, [](const Plan& plan) {
            // As many as StreamingLLM never evicts, or as there are but one.
            const std::size_t kept = std::min<std::size_t>(4, plan.query_len - 1);
            return "{p}[t] + (if t >= " + std::to_string(kept) + " then 1 else 0)";
        }));
    entry(list, "streaming-positions=new-key", "rotated_key",
          "The newest key was rotated for its place in the text, not in the cache",
          "the column of the newest key has other scores",
          "key = rotate(key, torch.arange(cache_length))  # after the eviction",
          "When a token is evicted, all after it move up: keys rotate by their new places.",
          {needs_rope, {several_tokens, "there is no newest of several keys"}},
          moved({"rotated_key"}, "{p}[t] + (if t == Tq - 1 then 1 else 0)"));
    all_moved_together(list, false);
}

void add_harmless_rotations(std::vector<Mistake>& list) { all_moved_together(list, true); }

}  // namespace attn
