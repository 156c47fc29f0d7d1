#include "attn/core/rules/products.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "attn/core/rules/indices.hpp"
#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Letters = std::vector<std::string>;

bool has(const Letters& letters, const std::string& letter) {
    return std::ranges::count(letters, letter) > 0;
}

/// The lengths of a rule's letters.
using Lengths = std::map<std::string, std::size_t>;

/// True if any part of an expression distinguishes_cells().
bool distinguishes_some(const RuleNode& node) {
    return distinguishes_cells(node) || std::ranges::any_of(node.parts, [](const RuleTree& part) {
               return distinguishes_some(*part);
           });
}

/// True if an expression only adds and subtracts cells and numbers; collects the letters of the
/// cells, each within its axis.
bool adds_cells(const RuleNode& node, const Lengths& known, const RuleScope& scope,
                Letters& letters) {
    if (node.kind == Kind::number) return true;
    if (is_operation(node, "+") || is_operation(node, "-")) {
        return std::ranges::all_of(node.parts, [&](const RuleTree& part) {
            return adds_cells(*part, known, scope, letters);
        });
    }
    if (node.kind != Kind::cell) return false;
    const Tensor& tensor = scope.tensor(node.word);
    if (!tensor.is_floating()) return false;
    for (std::size_t axis = 0; axis < node.parts.size(); ++axis) {
        const std::string& letter = node.parts[axis]->word;
        const auto specified = known.find(letter);
        const bool fits = node.parts[axis]->kind == Kind::name && specified != known.end() &&
                          specified->second <= tensor.shape()[axis];
        if (!fits) return false;
        if (!has(letters, letter)) letters.push_back(letter);
    }
    return true;
}

/// A cell whose indices are integer multiples of letters, each of which occurs once, `w_key_value[h
/// * 12 + g, f]`, or its absolute value. Any other index that does not depend on summation indices,
/// `place_key[h, distance[q,k], f]`, gets a letter of its own that runs over its whole axis.
struct Factor {
    std::string side;  ///< left or right
    const Tensor* tensor = nullptr;
    bool is_absolute = false;
    Letters letters{};
    Shape lengths{}, strides{};  ///< of the letters
    std::size_t offset = 0;
    std::map<std::string, RuleTree> places{};  ///< the indices with a letter of their own
    RuleTree sum{};                            ///< a sum of cells in place of a single one
    std::shared_ptr<const Tensor> worked_out{};

    static std::optional<Factor> of(const std::string& side, const RuleNode& node,
                                    const Letters& sums, const Lengths& known,
                                    const RuleScope& scope) {
        const bool is_absolute = node.kind == Kind::call && node.word == "abs";
        const RuleNode& cell = is_absolute ? *node.parts[0] : node;
        if (cell.kind != Kind::cell) return std::nullopt;
        Factor factor{side, &scope.tensor(cell.word), is_absolute};
        if (!factor.tensor->is_floating()) return std::nullopt;
        const Shape shape = factor.tensor->shape(), strides = row_strides(shape);
        for (std::size_t axis = 0; axis < cell.parts.size(); ++axis) {
            const RuleTree& index = cell.parts[axis];
            const bool fits =
                index->kind == Kind::name
                    ? factor.add_letter(index->word, known, shape[axis], strides[axis])
                    : factor.add_letters(*index, known, shape[axis], strides[axis]) ||
                          factor.add_place(index, sums, shape[axis], strides[axis]);
            if (!fits) return std::nullopt;
        }
        return factor;
    }

    /// Parses a sum of cells: `queries[h,q,f] + offset[h,f]`.
    static std::optional<Factor> of_sum(const std::string& side, const RuleTree& node,
                                        const Lengths& known, const RuleScope& scope) {
        Factor factor{side};
        if (!adds_cells(*node, known, scope, factor.letters)) return std::nullopt;
        for (const std::string& letter : factor.letters) {
            factor.lengths.push_back(known.at(letter));
        }
        factor.strides = row_strides(factor.lengths);
        factor.sum = node;
        return factor;
    }

    void evaluate_node(DType dtype, const RuleScope& scope) {
        if (sum == nullptr) return;
        worked_out = std::make_shared<const Tensor>(evaluate_completed(
            Rule("", "factor", letters, sum), {letters, lengths}, dtype, {scope.tensor, {}}));
        tensor = worked_out.get();
    }

    std::size_t place(const std::string& letter) const {
        return static_cast<std::size_t>(std::ranges::find(letters, letter) - letters.begin());
    }
    std::size_t length(const std::string& letter) const { return lengths[place(letter)]; }

