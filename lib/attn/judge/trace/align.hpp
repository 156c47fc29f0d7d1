#pragma once
#include <map>
#include <string>
#include <vector>

#include "attn/judge/diagnose/other_settings.hpp"
#include "attn/judge/trace/trace.hpp"

namespace attn {

/// An attention of a trace: which tensor is which step, under which settings.
struct Alignment {
    AskedWalk asked{};                            ///< the walk, with its tensors by their labels
    std::map<std::string, std::string> steps{};   ///< of each label
    std::map<std::string, std::size_t> places{};  ///< of each label in the trace
    /// Places in the trace that are a step which the alignment itself has computed again: x . w of
    /// several steps in one.
    std::map<std::size_t, std::vector<std::string>> beside{};
    std::vector<std::size_t> parameters{};  ///< places in the trace of matrices and biases
    std::vector<std::string> questions{};   ///< that the tensors leave to the user
    double factor = 1;                      ///< by which the scores were multiplied in all
    std::size_t from = 0;                   ///< the first place of the attention in the trace
    bool takes_projections = false;         ///< it begins at query, key and value
};

/// Finds the attentions of a trace by their numbers: which tensors are products of which, and what
/// was done to the scores in between. `statements` as cores_in. What `base` sets, because the user
/// said so, stays.
///
/// Returns  one for each attention, in the order of time; heads that are computed one after the
///          other are one.
std::vector<Alignment> alignments(const std::vector<Traced>& trace,
                                  const std::vector<std::string>& statements,
                                  const AskedWalk& base);

}  // namespace attn
