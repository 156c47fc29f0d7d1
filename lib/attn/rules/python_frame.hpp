#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/rules/rule.hpp"

namespace attn {

// What the dimensions of arrays in generated Python stand for.

/// An index and how far it goes: a dimension of what is written.
struct Dimension {
    std::string index;
    std::int64_t length;
};
using Frame = std::vector<Dimension>;

/// The place of an index in the frame; its size where it is not there.
std::size_t place_of(const Frame& frame, const std::string& index);

/// An index expression as `first + stride * index + ...` of one index or two, the larger stride
/// first.
struct Affine {
    struct Term {
        std::string index;
        std::int64_t stride, length;
    };
    std::int64_t first = 0;
    std::vector<Term> terms{};
};

/// Nothing where it is another expression, or of indices that the frame has not.
std::optional<Affine> affine(const RuleNode& node, const Frame& frame);

/// Whether an index expression stays within so many places.
bool stays_within(const RuleNode& node, const Frame& frame, std::int64_t length);

/// The indices in an expression, in the order of the frame.
Frame indices_in(const RuleNode& node, const Frame& frame);

/// `[..., 4:8]`: what is taken along each dimension, `:` for all; empty where all is all.
std::string taken(std::vector<std::string> places);
/// `4:8` of so many.
std::string range_text(std::int64_t first, std::int64_t count, std::int64_t of);
/// `2, 3, 4`
std::string sizes_text(const std::vector<std::int64_t>& sizes);

}  // namespace attn
