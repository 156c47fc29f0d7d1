#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attn/core/cards/step_table.hpp"
#include "attn/explain/notes/notes.hpp"

/// Small plans and tensors with notes that can be worked out on paper.
namespace attn::testing {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// One sequence of ids for each of `sequences`; the words are red, green and blue, and 0 is
/// padding.
inline WalkConfig words_config(std::vector<std::vector<std::int64_t>> sequences = {{1, 2, 3}}) {
    Tokens tokens;
    tokens.batch_axis = sequences.size() > 1;
    tokens.sequences = std::move(sequences);
    tokens.vocabulary = {"[pad]", "red", "green", "blue"};
    tokens.vocab_size = 4;
    WalkConfig config;
    config.input = tokens;
    config.head_dim = 4;
    return config;
}

/// Returns the same configuration with positions instead of words.
inline WalkConfig positions_config(std::int64_t query_len) {
    WalkConfig config;
    config.query_len = query_len;
    config.head_dim = 4;
    return config;
}

inline Tensor matrix(const Array<double>& cells) { return {{"query", "key"}, cells}; }
inline Tensor by_head(const Array<double>& cells) { return {{"head", "query", "key"}, cells}; }
inline Tensor by_batch(const Array<double>& cells) { return {{"batch", "query", "key"}, cells}; }

inline Tensor hidden(const Array<bool>& cells) { return {{"query", "key"}, cells}; }

/// The note of a step of a walk.
inline std::string note_of_step(const std::string& name, const Plan& plan, const Ledger& ledger) {
    return step_note({plan, step_table(), find_step(step_table(), name)}, ledger);
}

/// The note of the last of several steps, after the others.
inline std::string note_of(const WalkConfig& config,
                           const std::vector<std::pair<std::string, Tensor>>& steps) {
    Ledger ledger(chains_of(step_table()));
    for (const auto& [name, tensor] : steps) ledger.record(name, tensor);
    const Plan plan = resolve(config);
    return note_of_step(steps.back().first, plan, ledger);
}

inline bool mentions(const std::string& note, const std::string& words) {
    return note.find(words) != std::string::npos;
}

}  // namespace attn::testing

/// The note must contain these words; it is printed if it does not.
#define CHECK_SAYS(note, words) CHECK_MESSAGE(mentions(note, words), note)
#define CHECK_SILENT(note, words) CHECK_MESSAGE(!mentions(note, words), note)
