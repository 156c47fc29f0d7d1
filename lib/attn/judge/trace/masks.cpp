#include <algorithm>
#include <cmath>
#include <optional>

#include "attn/judge/trace/heads.hpp"

// Questions about the keys that a mask hides, and about the conditions that it joins.

namespace attn {
namespace {

/// Hidden cells as blocks of (query, key), one per sample and head.
struct Blocks {
    explicit Blocks(const Arranged& hidden)
        : cells(hidden.all),
          keys(hidden.shape.back()),
          queries(hidden.shape[hidden.shape.size() - 2]),
          count(hidden.all.size() / keys / queries) {}

    bool hides(std::size_t block, std::size_t query, std::size_t key) const {
        return cells[(block * queries + query) * keys + key] != 0;
    }

    /// Returns the number of keys that a query sees, if these are the first ones.
    std::optional<std::size_t> length(std::size_t block, std::size_t query) const {
        std::size_t seen = 0;
        while (seen < keys && !hides(block, query, seen)) ++seen;
        for (std::size_t key = seen; key < keys; ++key) {
            if (!hides(block, query, key)) return std::nullopt;
        }
        return seen;
    }

    const std::vector<double>& cells;
    std::size_t keys, queries, count;
};

/// True if every block that hides keys hides the first ones and shows the last.
bool hides_first_keys(const Blocks& of) {
    bool hides = false;
    for (std::size_t block = 0; block < of.count; ++block) {
        const bool first = of.hides(block, 0, 0), last = of.hides(block, 0, of.keys - 1);
        bool any = first;
        for (std::size_t key = 0; key < of.keys; ++key) any = any || of.hides(block, 0, key);
        if (any && !first) return false;
        hides = hides || (first && !last);
    }
    return hides;
}

/// True if heads of one sample hide different keys.
bool differs_by_head(const Blocks& of, std::size_t samples) {
    const std::size_t heads = of.count / samples;
    for (std::size_t block = 0; block < of.count; ++block) {
        for (std::size_t key = 0; key < of.keys; ++key) {
            if (of.hides(block, 0, key) != of.hides(block / heads * heads, 0, key)) return true;
        }
    }
    return false;
}

/// True if each query sees the first keys, in no order: now more, now fewer than the one before.
bool varies_by_query(const Blocks& of) {
    bool grows = false, shrinks = false;
    for (std::size_t block = 0; block < of.count; ++block) {
        for (std::size_t query = 0; query < of.queries; ++query) {
            const auto length = of.length(block, query);
            if (!length) return false;
            if (query == 0) continue;
            const std::size_t before = *of.length(block, query - 1);
            grows = grows || *length > before;
            shrinks = shrinks || *length < before;
        }
    }
    return grows && shrinks;
}

/// True if all keys of some queries are hidden, next to a causal mask or not, and no others are.
bool hides_queries(const Blocks& of) {
    if (of.keys != of.queries) return false;
    bool fits_alone = true, fits_causal = true, has_row = false, has_visible = false;
    for (std::size_t block = 0; block < of.count; ++block) {
        for (std::size_t query = 0; query < of.queries; ++query) {
            const bool is_hidden = of.length(block, query) == 0;
            (is_hidden ? has_row : has_visible) = true;
            for (std::size_t key = 0; key < of.keys; ++key) {
                const bool hides = of.hides(block, query, key);
                fits_alone = fits_alone && hides == is_hidden;
                fits_causal = fits_causal && hides == (is_hidden || key > query);
            }
        }
    }
    return has_row && has_visible && (fits_alone || fits_causal);
}

std::size_t samples_of(const Heads& heads, const Arranged& hidden) {
    if (hidden.shape.size() == 4) return hidden.shape[0];
    const std::size_t queries = hidden.shape[hidden.shape.size() - 2];
    const std::optional<Origin>& origin = heads.query.origin;
    return hidden.shape.size() == 3 && origin && origin->rows() % queries == 0
               ? origin->rows() / queries
               : 0;
}

/// True if the cells of a condition, for one or all samples and heads, are those of a mask, or all
/// others if `are_visible` is true.
bool is_condition_of(const Traced& condition, const Arranged& hidden, bool are_visible) {
    const std::size_t block = hidden.shape.back() * hidden.shape[hidden.shape.size() - 2];
    const std::size_t size = condition.all.size();
    if (condition.rank() < 2 || condition.shape.back() != hidden.shape.back()) return false;
    if (size % block != 0 || hidden.all.size() % size != 0) return false;
    // Heads may come after the axis of samples that a condition has.
    const std::size_t heads = hidden.all.size() / size;
    const auto is_it = [&](bool is_by_sample) {
        for (std::size_t i = 0; i < hidden.all.size(); ++i) {
            const std::size_t at = is_by_sample ? i / block / heads * block + i % block : i % size;
            if (((condition.all[at] != 0) == are_visible) == (hidden.all[i] != 0)) return false;
        }
        return true;
    };
    return is_it(false) || is_it(true);
}

bool joins(const Traced& condition, std::initializer_list<const char*> words) {
    const std::string& text = condition.is_variable() ? condition.statement : condition.name;
    return std::ranges::any_of(words,
                               [&](const char* word) { return text.find(word) != text.npos; });
}

}  // namespace

void ask_about_keys(const Trace& trace, const Heads& heads, const Arranged& hidden,
                    Alignment& alignment) {
    const Blocks blocks(hidden);
    if (blocks.keys < 2) return;
    // For a single query a window hides the first keys, too, but those of all samples.
    const std::size_t size = blocks.keys * blocks.queries;
    const auto differs = [&] {
        for (std::size_t i = size; i < hidden.all.size(); ++i) {
            if (hidden.all[i] != hidden.all[i % size]) return true;
        }
        return false;
    };
    if (blocks.queries < 2 && !differs()) return;
    Arranged padding = hidden;
    bool by_key = is_by_key(hidden);
    if (!by_key && blocks.queries == blocks.keys) {
        if (auto beside = next_to_causal(hidden.all, blocks.keys)) {
            padding.all = *std::move(beside);
            by_key = is_by_key(padding);
        }
    }
    const auto masked = std::ranges::find(heads.scores, "masked_scores", &ScoreStep::step);
    std::size_t place = masked == heads.scores.end() ? heads.core.softmaxed : masked->place;
    for (const auto& [at, is_like_it] : heads.changes.masks) {
        if (is_like_it == by_key) place = at;
    }
    const Blocks of_padding(padding);
    const std::size_t samples = samples_of(heads, hidden);
    if (by_key && hides_first_keys(of_padding)) {
        alignment.ask(trace[place],
                      "the first keys are hidden and the last are visible: is the padding on the "
                      "left, or is the mask inverted?");
    } else if (by_key && samples > 0 && of_padding.count % samples == 0 &&
               differs_by_head(of_padding, samples)) {
        alignment.ask(trace[place],
                      "heads of one sample hide different keys: is the padding repeated in the "
                      "order of samples and heads?");
    } else if (hides_queries(blocks)) {
        alignment.ask(trace[place],
                      "all keys of some queries are hidden, and these keys are not hidden from "
                      "others: is the padding on the axis of the queries?");
    } else if (!by_key && varies_by_query(blocks)) {
        alignment.ask(trace[place],
                      "the number of visible keys varies from query to query: is each length "
                      "repeated for all queries of its sample?");
    }
    for (std::size_t i = 0; i < heads.core.softmaxed; ++i) {
        const Traced& each = trace[i];
        if (!has_two_values(each)) continue;
        const bool is_or =
            joins(each, {" | ", "logical_or"}) && is_condition_of(each, hidden, true);
        const bool is_and =
            joins(each, {" & ", "logical_and"}) && is_condition_of(each, hidden, false);
        if (!is_or && !is_and) continue;
        alignment.ask(each, is_or ? "a key is visible if one condition shows it, even if the other "
                                    "hides it: is `or` intended, not `and`?"
                                  : "a key is hidden only if both conditions hide it: is `and` "
                                    "intended, not `or`?");
        return;
    }
}

void ask_about_buckets(const Trace& trace, const Heads& heads, Alignment& alignment) {
    const auto biased = std::ranges::find(heads.scores, "biased_scores", &ScoreStep::step);
    if (biased == heads.scores.end() || !heads.changes.added) return;
    const Arranged& bias = *heads.changes.added;
    const std::size_t tokens = bias.shape.back(), square = tokens * tokens;
    if (bias.shape[bias.shape.size() - 2] != tokens || bias.shape.size() < 3) return;
    for (std::size_t i = 0; i < heads.core.softmaxed; ++i) {
        const Traced& bucket = trace[i];
        const bool is_square = bucket.dtype == DType::int64 && bucket.all.size() == square &&
                               bucket.shape.back() == tokens && !has_two_values(bucket);
        if (!is_square || *std::ranges::min_element(bucket.all) < 0) continue;
        double earlier = -1, later = HUGE_VAL, lowest = HUGE_VAL, highest = -1;
        for (std::size_t cell = 0; cell < square; ++cell) {
            const std::size_t query = cell / tokens, key = cell % tokens;
            const double each = bucket.all[cell];
            if (key < query) {
                earlier = std::max(earlier, each);
                lowest = std::min(lowest, each);
            } else if (key > query) {
                later = std::min(later, each);
                highest = std::max(highest, each);
            }
        }
        if (later <= earlier && lowest <= highest) continue;  // no buckets by direction
        const std::size_t heads_of_table = bias.shape[bias.shape.size() - 3];
        const auto is_of_table = [&](const Traced& table, bool is_transposed) {
            for (std::size_t cell = 0; cell < bias.all.size(); ++cell) {
                const std::size_t in = cell % square, head = cell / square % heads_of_table;
                const std::size_t at = is_transposed ? in % tokens * tokens + in / tokens : in;
                const auto row = static_cast<std::size_t>(bucket.all[at]);
                const double expected = table.all[row * heads_of_table + head];
                if (std::abs(expected - bias.all[cell]) > 1e-4 * (1 + std::abs(expected))) {
                    return false;
                }
            }
            return true;
        };
        const double most = *std::ranges::max_element(bucket.all);
        const bool is_transposed = std::ranges::any_of(trace, [&](const Traced& table) {
            return table.rank() == 2 && table.shape[1] == heads_of_table &&
                   static_cast<double>(table.shape[0]) > most && is_of_table(table, true) &&
                   !is_of_table(table, false);
        });
        if (is_transposed) {
            alignment.ask(trace[biased->place],
                          "the bias of a query and a key is that of the bucket with both "
                          "exchanged: is the bias transposed?");
        } else if (lowest > highest) {
            alignment.ask(trace[biased->place],
                          "earlier keys have the higher buckets, which T5 gives to later keys: are "
                          "query and key exchanged in the distance?");
        }
        return;
    }
}

void ask_about_open_mask(const Trace& trace, const Heads& heads, Alignment& alignment) {
    const Shape& shape = heads.scores.front().numbers.shape;
    for (std::size_t i = 0; i < heads.core.softmaxed && hides_nothing(heads); ++i) {
        const Traced& each = trace[i];
        const bool is_it =
            each.rank() > 1 && std::equal(shape.end() - 2, shape.end(), each.shape.end() - 2);
        if (!is_it || std::ranges::count(each.all, 1) < std::ssize(each.all)) continue;
        if (!joins(each, {" | ", "logical_or"})) continue;
        alignment.ask(each, "these conditions, joined by `or`, hide no key: is `and` intended?");
        return;
    }
}

}  // namespace attn
