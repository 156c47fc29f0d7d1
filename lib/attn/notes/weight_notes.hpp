#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/notes/notes.hpp"

namespace attn::notes {

// The notes of the steps that make weights of scores.

std::string row_max_note(const Subject& subject);
std::string exponentials_note(const Subject& subject);
std::string row_sum_note(const Subject& subject);
std::string weights_note(const Subject& subject);

/// How much of the gradient of the weights softmax lets through to the scores, in one row that sees
/// several keys: the sum of their sizes behind softmax, by that in front of it.
struct LetThrough {
    std::size_t group, row;
    double share;
    double largest_weight;
};

/// Of each row with a gradient, in their order; nothing where softmax went along another axis, or
/// where the walk does not go back through it.
std::vector<LetThrough> let_through(const Ledger& ledger);

/// How a sentence writes such a share: `16%`, `0.03%`.
std::string percent(double share);

/// A note on the gradient of softmax's scores: what comes through.
std::string softmax_gradient_note(const Subject& subject);

/// A note on any other gradient: how it comes to be, and where the loss changes most.
std::string gradient_note(const Subject& subject, const std::string& how);

}  // namespace attn::notes
