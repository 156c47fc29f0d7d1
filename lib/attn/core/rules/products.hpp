#pragma once
#include "attn/core/rules/evaluate.hpp"

namespace attn {

/// True if an expression is a sum of products of two cells, like a matrix product.
bool is_product(const RuleNode& node);

/// True if it compares numbers, for the largest or for equality. Their last digits must be the same
/// as elsewhere, so no sum in it may be a matrix product.
bool distinguishes_cells(const RuleNode& node);

/// Computes sums of products of two cells as matrix products, `sum k: weights[q,k] * values[k,f]`,
/// or with a part of a matrix, `sum g: query[h,t,g] * w[h * 12 + g, f]`, and keeps the results for
/// the remaining rule, which reads their cells. Also supports cells at computed places, `sum f:
/// queries[q,f] * table[abs(q - k),f]`, and factors that add cells.
class Products {
public:
    explicit Products(bool at_letters_alone = false) : at_letters_alone_(at_letters_alone) {}

    /// Returns the rule with cells in place of such sums.
    Rule extract_products(const Rule& rule, const Outline& outline, DType dtype,
                          const RuleScope& scope);
    /// Returns the tensor of one of its cells; nullptr for other names.
    const Tensor* find(const std::string& name) const;
    /// True if some of them are at computed places: an error there cannot be reported by the names
    /// of the rule.
    bool at_places() const { return at_places_; }

private:
    bool at_letters_alone_;
    bool at_places_ = false;
    std::map<std::string, Tensor> computed_;
};

}  // namespace attn