    /// Arranges it as matrices of rows and summed letters, one per combination of shared letters.
    template <class T>
    Array<T> laid(const Letters& shared, const Letters& rows, const Letters& sums) const {
        Shape shape, stride, folded{1, 1, 1};
        for (std::size_t group = 0; const Letters* part : {&shared, &rows, &sums}) {
            for (const std::string& letter : *part) {
                shape.push_back(length(letter));
                stride.push_back(strides[place(letter)]);
                folded[group] *= shape.back();
            }
            ++group;
        }
        const DType type = sizeof(T) == 8 ? DType::float64 : DType::float32;
        Array<T> matrices = cast(strided(*tensor, shape, stride, offset), type).template as<T>();
        matrices.reshape(folded);
        if (is_absolute) {
            for (T& cell : std::span(matrices.data(), matrices.size())) cell = std::abs(cell);
        }
        return matrices;
    }

private:
    /// Adds a letter. A cell beyond the axis is not used here: reading it is an error.
    bool add_letter(const std::string& letter, const Lengths& known, std::size_t length,
                    std::size_t stride) {
        if (has(letters, letter)) return false;
        const auto specified = known.find(letter);
        letters.push_back(letter);
        lengths.push_back(specified == known.end() ? length : std::min(length, specified->second));
        strides.push_back(stride);
        return true;
    }

    bool add_letters(const RuleNode& index, const Lengths& known, std::size_t length,
                     std::size_t stride) {
        const std::optional<Linear> linear = Linear::of(index, {});
        if (!linear || linear->constant() < 0) return false;
        double last = linear->constant();
        for (const Linear::Part& part : linear->parts()) {
            const auto specified = known.find(part.atom->word);
            const bool is_letter = part.atom->kind == Kind::name && specified != known.end();
            if (!is_letter || part.factor < 1 || specified->second == 0 ||
                has(letters, part.atom->word)) {
                return false;
            }
            last += part.factor * static_cast<double>(specified->second - 1);
        }
        if (last >= static_cast<double>(length)) return false;
        for (const Linear::Part& part : linear->parts()) {
            const auto factor = static_cast<std::size_t>(part.factor);
            add_letter(part.atom->word, known, known.at(part.atom->word), factor * stride);
        }
        offset += static_cast<std::size_t>(linear->constant()) * stride;
        return true;
    }

    bool add_place(const RuleTree& index, const Letters& sums, std::size_t length,
                   std::size_t stride) {
        const auto holds = [&](const std::string& letter) { return holds_index(*index, letter); };
        if (std::ranges::any_of(sums, holds)) return false;
        const std::string letter = side + std::to_string(places.size());
        places.emplace(letter, index);
        return add_letter(letter, {}, length, stride);
    }
};

/// Computes the products of rows of `a` and of `b`, matrix by matrix.
///
/// Shapes  a (shared, m, k); b (shared, n, k); result (shared, m, n).
template <class T>
Array<T> dot_products(const Array<T>& a, const Array<T>& b, const Arithmetic& arithmetic) {
    const std::size_t m = a.shape()[1], n = b.shape()[1], k = a.shape()[2];
    Array<T> result = empty_array<T>({a.shape()[0], m, n});
    for (std::size_t s = 0; s < a.shape()[0]; ++s) {
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                const T* const row = &a(s, i, 0);
                const T* const column = &b(s, j, 0);
                result(s, i, j) = loop::dot<T>(
                    arithmetic, k, [&](std::size_t p) { return std::pair(row[p], column[p]); });
            }
        }
    }
    return result;
}

/// A sum that is a matrix product, with the roles of its letters.
struct Product {
    Factor left, right;
    Letters shared{}, rows{}, columns{}, sums{};

    static std::optional<Product> of(const RuleNode& sum, Lengths lengths, bool at_letters_alone,
                                     DType dtype, const RuleScope& scope) {
        Letters sums;
        const RuleNode* node = &sum;
        for (; node->kind == Kind::reduce; node = node->parts.back().get()) {
            const RuleNode& end = *node->parts[1];
            const bool is_whole = node->word == "sum" && is_number(*node->parts[0], 0) &&
                                  end.kind == Kind::number && end.number >= 1;
            if (!is_whole) return std::nullopt;
            sums.push_back(node->index);
            lengths[node->index] = static_cast<std::size_t>(end.number);
        }
        if (sums.empty() || !is_operation(*node, "*")) return std::nullopt;
        const auto factor = [&](const std::string& side, const RuleTree& part) {
            auto one = Factor::of(side, *part, sums, lengths, scope);
            // In 16 bits each sum is rounded, but the factors of a product are not.
            const bool may_add = !one && !at_letters_alone && !is_16_bit(dtype);
            return may_add ? Factor::of_sum(side, part, lengths, scope) : one;
        };
        const auto left = factor("left ", node->parts[0]);
        const auto right = factor("right ", node->parts[1]);
        if (!left || !right) return std::nullopt;
        Product product{*left, *right};
        if (at_letters_alone && product.is_at_places()) return std::nullopt;
        for (const std::string& letter : sums) {
            const bool is_whole =
                has(left->letters, letter) && left->length(letter) == lengths.at(letter);
            if (!is_whole) return std::nullopt;
        }
        for (const std::string& letter : left->letters) {
            const bool is_shared = has(right->letters, letter);
            if (is_shared && left->length(letter) != right->length(letter)) return std::nullopt;
            if (has(sums, letter) && !is_shared) return std::nullopt;
            (has(sums, letter) ? product.sums
             : is_shared       ? product.shared
                               : product.rows)
                .push_back(letter);
        }
        for (const std::string& letter : right->letters) {
            if (has(left->letters, letter)) continue;
            if (has(sums, letter)) return std::nullopt;
            product.columns.push_back(letter);
        }
        // Without rows or columns it is a sum of cells, added from left to right.
        const bool is_matrix = !product.rows.empty() && !product.columns.empty();
        const bool sums_all = product.sums.size() == sums.size();
        if (!is_matrix || !sums_all || !product.is_worth_it(*node, lengths)) return std::nullopt;
        product.left.evaluate_node(dtype, scope);
        product.right.evaluate_node(dtype, scope);
        return product;
    }

