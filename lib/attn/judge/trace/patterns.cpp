#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "attn/core/settings/parse.hpp"
#include "attn/core/steps/position_bias.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/judge/trace/heads.hpp"

namespace attn {
namespace {

/// Asks if the parts of one projection are not in the usual order: query, key, value.
void ask_about_order(const Trace& trace, const Origins& origins, const Heads& heads,
                     Alignment& alignment) {
    struct Part {
        std::size_t result, channel;
        std::string role;
        const Operand* operand;
    };
    std::vector<Part> parts;
    for (const auto& [role, operand] :
         {std::pair{"query", &heads.query}, {"key", &heads.key}, {"value", &heads.value}}) {
        const Origin& origin = *operand->origin;
        if (origin.channel.empty()) return;
        parts.push_back({origin.result, std::ranges::min(origin.channel), role, operand});
    }
    std::erase_if(parts,
                  [last = parts.back().result](const Part& each) { return each.result != last; });
    if (std::ranges::is_sorted(parts, {}, &Part::channel)) return;
    std::ranges::sort(parts, {}, &Part::channel);
    std::vector<std::string> roles;
    for (const Part& each : parts) roles.push_back(each.role);
    // The line that splits it.
    const Operand& first = *parts.front().operand;
    const auto cut = origins.same_numbers(first.numbers.all, parts.front().result, first.place + 1);
    alignment.ask(trace[cut.value_or(parts.front().result)],
                  "the parts of this projection are used as " + joined(roles) +
                      ", in this order: is this intended?");
}

/// Asks about an output matrix that no line uses.
void ask_about_output(const Trace& trace, Alignment& alignment) {
    const auto is_output = [](const auto& each) { return each.second == "output"; };
    if (std::ranges::any_of(alignment.steps, is_output)) return;
    for (const Traced& each : trace) {
        constexpr std::string_view unused = "unused ";
        const bool is_unused = each.name.starts_with(unused);
        Traced named = each;
        if (is_unused) named.name.erase(0, unused.size());
        if (each.is_row || called(named) != "w_output") continue;
        // A module's matrix is traced when the module is called.
        bool is_used = !is_unused && each.name.ends_with(".weight");
        for (std::size_t i = 0; i < trace.size() && !is_used; ++i) {
            is_used = trace[i].line != each.line && has_name(trace[i].statement, each.name);
        }
        if (is_used) return;
        const auto is_last = [](const auto& step) {
            return step.second == "merged" || step.second == "context";
        };
        std::size_t last = 0;
        for (const auto& step : alignment.steps) {
            if (is_last(step)) last = std::max(last, alignment.places.at(step.first));
        }
        alignment.ask(trace[last], "the context is not multiplied by " + visible(named.name) +
                                       ": is this intended?");
        return;
    }
}

/// Asks about a tensor that is multiplied by the output matrix in place of the context.
void ask_about_merge(const Trace& trace, const Origins& origins, const Heads& heads,
                     Alignment& alignment) {
    constexpr std::size_t far_on = 40;
    const std::size_t end = std::min(trace.size(), *heads.core.context + far_on);
    const auto is_output_matrix = [](const Traced& w) {
        const bool is_named =
            w.name.find("out") != w.name.npos || w.name.find("proj") != w.name.npos;
        return !w.is_row && ((is_named && looks_like_parameter(w.name)) || called(w) == "w_output");
    };
    for (std::size_t i = *heads.core.context + 1; i < end; ++i) {
        for (std::size_t w = 0; w < i; ++w) {
            if (!is_output_matrix(trace[w])) continue;
            const std::optional<Origin> origin = origins.product_at(i, w);
            if (!origin || origin->w <= *heads.core.context) continue;
            alignment.ask(trace[origin->w],
                          "no step explains how the input of the output projection is computed "
                          "from the context: is this intended?");
            return;
        }
    }
}

/// Asks about a bias that one projection lacks, or that two projections share.
void ask_about_biases(const Trace& trace, const Heads& heads, Alignment& alignment) {
    const std::vector<std::pair<std::string, const Operand*>> roles{
        {"query", &heads.query}, {"key", &heads.key}, {"value", &heads.value}};
    std::map<std::size_t, std::string> used;
    for (const auto& [role, operand] : roles) {
        const Origin& origin = *operand->origin;
        const auto is_bias = [&](const Traced& each) {
            return each.is_row && called(each) == "b_" + role;
        };
        if (origin.b) {
            const auto [other, is_new] = used.try_emplace(*origin.b, role);
            const Origin& first = *(other->second == "query" ? heads.query : heads.key).origin;
            const bool is_shared = !is_new && trace[first.w].all != trace[origin.w].all &&
                                   trace[*origin.b].all.size() == origin.channel.size();
            if (!is_shared) continue;
            alignment.ask(trace[origin.result], other->second + " and " + role +
                                                    " have the same bias: is this intended?");
        } else if (std::ranges::any_of(trace, is_bias)) {
            alignment.ask(trace[origin.result],
                          "the bias of the " + role + " is not added: is this intended?");
        }
    }
}

/// Asks about heads that are not in the order of their channels in one role alone.
void ask_about_heads(const Trace& trace, const Heads& heads, Alignment& alignment) {
    const auto is_in_order = [](const Operand& role) {
        const std::vector<std::size_t>& channel = role.origin->channel;
        const std::size_t width = role.numbers.shape.back();
        for (std::size_t i = width; i < channel.size(); i += width) {
            if (channel[i] < channel[i - width]) return false;
        }
        return true;
    };
    if (is_in_order(heads.query) || !is_in_order(heads.key) || !is_in_order(heads.value)) return;
    alignment.ask(trace[heads.query.place],
                  "the heads of the query are in another order than its features: is this "
                  "intended?");
}

/// A projection of one attention, by the role of its result.
struct RoleProjection {
    std::string role;
    const Origin* origin;
    std::size_t place;  ///< of the result, as it is used
};
using Projections = std::vector<RoleProjection>;

bool has_all(const Origin& origin) {
    return origin.channel.empty() || origin.channel.size() == origin.channels;
}

/// Projections that share a matrix.
void ask_about_sharing(const Trace& trace, const Heads& heads, const Projections& all,
                       Alignment& alignment) {
    const auto is_same_tensor = [&](std::size_t i, std::size_t j) {
        const auto operand = [&](const std::string& role) {
            return role == "query" ? &heads.query : role == "key" ? &heads.key : &heads.value;
        };
        return all[i].role != "output" && all[j].role != "output" &&
               operand(all[i].role)->place == operand(all[j].role)->place;
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const Origin &one = *all[i].origin, &other = *all[j].origin;
            const bool is_shared =
                trace[one.w].all == trace[other.w].all && one.product.b == other.product.b &&
                (one.channel == other.channel || (has_all(one) && has_all(other)));
            if (!is_shared) continue;
            // A tensor with two roles is read twice by one product.
            std::size_t place = std::max(all[i].place, all[j].place);
            const bool is_value = all[i].role == "value" && heads.context;
            if (is_same_tensor(i, j)) place = is_value ? *heads.core.context : heads.core.scores;
            alignment.ask(trace[place], all[i].role + " and " + all[j].role +
                                            " come from the same matrix: is this intended?");
            return;
        }
    }
}

/// Asks about a square matrix that is used transposed, unlike the others.
void ask_about_layout(const Trace& trace, const Projections& all, Alignment& alignment) {
    std::map<bool, std::vector<const RoleProjection*>> by_layout;
    for (const RoleProjection& each : all) {
        const Traced& w = trace[each.origin->w];
        if (w.rank() != 2) return;
        const bool is_transposed = w.name.ends_with(".T") || w.name.ends_with(".t()");
        by_layout[(each.origin->product.b[0] < 0) != is_transposed].push_back(&each);
    }
    if (by_layout.size() < 2 || all.size() < 3) return;
    for (const auto& [layout, those] : by_layout) {
        const Shape& shape = trace[those[0]->origin->w].shape;
        if (those.size() > 1 || shape[0] != shape[1]) continue;
        alignment.ask(trace[those[0]->origin->result],
                      "the matrix of the " + those[0]->role +
                          " is used transposed, unlike the others: is this intended?");
        return;
    }
}

/// The features of each head in the order of their channels.
std::vector<std::size_t> order_of_features(const Operand& role) {
    const std::vector<std::size_t>& channel = role.origin->channel;
    std::vector<std::size_t> order(std::min(channel.size(), role.numbers.shape.back()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t f) { return channel[f]; });
    return order;
}

}  // namespace

