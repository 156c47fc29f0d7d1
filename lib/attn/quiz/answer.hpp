#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor/array.hpp"

namespace attn {

/// The one right answer to a question.
struct RightAnswer {
    enum class Kind { number, shape, names };
    Kind kind = Kind::number;
    double number = 0;
    Shape shape{};
    /// All that are to be named, in any order, each by one of its spellings: `2` or `eat`.
    std::vector<std::vector<std::string>> names{};
    std::vector<std::string> others{};  ///< names that are wrong here; empty: all others are
};

/// What is to be said of an answer.
struct Verdict {
    enum class Is { right, wrong, unread };
    Is is = Is::wrong;
    std::string advice{};  ///< of an answer that is unread, neither right nor wrong: what to write
};

/// Compares what somebody typed with the right answer.
///
/// Range   A number has two significant digits or more, unless it is exact, and is right within
///         half a unit of its last digit: 0.52 and .5167 for 0.516667. Arithmetic is right within
///         a thousandth: 31/60, ln 2, 1/sqrt(2). A shape is its numbers: (2,3), 2x3, [2, 3].
Verdict check_answer(const RightAnswer& right, std::string_view typed);

}  // namespace attn
