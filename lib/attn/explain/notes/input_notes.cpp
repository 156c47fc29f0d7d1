#include "attn/explain/notes/step_notes.hpp"

#include <algorithm>
#include <map>

#include "attn/core/cards/starts.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

/// Returns the tokens for a note on x or ids; nullopt if the source has none.
std::optional<Tokens> tokens_of(const Start& start, const Subject& subject) {
    const Tokens* all = tokens_of(start, subject.plan);
    if (all == nullptr || all->sequences.empty()) return std::nullopt;
    Tokens seen = *all;
    const Excerpt& excerpt = subject.excerpt;
    seen.sequences.resize(excerpt.count("batch", all->sequences.size()));
    for (std::size_t b = 0; b < seen.sequences.size(); ++b) {
        const auto& sequence = all->sequences[excerpt.index("batch", b)];
        seen.sequences[b].resize(excerpt.count("token", sequence.size()));
        for (std::size_t t = 0; t < seen.sequences[b].size(); ++t) {
            seen.sequences[b][t] = sequence[excerpt.index("token", t)];
        }
    }
    return seen;
}

/// A token that occurs twice in one sequence.
struct Repeat {
    std::size_t batch, first, second;
};

/// Returns the first token, other than padding, that occurs a second time.
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

/// Returns the name of a token without its position: its word or its id.
std::string token_text(const Tokens& tokens, std::int64_t id) {
    const auto index = static_cast<std::size_t>(id);
    return index < tokens.vocabulary.size() ? quoted_token(tokens.vocabulary[index])
                                            : "id " + std::to_string(id);
}

/// Describes the place and amount of padding; empty if there is none.
std::string padding_sentence(const Subject& subject, const Tokens& tokens) {
    if (!tokens.pad_id) return {};
    std::size_t count = 0;
    std::size_t all = 0;
    for (const auto& sequence : tokens.sequences) {
        all += sequence.size();
        count +=
            static_cast<std::size_t>(std::count(sequence.begin(), sequence.end(), *tokens.pad_id));
    }
    if (count == 0) return {};
    return std::to_string(count) + " of the " + counted(all, "position") + shown_here(subject) +
           (count == 1 ? " holds" : " hold") + " padding (id " + std::to_string(*tokens.pad_id) +
           "), which only fills up shorter sequences.";
}

/// ` of 6 words and <pad>`
std::string vocabulary_size(const Tokens& tokens) {
    const auto all = static_cast<std::size_t>(*tokens.vocab_size);
    const bool has_pad = tokens.pad_id == 0 && all > 0;
    return " of " + (has_pad
                         ? counted(all - 1, "word") + " and " + quoted_token(tokens.vocabulary[0])
                         : counted(all, "word"));
}

std::string words_sentence(const Tokens& tokens) {
    const auto& sequence = tokens.sequences.front();
    std::string text = "Each word is replaced by its id, its place in the alphabetical vocabulary" +
                       vocabulary_size(tokens) + ": " + token_text(tokens, sequence.front()) +
                       " becomes " + std::to_string(sequence.front());
    if (sequence.back() != sequence.front()) {
        text += ", " + token_text(tokens, sequence.back()) + " becomes " +
                std::to_string(sequence.back());
    }
    return text +
           (tokens.by_word ? "." : ". A different word at the same place would have the same id.");
}

bool row_is_zero(const Tensor& tensor, std::size_t row) {
    const Cells cells(tensor);
    const std::size_t columns = tensor.shape().back();
    for (std::size_t c = 0; c < columns; ++c) {
        if (cells[row * columns + c] != 0) return false;
    }
    return true;
}

std::string by_lookup(const Start& start, const Subject& subject, const Tokens& tokens) {
    const std::string table = start.embedding;
    const std::int64_t id = tokens.sequences.front().front();
    const bool has_word = static_cast<std::size_t>(id) < tokens.vocabulary.size();
    return "Each token's id selects its row of " + table + ": " +
           (has_word ? quoted_token(tokens.vocabulary[static_cast<std::size_t>(id)])
                     : "position " + std::to_string(subject.excerpt.index("token", 0))) +
           " takes row " + std::to_string(id) + "." +
           (tokens.by_word && !subject.plan.config.parameters.has(table)
                ? " A word's row is drawn from a seed computed from the word and " +
                      std::to_string(subject.plan.config.seed) + ": it is the same in every text."
                : "");
}