void ask_about_roles(const Trace& trace, const Origins& origins, const Heads& heads, bool has_input,
                     const std::optional<Origin>& output, Alignment& alignment) {
    if (heads.context) ask_about_output(trace, alignment);
    if (heads.context && !output) ask_about_merge(trace, origins, heads, alignment);
    if (!has_input) return;
    ask_about_biases(trace, heads, alignment);
    ask_about_heads(trace, heads, alignment);
    ask_about_order(trace, origins, heads, alignment);
    Projections all{{"key", &*heads.key.origin, heads.key.place},
                    {"query", &*heads.query.origin, heads.query.place},
                    {"value", &*heads.value.origin, heads.value.place}};
    if (output) all.push_back({"output", &*output, output->result});
    ask_about_sharing(trace, heads, all, alignment);
    ask_about_layout(trace, all, alignment);
    if (order_of_features(heads.query) != order_of_features(heads.key)) {
        alignment.ask(trace[heads.key.place],
                      "the features of query and key are in different orders: is this intended?");
    }
}

void add_missing_biases(Ledger& given) {
    const auto has = [&](const char* name) { return given.has(name); };
    if (!has("b_query") && !has("b_key") && !has("b_value")) return;
    for (const std::string role : {"query", "key", "value"}) {
        if (given.has("b_" + role)) continue;
        const Tensor& w = given["w_" + role];
        const std::size_t channels = w.shape()[0];
        given.record("b_" + role,
                     Arranged{{channels}, std::vector<double>(channels), w.dtype()}.tensor());
    }
}

