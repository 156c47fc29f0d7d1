#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "attn/judge/trace/heads.hpp"

// Questions about keys and values that an earlier call computed.

namespace attn {
namespace {

constexpr std::size_t far_back = 20;

using Row = std::vector<double>;

std::vector<Row> rows_of(const Arranged& numbers) {
    const auto width = static_cast<std::ptrdiff_t>(numbers.shape.back());
    std::vector<Row> rows;
    for (auto at = numbers.all.begin(); at != numbers.all.end(); at += width) {
        rows.emplace_back(at, at + width);
    }
    return rows;
}

const Arranged& keys_in(const Heads& heads) {
    return heads.rotated_key ? heads.rotated_key->numbers : heads.key.numbers;
}

std::vector<Row> keys_of(const Heads& heads) { return rows_of(keys_in(heads)); }

/// True if the first keys, and so the first tokens, are the same.
bool begin_alike(const Heads& before, const Heads& now) {
    const Arranged &a = keys_in(before), &b = keys_in(now);
    const auto width = static_cast<std::ptrdiff_t>(a.shape.back());
    return a.shape.back() == b.shape.back() &&
           std::equal(a.all.begin(), a.all.begin() + width, b.all.begin());
}

std::size_t tokens_of(const Arranged& numbers) { return numbers.shape[numbers.shape.size() - 2]; }

bool is_zero(const Row& row) { return std::ranges::count(row, 0) == std::ssize(row); }

/// Rotations change a key and keep its length.
bool are_as_long(const Row& a, const Row& b) {
    double of_a = 0, of_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        of_a += a[i] * a[i];
        of_b += b[i] * b[i];
    }
    return std::abs(of_a - of_b) <= 1e-3 * of_a;
}

/// Returns the first key of `now` whose value belongs to another key of `before`.
std::optional<std::size_t> mispaired(const Heads& before, const Heads& now) {
    const std::vector<Row> old_keys = keys_of(before), old_values = rows_of(before.value.numbers);
    const std::vector<Row> keys = keys_of(now), values = rows_of(now.value.numbers);
    if (old_keys.size() != old_values.size() || keys.size() != values.size()) return std::nullopt;
    std::map<Row, std::set<Row>> values_of, back;
    for (std::size_t i = 0; i < old_keys.size(); ++i) {
        if (is_zero(old_keys[i])) continue;
        values_of[old_keys[i]].insert(old_values[i]);
        back[old_values[i]].insert(old_keys[i]);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto known = values_of.find(keys[i]);
        const auto value = back.find(values[i]);
        // Keys and values may be exchanged, or one be stored as the other.
        const bool is_exchanged = back.contains(keys[i]) && !values_of.contains(keys[i]);
        const bool is_itself = keys[i] == values[i] && old_keys[0] != old_values[0];
        const bool is_other = known != values_of.end() && !known->second.contains(values[i]);
        const bool is_of_other =
            value != back.end() && std::ranges::none_of(value->second, [&](const Row& each) {
                return are_as_long(each, keys[i]);
            });
        if (is_other || is_of_other || is_exchanged || is_itself)
            return i % tokens_of(now.key.numbers);
    }
    return std::nullopt;
}

/// Returns a key of zeros that some query sees.
std::optional<std::size_t> empty_key(const Heads& heads) {
    const std::vector<Row> keys = keys_of(heads);
    const std::size_t count = tokens_of(heads.key.numbers);
    const Arranged& weights = heads.scores.back().numbers;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!is_zero(keys[i])) continue;
        for (std::size_t cell = i % count; cell < weights.all.size(); cell += count) {
            if (weights.all[cell] > 1e-6) return i % count;
        }
    }
    return std::nullopt;
}

/// Returns the angle between the first pair of features of a token before and after a rotation.
double angle_of(const Arranged& from, const Arranged& to, std::size_t token, const Before& by) {
    const std::size_t first = token * to.shape.back();
    const std::size_t second = first + (by.pairing == Pairing::half ? by.rotated / 2 : 1);
    return std::atan2(to.all[second], to.all[first]) -
           std::atan2(from.all[second], from.all[first]);
}