/// Describes equal rows and the reason: a repeated word, padding.
std::string alike_rows(const Subject& subject, const Tokens& tokens) {
    const Excerpt& excerpt = subject.excerpt;
    std::string note;
    if (const std::optional<Repeat> repeat = first_repeat(tokens)) {
        const std::int64_t id = tokens.sequences[repeat->batch][repeat->first];
        append_sentence(
            note, capitalised(token_text(tokens, id)) + " occurs at positions " +
                      std::to_string(excerpt.index("token", repeat->first)) + " and " +
                      std::to_string(excerpt.index("token", repeat->second)) +
                      (excerpt.length("batch", tokens.sequences.size()) > 1
                           ? " of sequence " + std::to_string(excerpt.index("batch", repeat->batch))
                           : "") +
                      ": its rows are identical, because nothing here depends on the position.");
    }
    if (!tokens.pad_id) return note;
    const std::size_t length = tokens.sequences.front().size();
    for (std::size_t b = 0; b < tokens.sequences.size(); ++b) {
        const auto& sequence = tokens.sequences[b];
        const auto pad = std::find(sequence.begin(), sequence.end(), *tokens.pad_id);
        if (pad == sequence.end()) continue;
        const auto t = static_cast<std::size_t>(pad - sequence.begin());
        if (row_is_zero(subject.tensor, b * length + t))
            append_sentence(note, "The rows of padding are zero.");
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

std::string ids_note(const Start& start, const Subject& subject) {
    const std::optional<Tokens> tokens = tokens_of(start, subject);
    if (!tokens || tokens->sequences.front().empty()) {
        return "Each id names a row of the embedding table.";
    }
    std::string note = tokens->vocabulary.empty()
                           ? "Each id names one row of an embedding table with " +
                                 counted(static_cast<std::size_t>(*tokens->vocab_size), "row") + "."
                           : words_sentence(*tokens);
    append_sentence(note, padding_sentence(subject, *tokens));
    const auto& all = tokens->sequences;
    if (all.size() > 1 && std::ranges::count(all, all.front()) == std::ssize(all)) {
        append_sentence(note, "All " + counted(all.size(), "sequence") + " have the same ids.");
    }
    return note;
}

std::string embedding_note(const Start& start, const Subject& subject) {
    const bool given = subject.plan.config.parameters.has(start.embedding);
    const Tokens* tokens = tokens_of(start, subject.plan);
    const bool by_word = tokens != nullptr && tokens->by_word;
    const Excerpt& excerpt = subject.excerpt;
    const std::size_t features = excerpt.length("feature", subject.tensor.shape().back());
    std::string note = "One row of " + counted(features, "feature") +
                       " for each id; training would learn them, here they are " +
                       (given     ? "as given."
                        : by_word ? "drawn from a seed computed from the word."
                                  : "drawn at random.");
    if (tokens != nullptr && tokens->pad_id && *tokens->pad_id >= 0) {
        const auto padding = static_cast<std::size_t>(*tokens->pad_id);
        for (std::size_t row = 0; row < subject.tensor.shape().front(); ++row) {
            if (excerpt.index("vocab", row) != padding || !row_is_zero(subject.tensor, row))
                continue;
            append_sentence(note, "Row " + std::to_string(padding) + ", the padding, is zero.");
        }
    }
    return note;
}

std::string embedded_x_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::string model = visible(plan.config.model_file);
    if (is_given_x(plan)) {
        return "Computed by " + earlier_layers(plan) + " of " + model +
               (plan.config.layer == 0
                    ? "."
                    : ": each layer adds its attention and its MLP to the rows that it is given.");
    }
    return "The input of the first layer of " + model + ": a row for each token" +
           (reads_positions(plan) ? ", and one for its position." : ".");
}

std::string start_note(const Start& start, const Subject& subject) {
    if (start.embedded(subject.plan)) return embedded_x_note(subject);
    std::string note;
    const std::optional<Tokens> tokens = tokens_of(start, subject);
    const bool looks_up =
        tokens && !tokens->sequences.front().empty() && subject.tensor.dimension() >= 2;
    if (looks_up) {
        append_sentence(note, by_lookup(start, subject, *tokens));
        append_sentence(note, alike_rows(subject, *tokens));
    } else if (const auto* random = std::get_if<RandomInput>(&start.source(subject.plan))) {
        append_sentence(
            note,
            std::string("Drawn at random, ") +
                (random->distribution == Distribution::normal ? "around 0" : "between 0 and 1") +
                ": " + size_text(subject) + ", standing in for embedded words.");
    } else {
        const auto& given = std::get<Tensor>(start.source(subject.plan));
        const bool one_for_all = given.dimension() == 2 || given.shape().front() == 1;
        const bool shows_all = subject.tensor.has_axis("batch") && subject.plan.batch > 1;
        append_sentence(note, "Taken as given: " + size_text(subject) +
                                  (one_for_all && shows_all ? ", one for all." : "."));
    }
    if (start.of_memory)
        append_sentence(note, "Key and value come from these rows, the query from x.");
    append_sentence(note, not_finite(subject.tensor));
    return note;
}

std::string position_note(const Subject& subject) {
    return learns_positions(subject.plan)
               ? "Each position has its own row, like each word; training would learn them."
               : "A fixed pattern that training does not change: early features change fast from "
                 "one position to the next, late ones slowly.";
}

}  // namespace

NoteTable input_notes() {
    NoteTable table;
    for (const Start& start : starts) {
        table.push_back(
            {start.ids, [&](const Subject& subject) { return ids_note(start, subject); }});
        table.push_back({start.embedding,
                         [&](const Subject& subject) { return embedding_note(start, subject); }});
    }
    const auto of_tokens = [](const Subject& subject) -> std::string {
        if (!x_is_embedded(subject.plan)) return start_note(tokens_alone, subject);
        return "Learned in training: tokens that are used alike have similar rows.";
    };
    const auto of_positions = [](const Subject& subject) -> std::string {
        if (!x_is_embedded(subject.plan)) return position_note(subject);
        return "Learned in training: a position has the same row for every token.";
    };
    const auto of_table = [](const Subject& subject) {
        const std::size_t rows =
            subject.excerpt.length(subject.tensor.axes()[0], subject.tensor.shape()[0]);
        return "One row for each of " + counted(rows, "position") +
               ": a longer input would run out of rows.";
    };
    const auto of_x = [](const Subject& subject) -> std::string {
        if (!subject.plan.adds_positions()) return start_note(starts[0], subject);
        return "Token and position, added feature by feature: equal tokens at different positions "
               "are no longer equal.";
    };
    table.push_back({"token_embedding", of_tokens});
    table.push_back({"position_table", of_table});
    table.push_back({"position_embedding", of_positions});
    table.push_back({"x", of_x});
    table.push_back(
        {"memory", [](const Subject& subject) { return start_note(starts[1], subject); }});
    return table;
}

}  // namespace attn::notes
