#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "attn/ground/text/strings.hpp"
#include "attn/judge/trace/heads.hpp"

// Questions about lines that no step explains: between the projections and the scores, after the
// weights, and in the mask.

namespace attn {
namespace {

/// Finds the tensors from which others were computed, by the names in their lines.
class Sources {
public:
    Sources(const Trace& trace, const Origins& origins) : trace_(trace), origins_(origins) {}

    /// Returns a tensor from which the tokens of a role come and that no step explains. Tokens may
    /// be copied from several tensors: from a cache, from the line before.
    std::optional<std::size_t> unexplained(const Operand& role, bool may_rotate) const {
        std::set<std::size_t> from;
        const std::size_t width = role.numbers.shape.back();
        const std::set<std::vector<double>> tokens = tokens_of(role.numbers.all, width);
        std::set<std::vector<double>> left = tokens;
        left.erase(std::vector<double>(width, 0));  // padding
        for (std::size_t i = 0; i <= role.place && !left.empty(); ++i) {
            bool has_any = false;
            for (const Arranged& each : orders_of(trace_[i], width)) {
                for (const std::vector<double>& token : tokens_of(each.all, width)) {
                    has_any = left.erase(token) > 0 || has_any;
                }
            }
            if (has_any) from.insert(i);
        }
        if (!left.empty()) from.insert(role.place);
        for (const std::size_t each : from) {
            if (is_projection(each) || !has_projection_before(each)) continue;
            bool is_step = false;
            for (Arranged& order : orders_of(trace_[each], width)) {
                is_step = is_step || (may_rotate && is_normed(order, each));
                const Operand whole{each, {}, std::move(order), {}};
                is_step = is_step || (may_rotate && rotated_before(trace_, whole));
            }
            if (!is_step) return each;
        }
        return std::nullopt;
    }

    bool is_normed_role(const Operand& role) const {
        for (const Arranged& order : orders_of(trace_[role.place], role.numbers.shape.back())) {
            if (is_normed(order, role.place)) return true;
        }
        return false;
    }

