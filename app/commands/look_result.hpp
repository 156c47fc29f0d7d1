#pragma once
#include <functional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/files/io/elements.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

namespace app {

/// Tensors of one walk, each compared with the result computed from the others.
struct LookResult {
    attn::Diagnosis diagnosis{};
    std::vector<std::string> assumed{};  ///< about the walk
    std::string reason{};                ///< why nothing was compared; empty if something was
    attn::Ledger file{};                 ///< the tensors, with their tokens as rows
    std::vector<std::string> tokens{};   ///< the words at their rows
    bool has_columns = false;            ///< each token is a column of the user's matrices

    /// Returns the indices of a cell in the user's matrix.
    attn::Shape as_given(attn::Shape cell) const;
    /// Returns a sentence if a row of given weights does not sum to 1 within the printed decimals.
    std::string off_row() const;
};

/// Finds the walk that tensors belong to, and compares each with it. If they fit no walk as rows of
/// tokens, they may be columns. `prepare` is called for each of the two and returns what it left
/// out; `spec` names the file in messages.
///
/// Errors  ConfigError, InputError and ShapeError, as config_of.
LookResult look_at(
    const Arguments& arguments, const std::string& spec,
    const std::vector<attn::NamedTensor>& tensors,
    const std::function<std::vector<attn::Skipped>(std::vector<attn::NamedTensor>&)>& prepare = {});

}  // namespace app