/// True if the last query of `now` is not as many positions after the first one of `before` as
/// there are keys between them. The first pair of features turns by one radian per position.
/// `turned` is the query of `now` before its rotation.
bool is_at_other_position(const Trace& trace, const Heads& before, const Heads& now,
                          const std::optional<Before>& turned) {
    const std::size_t queries = tokens_of(now.query.numbers), keys = tokens_of(now.key.numbers);
    if (!before.rotated_query || tokens_of(before.query.numbers) < 2) return false;
    if (!begin_alike(before, now)) return false;
    // A rotation by 0 changes nothing.
    if (turned ? turned->pairing != before.pairing : !now.query.origin) return false;
    const Arranged from =
        turned ? arranged(trace[turned->place], turned->axes, now.query.numbers.shape)
               : now.query.numbers;
    const Before by{.pairing = before.pairing, .rotated = before.rotated};
    const auto old = [&](std::size_t token) {
        return angle_of(before.query.numbers, before.rotated_query->numbers, token, by);
    };
    const double step = old(1) - old(0);
    const double angle = angle_of(from, now.query.numbers, queries - 1, by);
    const double off = angle - old(0) - step * static_cast<double>(keys - 1);
    return std::abs(std::sin(off / 2)) > 0.05;
}

}  // namespace

void take_questions_on_caches(const Trace& trace, std::vector<Heads>& all) {
    const auto line = [&](const Heads& heads) {
        const Traced& weights = trace[heads.core.weights];
        return std::pair(weights.file, weights.line);
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        Heads& now = all[i];
        const bool is_again =
            std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                        [&](const Heads& before) { return line(before) == line(now); });
        if (!now.context || now.scores.empty() || !is_again) continue;
        const auto ask = [&](std::size_t place, const std::string& text) {
            now.questions.push_back({trace[place].file, trace[place].line, text});
        };
        for (std::size_t j = i; j-- > 0;) {
            const Heads& before = all[j];
            if (line(before) != line(now) || !before.context) continue;
            if (tokens_of(before.key.numbers) >= tokens_of(now.key.numbers)) continue;
            if (before.key.numbers.shape.back() != now.key.numbers.shape.back()) continue;
            const std::optional<std::size_t> key = mispaired(before, now);
            if (!key) break;
            // The first key should be that of the earlier call.
            ask((begin_alike(before, now) ? now.value : now.key).place,
                "key " + std::to_string(*key) +
                    " comes with the value of another token than in an earlier "
                    "call: are cached keys and values in the same order?");
            break;
        }
        const bool may_be_elsewhere =
            !now.rotated_query && tokens_of(now.query.numbers) < tokens_of(now.key.numbers);
        const std::optional<Before> turned =
            may_be_elsewhere ? rotated_before(trace, now.query) : std::nullopt;
        for (std::size_t j = 0; j < i && may_be_elsewhere; ++j) {
            const Heads& before = all[j];
            if (line(before) != line(now)) continue;
            if (!is_at_other_position(trace, before, now, turned)) continue;
            std::vector<double> wanted = trace[now.query.place].all;
            std::ranges::sort(wanted);
            std::size_t place = now.query.place;  // where these numbers first appear
            for (std::size_t k = place;
                 k-- > now.query.place - std::min(now.query.place, far_back);) {
                std::vector<double> numbers = trace[k].all;
                std::ranges::sort(numbers);
                if (numbers == wanted) place = k;
            }
            ask(place,
                "the query is not rotated by the number of keys before it, as in an earlier call: "
                "are its positions counted from the beginning of the cache?");
            break;
        }
        if (const std::optional<std::size_t> key = empty_key(now)) {
            ask(now.key.place, "key " + std::to_string(*key) +
                                   " is all zeros and not hidden: is it an empty slot of a cache?");
        }
    }
}

}  // namespace attn