    bool is_at_places() const { return !left.places.empty() || !right.places.empty(); }

    /// True if it has not many more cells than are read, unlike a table of which few rows are used.
    bool is_worth_it(const RuleNode& factors, const Lengths& known) const {
        if (!is_at_places()) return true;
        double read = 4;
        for (const auto& [letter, length] : known) {
            if (!has(sums, letter) && holds_index(factors, letter)) {
                read *= static_cast<double>(length);
            }
        }
        return cell_count(shape()) <= read;
    }

    Letters letters() const {
        Letters all = shared;
        all.insert(all.end(), rows.begin(), rows.end());
        all.insert(all.end(), columns.begin(), columns.end());
        return all;
    }

    Shape shape() const {
        Shape lengths;
        for (const Letters* part : {&shared, &rows}) {
            for (const std::string& letter : *part) lengths.push_back(left.length(letter));
        }
        for (const std::string& letter : columns) lengths.push_back(right.length(letter));
        return lengths;
    }

    /// Returns the cell that replaces the sum.
    RuleTree cell_of(const std::string& tensor) const {
        std::vector<RuleTree> indices;
        for (const std::string& letter : letters()) {
            const auto& places = letter.starts_with(left.side) ? left.places : right.places;
            const auto place = places.find(letter);
            indices.push_back(place == places.end() ? name_node(letter) : place->second);
        }
        return cell_node(tensor, indices);
    }

    Tensor evaluated(DType dtype, const std::optional<Arithmetic>& dots) const {
        return with_floating(dtype, [&]<class T>(T) -> Tensor {
            const Array<T> a = left.laid<T>(shared, rows, sums);
            const Array<T> b = right.laid<T>(shared, columns, sums);
            Array<T> result = dots ? dot_products(a, b, *dots) : matmul(a, b, Second::transposed);
            result.reshape(shape());
            return cast({letters(), std::move(result)}, dtype);
        });
    }
};

}  // namespace

bool distinguishes_cells(const RuleNode& node) {
    static constexpr std::array words{"max", "min", "argmax", "rank"};
    const bool picks = node.kind != Kind::cell && std::ranges::count(words, node.word) > 0;
    const bool compares = node.kind == Kind::operate && gives_truth(node);
    return (picks || compares) && reads_cells(node);
}

bool is_product(const RuleNode& node) {
    const RuleNode* body = &node;
    while (body->kind == Kind::reduce && body->word == "sum") body = body->parts.back().get();
    return body != &node && is_operation(*body, "*") &&
           std::ranges::all_of(body->parts,
                               [](const RuleTree& part) { return part->kind == Kind::cell; });
}

Rule Products::extract_products(const Rule& rule, const Outline& evaluated, DType dtype,
                                const RuleScope& scope) {
    Lengths lengths;
    for (std::size_t i = 0; i < rule.indices.size(); ++i) {
        lengths[rule.indices[i]] = evaluated.shape.at(i);
    }
    const bool at_letters_alone = at_letters_alone_ || distinguishes_some(*rule.value);
    Rule left = rule;
    left.value = changed(rule.value, [&](const RuleNode& node) -> RuleTree {
        const std::optional<Product> product =
            Product::of(node, lengths, at_letters_alone, dtype, scope);
        if (!product) return nullptr;
        const std::string name = "product " + std::to_string(computed_.size());
        computed_.emplace(name, product->evaluated(dtype, scope.dots));
        at_places_ = at_places_ || product->is_at_places();
        return product->cell_of(name);
    });
    return left;
}

const Tensor* Products::find(const std::string& name) const {
    const auto found = computed_.find(name);
    return found == computed_.end() ? nullptr : &found->second;
}

}  // namespace attn
