#pragma once
#include "attn/core/rules/evaluate.hpp"

namespace attn {

/// Whether an expression is a sum of products of two cells, as a product of matrices is.
bool is_product(const RuleNode& node);

/// Whether it asks which of the numbers within it is the largest, or the same. Their last digits
/// must be those of the same numbers elsewhere: no sum within is a product of matrices.
bool tells_apart(const RuleNode& node);

/// Works the sums of products of two cells, `sum k: weights[q,k] * values[k,f]` or of a part of a
/// matrix, `sum g: query[h,t,g] * w[h * 12 + g, f]`, as products of matrices, and keeps what they
/// make for the rule that is left: cells of these tensors. So are cells at other places,
/// `sum f: queries[q,f] * table[abs(q - k),f]`, and factors that add cells.
class Products {
public:
    explicit Products(bool at_letters_alone = false) : at_letters_alone_(at_letters_alone) {}

    /// The rule without such sums.
    Rule taken_from(const Rule& rule, const Outline& made, DType dtype, const RuleScope& scope);
    /// What one of its cells reads; nothing of other names.
    const Tensor* find(const std::string& name) const;
    /// Whether some of them are read at other places: what is wrong with such a place is then not
    /// told by the names of the rule.
    bool at_places() const { return at_places_; }

private:
    bool at_letters_alone_;
    bool at_places_ = false;
    std::map<std::string, Tensor> made_;
};

}  // namespace attn