    /// True if the first two rows of a role come from the same row of a projection.
    bool are_heads_of_one_token(const Operand& role) const {
        const std::vector<double>& all = role.numbers.all;
        const std::size_t width = role.numbers.shape.back();
        if (role.numbers.shape[role.numbers.shape.size() - 2] < 2) return false;
        const auto row = [&](std::size_t i) {
            return std::pair(all.begin() + static_cast<std::ptrdiff_t>(i * width),
                             all.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
        };
        for (std::size_t i = 0; i < role.place; ++i) {
            const std::size_t channels = trace_[i].shape.back();
            if (channels < 2 * width || channels % width != 0 || !is_projection(i)) continue;
            for (auto at = trace_[i].all.begin(); at != trace_[i].all.end();
                 at += static_cast<std::ptrdiff_t>(channels)) {
                const auto end = at + static_cast<std::ptrdiff_t>(channels);
                const auto has = [&](std::size_t which) {
                    const auto [first, last] = row(which);
                    return std::search(at, end, first, last) != end;
                };
                if (has(0) && has(1)) return true;
            }
        }
        return false;
    }

private:
    /// True if some tensor before this place gives these tokens when each is divided by its length
    /// and each feature multiplied by one number.
    bool is_normed(const Arranged& to, std::size_t place) const {
        const std::size_t width = to.shape.back();
        const auto is_it = [&](const std::vector<double>& from) {
            if (from.size() != to.all.size() || from == to.all) return false;
            const auto length_of = [&](std::size_t row) {
                double sum = 0;
                for (std::size_t f = 0; f < width; ++f) sum += from[row + f] * from[row + f];
                return std::sqrt(sum);
            };
            for (std::size_t row = 0; row < from.size(); row += width) {
                for (std::size_t f = 0; f < width; ++f) {
                    const double gain = to.all[f] / from[f] * length_of(0);
                    const double expected = from[row + f] * gain / length_of(row);
                    const double bound = 1e-3 * (std::abs(expected) + 1e-3);
                    if (!(std::abs(to.all[row + f] - expected) <= bound)) return false;
                }
            }
            return true;
        };
        for (std::size_t i = 0; i < place; ++i) {
            for (const Arranged& order : orders_of(trace_[i], width)) {
                if (order.shape.back() != width) continue;
                if (is_it(order.all)) return true;
            }
        }
        return false;
    }

    static std::set<std::vector<double>> tokens_of(const std::vector<double>& all,
                                                   std::size_t width) {
        std::set<std::vector<double>> tokens;
        for (auto at = all.begin(); at != all.end(); at += static_cast<std::ptrdiff_t>(width)) {
            tokens.emplace(at, at + static_cast<std::ptrdiff_t>(width));
        }
        return tokens;
    }

    /// Returns a tensor with its features last: as it is, and with its last axes exchanged.
    static std::vector<Arranged> orders_of(const Traced& tensor, std::size_t width) {
        std::vector<Arranged> orders;
        if (tensor.shape.back() % width == 0) {
            orders.push_back({tensor.shape, tensor.all, tensor.dtype});
        }
        if (tensor.rank() > 1 && tensor.shape[tensor.rank() - 2] % width == 0) {
            std::vector<int> axes(tensor.rank());
            std::iota(axes.begin(), axes.end(), 0);
            std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
            Shape shape = tensor.shape;
            std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
            orders.push_back(arranged(tensor, axes, shape));
        }
        return orders;
    }

    /// True if a tensor was computed, in one or more lines, from a projection or from a tensor that
    /// is called query, key or value.
    bool has_projection_before(std::size_t place) const {
        constexpr std::size_t most = 60;
        std::set<std::size_t> seen{place}, next{place};
        while (!next.empty() && seen.size() < most) {
            const std::size_t each = *next.rbegin();
            next.erase(each);
            for (const std::size_t before : named_by(each)) {
                if (!seen.insert(before).second) continue;
                if (is_role(before) || is_projection(before)) return true;
                next.insert(before);
            }
        }
        return false;
    }

    /// The expression that computed a tensor; empty if it is unknown.
    std::string text_of(std::size_t place) const {
        if (!trace_[place].is_variable()) return trace_[place].name;
        const std::string& statement = trace_[place].statement;
        const std::size_t equals = statement.find('=');
        const bool is_definition = trimmed(statement).starts_with("def ");
        return equals == std::string::npos || is_definition ? "" : statement.substr(equals + 1);
    }

    std::vector<std::size_t> named_by(std::size_t place) const {
        std::set<std::string> words;
        std::string word;
        for (const char c : text_of(place) + " ") {
            if (is_of_name(c) || c == '.') {
                word += c;
            } else if (!word.empty()) {
                words.insert(std::move(word));
                word.clear();
            }
        }
        std::vector<std::size_t> found;
        for (std::size_t i = place; i-- > 0 && !words.empty();) {
            std::vector<std::string> names = trace_[i].other_names;
            names.push_back(trace_[i].name);
            bool is_named = false;
            for (const std::string& name : names) is_named = words.erase(name) > 0 || is_named;
            if (is_named && trace_[i].all != trace_[place].all) found.push_back(i);
        }
        return found;
    }

    bool is_role(std::size_t place) const {
        const std::string step = called(trace_[place]);
        return step.ends_with("query") || step.ends_with("key") || step.ends_with("value");
    }

    bool is_projection(std::size_t place) const {
        const std::string text = text_of(place);
        const bool has_parameters = std::ranges::any_of(trace_, [&](const Traced& each) {
            const std::size_t dot = each.name.rfind(".weight");
            return dot != std::string::npos && !each.is_row && each.line == trace_[place].line &&
                   text.find(each.name.substr(0, dot)) != std::string::npos;
        });
        return (has_parameters || is_product(text)) && origins_.product_at(place, std::nullopt);
    }

    const Trace& trace_;
    const Origins& origins_;
};

/// True if all keys of the row that begins at a cell are hidden.
bool is_row_hidden(const std::vector<double>& hidden, std::size_t first, std::size_t keys) {
    const auto at = hidden.begin() + static_cast<std::ptrdiff_t>(first);
    return std::all_of(at, at + static_cast<std::ptrdiff_t>(keys),
                       [](double cell) { return cell != 0; });
}

/// True for a causal mask of fewer queries than keys that is not aligned at the last key.
bool is_shifted(const Arranged& hidden) {
    const std::size_t keys = hidden.shape.back(), queries = hidden.shape[hidden.shape.size() - 2];
    if (queries >= keys) return false;
    for (const std::size_t seen : {std::size_t{1}, keys - queries, keys - queries + 2}) {
        bool fits = seen != keys - queries + 1 && (queries > 1 || seen == 1);
        for (std::size_t i = 0; i < hidden.all.size() && fits; ++i) {
            const std::size_t query = i / keys % queries, key = i % keys;
            fits = (hidden.all[i] != 0) == (key >= query + seen);
        }
        if (fits) return true;
    }
    return false;
}

/// True if the keys that some sample sees are several times the same token, unlike those it hides.
/// `tokens` are by sample, or by sample and head, key and feature.
bool sees_one_token(const std::vector<double>& tokens, std::size_t width, const Arranged& hidden) {
    const std::size_t keys = hidden.shape.back(), queries = hidden.shape[hidden.shape.size() - 2];
    const std::size_t blocks = hidden.all.size() / queries / keys;
    const std::size_t samples = tokens.size() / width / keys;
    if (samples * keys * width != tokens.size() || blocks % samples != 0) return false;
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t first = block * samples / blocks * keys;
        std::set<std::vector<double>> seen, unseen;
        std::size_t times = 0;
        for (std::size_t k = 0; k < keys; ++k) {
            bool is_seen = false;
            for (std::size_t q = 0; q < queries; ++q) {
                is_seen = is_seen || hidden.all[(block * queries + q) * keys + k] == 0;
            }
            const auto token = tokens.begin() + static_cast<std::ptrdiff_t>((first + k) * width);
            (is_seen ? seen : unseen).emplace(token, token + static_cast<std::ptrdiff_t>(width));
            times += is_seen ? 1 : 0;
        }
        unseen.erase(seen.empty() ? std::vector<double>() : *seen.begin());
        if (times > 1 && seen.size() == 1 && !unseen.empty()) return true;
    }
    return false;
}

}  // namespace

void ask_about_sources(const Trace& trace, const Origins& origins, const Heads& heads,
                       Alignment& alignment) {
    const Sources sources(trace, origins);
    std::map<std::size_t, std::vector<std::string>> roles;  // by their first place in the trace
    for (const auto& [role, operand] :
         {std::pair{"query", &heads.query}, {"key", &heads.key}, {"value", &heads.value}}) {
        if (operand->origin || operand->axes.empty()) continue;
        const bool may_rotate = operand != &heads.value;
        if (const auto place = sources.unexplained(*operand, may_rotate)) {
            roles[*place].push_back(role);
        }
    }
    const auto is_normed = [&](const Operand& role) {
        return !role.origin && sources.is_normed_role(role);
    };
    if (is_normed(heads.query) != is_normed(heads.key)) {
        const bool is_query = is_normed(heads.query);
        alignment.ask(trace[is_query ? heads.key.place : heads.query.place],
                      std::string(is_query ? "the query is normalized and the key"
                                           : "the key is normalized and the query") +
                          " is not: is this intended?");
    }
    if (!heads.query.origin && sources.are_heads_of_one_token(heads.query)) {
        alignment.ask(trace[heads.query.place],
                      "the rows that attend to each other are heads of one token, not tokens: is "
                      "this intended?");
    }
    for (const auto& [place, those] : roles) {
        if (those.size() > 1) continue;  // several roles that are one tensor: the input
        alignment.ask(trace[place], "no step explains how the " + those.front() +
                                        " is computed here, so it was not judged: is it intended?");
    }
}

void ask_about_scores(const Trace& trace, const Heads& heads, Alignment& alignment) {
    ask_about_open_mask(trace, heads, alignment);
    ask_about_buckets(trace, heads, alignment);
    // tanh without the number that it was divided by.
    if (heads.changes.softcap == 1) {
        const auto capped = std::ranges::find(heads.scores, "capped_scores", &ScoreStep::step);
        alignment.ask(trace[capped->place],
                      "tanh bounds the scores to 1, and they are not multiplied by a cap after it: "
                      "is this intended?");
    }
    if (const auto place = heads.changes.unexplained) {
        alignment.ask(trace[*place],
                      "no step explains how the scores change here: is this intended?");
    }
}

void ask_about_context(const Trace& trace, const Heads& heads, Alignment& alignment) {
    if (heads.context) return;
    constexpr std::size_t far_on = 40;
    const Traced& weights = trace[heads.core.weights];
    std::vector<std::string> names = weights.other_names;
    names.push_back(weights.name);
    for (const Traced& each : trace) {  // cells that were filled one by one
        if (each.is_variable() && each.all == weights.all) names.push_back(each.name);
    }
    for (std::size_t i = heads.core.weights + 1;
         i < std::min(trace.size(), heads.core.weights + far_on); ++i) {
        const std::string& text = trace[i].is_variable() ? trace[i].statement : trace[i].name;
        const bool is_used = std::ranges::any_of(names, [&](const std::string& name) {
            const std::size_t at = text.find(name);
            return at != text.npos && (has_name(text, name) || !weights.is_variable());
        });
        const auto is_value = [&](const Traced& each) {
            return called(each).ends_with("value") && has_name(text, each.name);
        };
        const bool is_sum = text.find('*') != text.npos && std::ranges::any_of(trace, is_value);
        if (!is_used || (!is_product(text) && !is_sum)) continue;
        alignment.ask(trace[i],
                      "no step explains this product with the weights: is this intended?");
        return;
    }
    alignment.ends_at_weights = true;
}

void ask_about_hidden(const Trace& trace, const Heads& heads, const Arranged& hidden,
                      Alignment& alignment) {
    const auto masked = std::ranges::find(heads.scores, "masked_scores", &ScoreStep::step);
    const bool has_step = masked != heads.scores.end();
    const auto ask = [&](const std::string& text) {
        const std::size_t place = has_step ? masked->place : heads.core.softmaxed;
        alignment.ask(trace[place], text + ": is this intended?");
    };
    ask_about_keys(trace, heads, hidden, alignment);
    const std::size_t keys = hidden.shape.back();
    if (is_shifted(hidden)) {
        ask("the causal mask is not aligned at the last key: the last query should see all keys");
    }
    for (std::size_t row = 0; has_step && row < hidden.all.size(); row += keys) {
        if (!is_row_hidden(hidden.all, row, keys) || masked->numbers.all[row] == -HUGE_VAL) {
            continue;
        }
        ask("all keys of query " +
            std::to_string(row / keys % hidden.shape[hidden.shape.size() - 2]) +
            " are hidden, so its weights are those of no mask or all equal");
        break;
    }
    const Arranged& key = heads.key.numbers;
    bool is_one_token = sees_one_token(key.all, key.shape.back(), hidden);
    for (std::size_t i = 0; i < heads.core.scores && !is_one_token; ++i) {
        // A tensor of two numbers is a mask.
        const bool are_ids = trace[i].dtype == DType::int64 && trace[i].shape.back() == keys &&
                             !has_two_values(trace[i]);
        is_one_token = are_ids && sees_one_token(trace[i].all, 1, hidden);
    }
    if (is_one_token) {
        ask("the keys that are not hidden are one token several times, such as padding");
    }
}

}  // namespace attn