void ask_about_mask(const Trace& trace, const Heads& heads, const std::vector<double>& hidden,
                    std::size_t keys, Alignment& alignment) {
    const auto hides_all = [&](auto&& is_meant) {
        for (std::size_t i = 0; i < hidden.size(); ++i) {
            if (is_meant(i / keys % keys, i % keys) && hidden[i] == 0) return false;
        }
        return true;
    };
    const bool hides_itself = hides_all(std::equal_to<std::size_t>());
    if (!hides_itself && !hides_all(std::greater<std::size_t>())) return;
    const auto masked = std::ranges::find(heads.scores, "masked_scores", &ScoreStep::step);
    const std::size_t place = masked == heads.scores.end() ? heads.core.softmaxed : masked->place;
    alignment.ask(trace[place], hides_itself ? "no token sees itself: is this intended?"
                                             : "no token sees an earlier one: is this intended?");
}

std::optional<std::vector<double>> next_to_causal(const std::vector<double>& hidden,
                                                  std::size_t keys) {
    std::vector<double> padding(hidden.size(), 0);
    const auto is_causal_with = [&](bool turned, int shift) {
        bool hides = false;
        for (std::size_t i = 0; i < hidden.size(); ++i) {
            const auto query = static_cast<int>(i / keys % keys);
            const auto key = static_cast<int>(i % keys);
            const bool later = turned ? key + shift < query + 1 : key + shift > query;
            if (padding[i] == 0 && later != (hidden[i] != 0)) return false;
            hides = hides || (padding[i] == 0 && later);
        }
        return hides;
    };
    const auto is_nearly_causal = [&] {
        for (const bool turned : {false, true}) {
            for (const int shift : {0, 1, -1, 2}) {
                if (is_causal_with(turned, shift)) return true;
            }
        }
        return false;
    };
    if (is_nearly_causal()) return padding;
    // An inverted mask shows padding to every query; the last one sees nothing else.
    for (std::size_t i = 0; i < hidden.size(); ++i) {
        const std::size_t last = i - i % (keys * keys) + keys * (keys - 1) + i % keys;
        padding[i] = hidden[last] == 0;
    }
    const auto is_shown = [&](double cell, double pad) { return pad == 0 || cell == 0; };
    if (std::ranges::equal(hidden, padding, is_shown) && is_causal_with(true, 0)) return padding;
    for (std::size_t i = 0; i < hidden.size(); ++i) {
        const std::size_t first = i - i % (keys * keys) + i % keys;
        bool is_column = true;
        for (std::size_t q = 0; q < keys; ++q)
            is_column = is_column && hidden[first + q * keys] != 0;
        padding[i] = is_column;
    }
    return is_nearly_causal() ? std::optional(std::move(padding)) : std::nullopt;
}

