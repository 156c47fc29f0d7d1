#include <algorithm>
#include <map>

#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/note_parts.hpp"

namespace attn::notes {
namespace {

bool is_memory(const Subject& subject) { return subject.name.starts_with("memory"); }

const Source& source_of(const Subject& subject) {
    const WalkConfig& config = subject.plan.config;
    return is_memory(subject) && config.memory ? *config.memory : config.input;
}

const Tokens* tokens_of(const Subject& subject) { return std::get_if<Tokens>(&source_of(subject)); }

/// A token that occurs at two positions of one sequence, and where.
struct Repeat {
    std::size_t batch, first, second;
};

/// The first token that occurs a second time and is no padding.
std::optional<Repeat> first_repeat(const Tokens& tokens) {
    for (std::size_t b = 0; b < tokens.sequences.size(); ++b) {
        std::map<std::int64_t, std::size_t> seen;
        for (std::size_t t = 0; t < tokens.sequences[b].size(); ++t) {
            const std::int64_t id = tokens.sequences[b][t];
            if (tokens.pad_id == id) continue;
            const auto [earlier, is_new] = seen.try_emplace(id, t);
            if (!is_new) return Repeat{b, earlier->second, t};
        }
    }
    return {};
}

/// The name of a token without its position: its word or its id.
std::string token_text(const Tokens& tokens, std::int64_t id) {
    const auto index = static_cast<std::size_t>(id);
    return index < tokens.vocabulary.size() ? quoted(tokens.vocabulary[index])
                                            : "id " + std::to_string(id);
}

/// Where padding stands and how much of it there is; empty without any.
std::string padding_sentence(const Tokens& tokens) {
    if (!tokens.pad_id) return {};
    std::size_t count = 0;
    std::size_t all = 0;
    for (const auto& sequence : tokens.sequences) {
        all += sequence.size();
        count +=
            static_cast<std::size_t>(std::count(sequence.begin(), sequence.end(), *tokens.pad_id));
    }
    if (count == 0) return {};
    return std::to_string(count) + " of the " + counted(all, "position") +
           (count == 1 ? " holds" : " hold") + " padding (id " + std::to_string(*tokens.pad_id) +
           "), which only fills up shorter sequences.";
}

std::string words_sentence(const Tokens& tokens) {
    const auto& sequence = tokens.sequences.front();
    std::string text = "Each word is replaced by its id, its place in a vocabulary of " +
                       std::to_string(*tokens.vocab_size) + ": " +
                       token_text(tokens, sequence.front()) + " becomes " +
                       std::to_string(sequence.front());
    if (sequence.back() != sequence.front()) {
        text += ", " + token_text(tokens, sequence.back()) + " becomes " +
                std::to_string(sequence.back());
    }
    return text + ".";
}

bool row_is_zero(const Tensor& tensor, std::size_t row) {
    const Cells cells(tensor);
    const std::size_t columns = tensor.shape().back();
    for (std::size_t c = 0; c < columns; ++c) {
        if (cells[row * columns + c] != 0) return false;
    }
    return true;
}

std::string looked_up(const Subject& subject, const Tokens& tokens) {
    const std::string table = is_memory(subject) ? "memory_embedding" : "embedding";
    const std::int64_t id = tokens.sequences.front().front();
    const bool has_word = static_cast<std::size_t>(id) < tokens.vocabulary.size();
    return "Each token takes the row of " + table + " that its id names: " +
           (has_word ? quoted(tokens.vocabulary[static_cast<std::size_t>(id)]) : "position 0") +
           " takes row " + std::to_string(id) + ".";
}

/// Rows that look alike, and why: a repeated word, padding.
std::string alike_rows(const Subject& subject, const Tokens& tokens) {
    std::string note;
    if (const std::optional<Repeat> repeat = first_repeat(tokens)) {
        const std::int64_t id = tokens.sequences[repeat->batch][repeat->first];
        say(note, capitalised(token_text(tokens, id)) + " occurs at positions " +
                      std::to_string(repeat->first) + " and " + std::to_string(repeat->second) +
                      (tokens.sequences.size() > 1 ? " of sequence " + std::to_string(repeat->batch)
                                                   : "") +
                      ": its rows are identical, as nothing here says where a token stands.");
    }
    if (!tokens.pad_id) return note;
    const std::size_t length = tokens.sequences.front().size();
    for (std::size_t b = 0; b < tokens.sequences.size(); ++b) {
        const auto& sequence = tokens.sequences[b];
        const auto pad = std::find(sequence.begin(), sequence.end(), *tokens.pad_id);
        if (pad == sequence.end()) continue;
        const auto t = static_cast<std::size_t>(pad - sequence.begin());
        if (row_is_zero(subject.tensor, b * length + t)) say(note, "The rows of padding are zero.");
        break;
    }
    return note;
}

std::string size_text(const Subject& subject) {
    const Shape shape = subject.tensor.shape();
    const bool batch = shape.size() > 2 && shape[0] > 1;
    return (batch ? counted(shape[0], "sequence") + " of " : "") +
           counted(shape[shape.size() - 2], "token") + " with " + counted(shape.back(), "feature") +
           " each";
}

}  // namespace

std::string ids_note(const Subject& subject) {
    const Tokens* tokens = tokens_of(subject);
    if (tokens == nullptr || tokens->sequences.empty() || tokens->sequences.front().empty()) {
        return "Each id names a row of the embedding table.";
    }
    std::string note = tokens->vocabulary.empty()
                           ? "Each id names one row of an embedding table with " +
                                 counted(static_cast<std::size_t>(*tokens->vocab_size), "row") + "."
                           : words_sentence(*tokens);
    say(note, padding_sentence(*tokens));
    return note;
}

std::string embedding_note(const Subject& subject) {
    const bool given = subject.plan.config.parameters.has(subject.name);
    std::string note = "One row of " + counted(subject.tensor.shape().back(), "feature") +
                       " for each id; training would learn them, here they are " +
                       (given ? "as given." : "drawn at random.");
    const Tokens* tokens = tokens_of(subject);
    if (tokens != nullptr && tokens->pad_id && *tokens->pad_id >= 0) {
        const auto row = static_cast<std::size_t>(*tokens->pad_id);
        if (row < subject.tensor.shape().front() && row_is_zero(subject.tensor, row)) {
            say(note, "Row " + std::to_string(row) + ", the padding, is zero.");
        }
    }
    return note;
}

std::string x_note(const Subject& subject) {
    std::string note;
    const Tokens* tokens = tokens_of(subject);
    const bool looks_up = tokens != nullptr && !tokens->sequences.empty() &&
                          !tokens->sequences.front().empty() && subject.tensor.dimension() >= 2;
    if (looks_up) {
        say(note, looked_up(subject, *tokens));
        say(note, alike_rows(subject, *tokens));
    } else if (const auto* random = std::get_if<RandomInput>(&source_of(subject))) {
        say(note,
            std::string("Drawn at random, ") +
                (random->distribution == Distribution::normal ? "around 0" : "between 0 and 1") +
                ": " + size_text(subject) + ", standing in for embedded words.");
    } else {
        say(note, "Taken as given: " + size_text(subject) + ".");
    }
    if (is_memory(subject)) say(note, "Key and value come from these rows, the query from x.");
    say(note, not_finite(subject.tensor));
    return note;
}

}  // namespace attn::notes
