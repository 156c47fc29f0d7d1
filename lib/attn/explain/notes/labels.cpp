#include "attn/explain/notes/labels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <utf8proc.h>

#include "attn/explain/notes/findings.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

constexpr std::size_t longest_label = 20;

bool has_right_to_left(std::string_view text) {
    while (!text.empty()) {
        const auto [point, bytes] = first_point(text);
        const auto direction = utf8proc_get_property(point)->bidi_class;
        if (direction == UTF8PROC_BIDI_CLASS_R || direction == UTF8PROC_BIDI_CLASS_AL) return true;
        text.remove_prefix(bytes.size());
    }
    return false;
}

/// Returns the source whose tokens are at the positions of that side; nullptr if it has none.
const Tokens* tokens_of(const Plan& plan, Side side) {
    const bool remembered = side == Side::key && plan.config.memory.has_value();
    return std::get_if<Tokens>(remembered ? &*plan.config.memory : &plan.config.input);
}

/// Returns the word in quotes, or the id if it has no word.
std::string token_name(const Tokens* tokens, std::size_t batch, std::size_t position,
                       const std::string& token) {
    if (tokens != nullptr && !tokens->sequences.empty()) {
        const auto& sequence = tokens->sequences[std::min(batch, tokens->sequences.size() - 1)];
        const bool has_word =
            !tokens->labels.empty() || position >= sequence.size() ||
            static_cast<std::size_t>(sequence[position]) < tokens->vocabulary.size();
        if (!has_word && token == std::to_string(sequence[position])) return "id " + token;
    }
    return quoted_token(token);
}

/// Returns the position of the subject's key among all keys: the keys of tokens follow the past.
std::size_t key_position(const Subject& subject, std::size_t key) {
    if (!subject.tensor.has_axis("token")) return subject.excerpt.index("key", key);
    return subject.plan.past_len + subject.excerpt.index("token", key);
}

}  // namespace

std::string shortened(std::string_view token) {
    std::vector<std::string> shown = visible_characters(token);
    if (shown.size() > longest_label) {
        shown.resize(longest_label - 1);
        shown.emplace_back("…");
    }
    const bool isolated = has_right_to_left(token);
    const std::string text = joined(shown, "");
    return isolated ? "\u2068" + text + "\u2069" : text;
}

std::string quoted_token(std::string_view token) { return "'" + shortened(token) + "'"; }

std::string label(const Plan& plan, Side side, std::size_t batch, std::size_t position) {
    const auto& sequences = side == Side::query ? plan.query_tokens : plan.key_tokens;
    // With a past, the queries follow its keys.
    const std::size_t first = side == Side::query ? plan.past_len : 0;
    const std::string place = "position " + std::to_string(first + position);
    if (side == Side::key && position < plan.past_len) return place + " of the past";
    if (sequences.empty() || position >= sequences[std::min(batch, sequences.size() - 1)].size()) {
        return side == Side::key && plan.has_memory ? "memory " + place : place;
    }
    const auto& tokens = sequences[std::min(batch, sequences.size() - 1)];
    const std::size_t row = side == Side::key ? position - plan.past_len : position;
    const Tokens* source = tokens_of(plan, side);
    if (source == nullptr && tokens[position] == std::to_string(row)) return place;
    const std::string name = token_name(source, batch, row, tokens[position]);
    const bool repeated = std::count(tokens.begin(), tokens.end(), tokens[position]) > 1;
    return repeated ? name + " (" + place + ")" : name;
}

std::string row_label(const Subject& subject, std::size_t query, std::size_t group) {
    return label(subject.plan, Side::query, batch_of(subject, group),
                 subject.excerpt.index("query", query));
}

std::string column_label(const Subject& subject, std::size_t key, std::size_t group) {
    return label(subject.plan, Side::key, batch_of(subject, group), key_position(subject, key));
}

std::string seen_label(const Subject& subject, std::size_t query, std::size_t key,
                       std::size_t group) {
    const bool same_token =
        !subject.plan.has_memory &&
        subject.excerpt.index("query", query) + subject.plan.past_len == key_position(subject, key);
    return same_token ? "itself" : column_label(subject, key, group);
}

std::string shown_here(const Subject& subject) {
    return subject.excerpt.is_whole() ? "" : " shown";
}

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
        text[0] = static_cast<char>(text[0] - 'a' + 'A');
    }
    return text;
}

std::string number(double value) {
    const double size = std::abs(value);
    if (size < 1e6 && value == std::trunc(value)) return fixed_text(value + 0.0, 0);  // never -0
    return size >= 1e-3 && size < 1e6 ? fixed_text(value, 4) : brief(value);
}

std::string numbered(std::string_view what, std::size_t first, std::size_t count) {
    const std::string from = std::to_string(first);
    if (count == 1) return std::string(what) + " " + from;
    return std::string(what) + "s " + from + " to " + std::to_string(first + count - 1);
}

void append_sentence(std::string& note, const std::string& sentence) {
    if (sentence.empty()) return;
    if (!note.empty()) note += ' ';
    note += sentence;
}

void append_sentence(Prose& note, const std::string& sentence) {
    std::string specified = note.raw();
    append_sentence(specified, sentence);
    note = specified;
}

}  // namespace attn::notes
