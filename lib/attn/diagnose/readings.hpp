#pragma once
#include <string>
#include <vector>

#include "attn/mistakes/mistake.hpp"
#include "attn/plan/ledger.hpp"
#include "attn/plan/plan.hpp"
#include "attn/walk/walk.hpp"

namespace attn {

// How tensors that other code saved are read: under which step's name, and in which layout.

/// The steps that are called by that name anywhere, the likeliest first.
std::vector<std::string> known_steps(const std::string& name);

/// Whether the name is that of what attention returns in the end.
bool names_a_result(const std::string& name);

/// The steps of this walk that a tensor of that name may be, the likeliest first: step names stand
/// for themselves, `attn` for the weights, `out` for the last step of the walk. Empty for a name
/// that nobody uses.
std::vector<std::string> steps_called(const std::string& name, const Plan& plan);

/// One way to read a tensor: its numbers in our order of axes, and what was done to get there.
struct Reading {
    Tensor tensor;
    std::string layout;  ///< `(batch, query, head, feature)`; empty where it is ours
};

/// Every way to read `theirs` as a tensor of that shape: as it is, with axes of length 1 added or
/// dropped, in another order of axes, with neighbouring axes joined, as (B * H, T, D) is. Queries
/// stay in front of keys: exchanging them is a mistake, not a layout.
///
/// Shapes  theirs any; the readings have `shape` and `axes`, and the type `dtype`.
std::vector<Reading> readings(const Tensor& theirs, const Axes& axes, const Shape& shape,
                              DType dtype);
/// The same with the axes, shape and type of `like`.
std::vector<Reading> readings(const Tensor& theirs, const Tensor& like);

/// One way to read a mask: which cells it hides, over (batch, head, query, key).
struct MaskReading {
    Tensor hidden;           ///< bool, with every axis of the scores
    bool says_keep = false;  ///< true, 1 or 0 of an added mask stands for a visible key
    std::string layout;
};

/// Every way to read `theirs` as a mask: bool, zeros and ones, or numbers to add; true for hidden
/// or for kept; broadcast to the scores from the right, as (batch, query, key), or as
/// (batch, key).
///
/// Shapes  theirs one to four axes. Empty where it is no mask of this walk.
std::vector<MaskReading> mask_readings(const Tensor& theirs, const Plan& plan);

/// Which mistakes an input can reveal.
struct Power {
    struct Blind {
        const Mistake* mistake;
        std::string reason;
    };
    /// Change the last tensor of the walk, in groups that change it alike.
    std::vector<std::vector<const Mistake*>> groups;
    /// Change some step, but not the last: they show only when that step is given.
    std::vector<const Mistake*> inside;
    /// Cannot be seen at all, and why.
    std::vector<Blind> blind;
};

/// Makes every mistake of the catalogue on this input and sees what it changes.
Power power(const Plan& plan, const Ledger& given);

/// The answer for people, and as JSON.
std::string power_text(const Power& power);
std::string power_json(const Power& power);

/// A walk on which nearly every mistake shows: batch, tokens, heads and features all differ in
/// number, biases everywhere, one padded sequence, a causal mask, no token twice.
WalkConfig probe_config();

/// The walk that was asked for, on inputs on which its mistakes show: three samples of 7 tokens,
/// more than a small window holds, where nothing else is said; gains that differ within a pair.
WalkConfig probe_config(WalkConfig asked);

}  // namespace attn
