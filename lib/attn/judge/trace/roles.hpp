#pragma once
#include <optional>
#include <vector>

#include "attn/judge/trace/cores.hpp"

namespace attn {

/// A tensor in our order of axes.
struct Arranged {
    Shape shape;
    std::vector<double> all;
    DType dtype = DType::float32;

    /// Names the axes axis0, axis1, ...
    Tensor tensor() const;
};

/// Reads a tensor with these of its axes, in this order; -1 broadcasts it along an axis of that
/// length.
Arranged arranged(const Traced& tensor, const std::vector<int>& axes, const Shape& lengths);
/// Reads it with these of its axes alone.
Arranged arranged(const Traced& tensor, const std::vector<int>& axes);

/// Returns the axes of an operand for these axes of the result (or, if negative, for these sums);
/// -1 for those that it lacks.
std::vector<int> axes_for(const std::vector<int>& of_operand, const std::vector<int>& wanted);

/// True if the numbers by (sample, head, token, feature) are (sample, token, head * feature) in
/// this tensor.
bool has_samples_first(const Traced& merged, const Arranged& context);

/// Concatenates two tensors along an axis.
///
/// Shapes  equal except for the length of that axis.
Arranged beside(const Arranged& a, const Arranged& b, std::size_t axis);

/// The origin of a query, key or value: result = x . w (+ b), or a part of it.
struct Origin {
    std::size_t result, x, w;  ///< places in the trace
    std::optional<std::size_t> b;
    Contraction product;       ///< a is x
    Shape tokens;              ///< lengths of the axes of x that are not summed
    std::size_t channels = 0;  ///< of the result, per token
    /// The channel of each number of a token, (head, feature); empty if the tokens are not
    /// separate.
    std::vector<std::size_t> channel{};
    bool has_tokens_first = false;  ///< x is (token, sample, feature); `tokens` is as usual

    /// Exchanges samples and tokens.
    void turn();

    std::size_t rows() const { return element_count(tokens); }
};

/// The numbers of one role by (rest..., token, feature), and their origin.
struct Operand {
    std::size_t place = 0;    ///< in the trace
    std::vector<int> axes{};  ///< of the tensor there, in our order
    Arranged numbers{};
    std::optional<Origin> origin{};
};

/// Finds the origins of roles by their numbers: every token of a query is among the channels of the
/// same token of x . w.
class Origins {
public:
    explicit Origins(const Trace& trace);

    /// Returns the origin of numbers (rest..., token, feature), among tensors before `before`.
    std::optional<Origin> of(const Arranged& numbers, std::size_t before) const;

    /// Finds a product of `x` (any tensor if not given) with a matrix, and its sum with a bias.
    std::optional<Origin> product_at(std::size_t result, std::optional<std::size_t> x) const;

    /// Returns the first tensor in [`from`, `to`) with the same numbers in any order; joined passes
    /// of a loop count only if `may_be_joined` is true.
    std::optional<std::size_t> same_numbers(const std::vector<double>& numbers, std::size_t from,
                                            std::size_t to, bool may_be_joined = true) const;

    /// Returns parameters by (channel, feature of x) for these channels of an origin; for all if
    /// `channels` is empty.
    Arranged matrix(const Origin& origin, const std::vector<std::size_t>& channels) const;
    Arranged bias(const Origin& origin, const std::vector<std::size_t>& channels) const;
    /// Returns x by (tokens..., feature), and the result by (tokens..., channel).
    Arranged input(const Origin& origin) const;
    Arranged output(const Origin& origin, const std::vector<std::size_t>& channels) const;

private:
    std::optional<Origin> of_tokens(const Arranged& numbers, std::size_t before) const;
    /// Finds the channel of each number of a token; returns false if tokens differ in it.
    bool take_channels(Origin& origin, const Arranged& numbers) const;

    const Trace& trace_;
    std::vector<std::vector<double>> sorted_;
};

/// Returns all channels in order.
std::vector<std::size_t> all_channels(const Origin& origin);

}  // namespace attn
