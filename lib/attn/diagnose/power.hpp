#pragma once
#include <string>
#include <vector>

#include "attn/mistakes/mistake.hpp"
#include "attn/walk/walk.hpp"

namespace attn {

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
