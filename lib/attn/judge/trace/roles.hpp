#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/judge/trace/cores.hpp"

namespace attn {

/// A tensor in our order of axes.
struct Arranged {
    Shape shape;
    std::vector<double> all;
    DType dtype = DType::float32;

    /// Axes axis0, axis1, ...
    Tensor tensor() const;
};

/// Reads a tensor with these of its axes, in this order; -1 repeats it along an axis of that
/// length.
Arranged arranged(const Traced& tensor, const std::vector<int>& axes, const Shape& lengths);

/// Both side by side along an axis, the second after the first.
///
/// Shapes  the same but for the length of that axis.
Arranged beside(const Arranged& a, const Arranged& b, std::size_t axis);

/// Where a query, key or value comes from: result = x . w (+ b), of which it is all or a part.
struct Origin {
    std::size_t result, x, w;  ///< places in the trace
    std::optional<std::size_t> b;
    Contraction product;       ///< a is x
    Shape tokens;              ///< lengths of the axes of x that are not summed
    std::size_t channels = 0;  ///< of the result, for one token
    /// The channel of each number of a token, (head, feature); empty if the tokens are not apart.
    std::vector<std::size_t> channel{};

    std::size_t rows() const { return element_count(tokens); }
};

/// The numbers of one role by (rest..., token, feature), with what makes them.
struct Operand {
    std::size_t place = 0;    ///< in the trace
    std::vector<int> axes{};  ///< of the tensor there, in our order
    Arranged numbers{};
    std::optional<Origin> origin{};
};

/// Finds where roles come from. Numbers tell: every token of a query is among the channels of the
/// same token of x . w.
class Origins {
public:
    explicit Origins(const std::vector<Traced>& trace);

    /// The origin of numbers (rest..., token, feature) that are there at a time.
    std::optional<Origin> of(const Arranged& numbers, std::size_t before) const;

    /// The product of `x`, or of any tensor if it is not given, with a matrix; its sum with a bias.
    std::optional<Origin> product_at(std::size_t result, std::optional<std::size_t> x) const;

    /// The first tensor from `from` to before `to` with the same numbers in any order; also of the
    /// passes of a loop together if those may be.
    std::optional<std::size_t> same_numbers(const std::vector<double>& numbers, std::size_t from,
                                            std::size_t to, bool may_be_joined = true) const;

    /// Parameters by (channel, feature of x) for the channels of an origin; all of them if none are
    /// said.
    Arranged matrix(const Origin& origin, const std::vector<std::size_t>& channels) const;
    Arranged bias(const Origin& origin, const std::vector<std::size_t>& channels) const;
    /// x by (tokens..., feature), and the result by (tokens..., channel).
    Arranged input(const Origin& origin) const;
    Arranged output(const Origin& origin, const std::vector<std::size_t>& channels) const;

private:
    std::optional<Origin> of_tokens(const Arranged& numbers, std::size_t before) const;
    /// Finds the channel of each number of a token; false if some token has others.
    bool take_channels(Origin& origin, const Arranged& numbers) const;

    const std::vector<Traced>& trace_;
    std::vector<std::vector<double>> sorted_;
};

/// All channels in order.
std::vector<std::size_t> all_channels(const Origin& origin);

}  // namespace attn
