#pragma once
#include <span>
#include <string>
#include <vector>

#include "attn/models/hugging_face.hpp"

namespace attn::models {

/// The part of a tensor of theirs that is ours: all, or one of those that lie one behind another in
/// [query | key | value] and [gate | up].
enum class Part { all, query, key, value, gate, up };

/// How a parameter lies in a tensor of theirs.
struct Lies {
    Part part = Part::all;
    bool columns = false;  ///< theirs is (in, out): our rows are its columns
    bool by_head = false;  ///< its rows go head by head [q | k | v]
    bool experts = false;  ///< (expert, in, out), or in blocks of 32 numbers of 4 bits with a scale
};

/// What stands beside a tensor of theirs: no bias, one always, or one where the configuration says
/// so. Names that are `whole` have no .weight behind them either.
enum class Bias { none, always, attention, mlp, whole };

/// Our name of a parameter, theirs behind the layer's number and in front of .weight, how it lies
/// there, and its bias: b_query beside w_query.
struct Name {
    const char* ours;
    const char* theirs;
    Lies lies{};
    Bias bias = Bias::none;
    const char* plus = nullptr;  ///< a table of theirs whose first row is added to each row

    /// What they call it: .weight, or .bias, behind the name.
    std::string named(const char* end) const {
        return std::string(theirs) + (bias == Bias::whole ? "" : end);
    }
};

/// The names of one family. Those without a layer stand by themselves.
struct Names {
    const char* layer;  ///< in front of the layer's number
    std::span<const Name> outside;
    std::vector<std::span<const Name>> inside;
};

Names names_of(Family family);

}  // namespace attn::models