bool has_causal_tensor(const Trace& trace, std::size_t before, std::size_t tokens) {
    for (std::size_t i = 0; i < before; ++i) {
        const Traced& each = trace[i];
        if (each.all.size() != tokens * tokens || each.shape.back() != tokens) continue;
        // A comparison may also choose rows of a table of biases.
        if (!each.is_variable() && each.name.find("tri") == std::string::npos) continue;
        const Arranged square{{tokens, tokens}, each.all, DType::float32};
        if (is_causal(square.tensor())) return true;
    }
    return false;
}

void ask_about_dropout(const Traced& dropped, Alignment& alignment) {
    const std::string& statement = dropped.statement;
    const bool is_function = statement.find("F.dropout(") != statement.npos ||
                             statement.find("functional.dropout(") != statement.npos;
    const std::size_t mode = statement.find("training=");
    if (!is_function ||
        (mode != statement.npos && statement.compare(mode, 13, "training=True") != 0))
        return;
    alignment.ask(dropped, "dropout stays on after model.eval() here: is this intended?");
}

bool hides_nothing(const Heads& heads) {
    return heads.core.weights == heads.core.softmaxed &&
           std::ranges::count(heads.scores, "masked_scores", &ScoreStep::step) == 0;
}

double rounded_cap(double cap) {
    const double whole = std::round(cap);
    return std::abs(cap - whole) < 1e-5 * whole ? whole : cap;
}

Arranged sink_of_heads(const Arranged& logits) {
    Arranged heads{{logits.shape[1]}, {}, logits.dtype};
    for (std::size_t h = 0; h < logits.shape[1]; ++h) {
        heads.all.push_back(logits.all[h * logits.shape[2]]);
    }
    return heads;
}

std::vector<double> slopes_of(const std::vector<double>& bias, std::size_t heads,
                              std::size_t tokens) {
    std::vector<double> slopes(heads);
    for (std::size_t i = 0; i < bias.size(); ++i) {
        const std::size_t key = i % tokens, query = i / tokens % tokens;
        if (key >= query) continue;
        double& slope = slopes[i / tokens / tokens % heads];
        const auto distance = static_cast<double>(query - key);
        if (slope == 0) slope = bias[i] / distance;
        const bool fits = std::abs(bias[i] - slope * distance) < 1e-3 * std::abs(bias[i]);
        if (!fits || slope * slopes[0] <= 0) return {};
    }
    return tokens < 2 ? std::vector<double>() : slopes;
}

bool is_alibi(const std::vector<double>& slopes) {
    return !slopes.empty() &&
           std::ranges::equal(slopes, alibi_slopes(slopes.size()), [](double found, double usual) {
               return std::abs(std::abs(found) - usual) < 1e-3 * usual;
           });
}

void ask_about_slopes(const Trace& trace, const Heads& heads, const std::vector<double>& slopes,
                      Alignment& alignment) {
    const auto biased = std::ranges::find(heads.scores, "biased_scores", &ScoreStep::step);
    std::vector<std::string> found, usual;
    for (const double slope : slopes) found.push_back(brief(std::abs(slope)));
    for (const double slope : alibi_slopes(slopes.size())) usual.push_back(brief(slope));
    alignment.ask(trace[biased->place], "the bias grows with the distance by " + joined(found) +
                                            ", where ALiBi has " + joined(usual) +
                                            ": is this intended?");
}

bool is_dealt(const Operand& role) {
    const std::vector<std::size_t>& channel = role.origin->channel;
    const std::size_t features = role.numbers.shape.back();
    const std::size_t heads = channel.size() / features;
    if (heads < 2 || features < 2) return false;
    const std::size_t first = std::ranges::min(channel);
    for (std::size_t i = 0; i < channel.size(); ++i) {
        if (channel[i] != first + i % features * heads + i / features) return false;
    }
    return true;
}

}  // namespace attn
