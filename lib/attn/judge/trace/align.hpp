#pragma once
#include <map>
#include <string>
#include <vector>

#include "attn/judge/diagnose/other_settings.hpp"
#include "attn/judge/trace/scores.hpp"

namespace attn {

/// A question about one line, which only the author of the program can answer.
struct LineQuestion {
    std::string file{};    ///< empty for the main program
    std::size_t line = 0;  ///< 0 if it is not about a line
    std::string text{};
};

/// An attention in a trace: its steps and its settings.
struct Alignment {
    RequestedWalk requested{};                    ///< the walk, with its tensors by their labels
    std::map<std::string, std::string> steps{};   ///< by label
    std::map<std::string, std::size_t> places{};  ///< in the trace, by label
    /// Places in the trace of steps that the alignment itself computes, because the program fuses
    /// several into one product x . w.
    std::map<std::size_t, std::vector<std::string>> beside{};
    std::vector<std::size_t> parameters{};  ///< places in the trace of matrices and biases
    std::vector<LineQuestion> questions{};  ///< that the tensors do not decide
    ScoreChanges changes{};
    std::size_t from = 0;            ///< the first place of the attention in the trace
    bool takes_projections = false;  ///< starts from query, key and value
    bool ends_at_weights = false;    ///< no line multiplies them by values

    /// Adds a question about the line of a tensor.
    void ask(const Traced& tensor, std::string text) {
        questions.push_back({tensor.file, tensor.line, std::move(text)});
    }
};

/// Finds the attentions of a trace by their numbers: which tensors are products of which, and which
/// operations changed the scores in between. Settings of `base` that the user made
/// are kept.
///
/// Returns  one alignment per attention, in order of time; heads that are computed one after
///         another are one attention.
std::vector<Alignment> alignments(const Trace& trace, const RequestedWalk& base);

}  // namespace attn
