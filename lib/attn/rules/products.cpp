#include "attn/rules/products.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "attn/simd/matmul.hpp"
#include "attn/tensor/slice.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Letters = std::vector<std::string>;

bool has(const Letters& letters, const std::string& letter) {
    return std::ranges::count(letters, letter) > 0;
}

/// A cell whose indices are plain and all different, or its absolute value.
struct Factor {
    const Tensor* tensor = nullptr;
    bool is_absolute = false;
    Letters letters{};

    static std::optional<Factor> of(const RuleNode& node, const RuleScope& scope) {
        const bool is_absolute = node.kind == Kind::call && node.word == "abs";
        const RuleNode& cell = is_absolute ? *node.parts[0] : node;
        if (cell.kind != Kind::cell) return std::nullopt;
        Factor factor{&scope.tensor(cell.word), is_absolute};
        for (const RuleTree& part : cell.parts) {
            if (part->kind != Kind::name || has(factor.letters, part->word)) return std::nullopt;
            factor.letters.push_back(part->word);
        }
        return factor.tensor->is_floating() ? std::optional(factor) : std::nullopt;
    }

    std::size_t length(const std::string& letter) const {
        const auto at = std::ranges::find(letters, letter) - letters.begin();
        return tensor->shape()[static_cast<std::size_t>(at)];
    }

    /// As matrices of rows and what is added up, one for each of the shared letters.
    template <class T>
    Array<T> laid(const Letters& shared, const Letters& rows, const Letters& sums) const {
        const Shape strides = row_strides(tensor->shape());
        Shape shape, stride, folded{1, 1, 1};
        for (std::size_t group = 0; const Letters* part : {&shared, &rows, &sums}) {
            for (const std::string& letter : *part) {
                const auto at = std::ranges::find(letters, letter) - letters.begin();
                shape.push_back(length(letter));
                stride.push_back(strides[static_cast<std::size_t>(at)]);
                folded[group] *= shape.back();
            }
            ++group;
        }
        const DType type = sizeof(T) == 8 ? DType::float64 : DType::float32;
        Array<T> matrices = cast(strided(*tensor, shape, stride), type).template as<T>();
        matrices.reshape(folded);
        if (is_absolute) {
            for (T& cell : std::span(matrices.data(), matrices.size())) cell = std::abs(cell);
        }
        return matrices;
    }
};

/// Such a sum, and what its letters are.
struct Product {
    Factor left, right;
    Letters shared{}, rows{}, columns{}, sums{};

    static std::optional<Product> of(const RuleNode& sum, const RuleScope& scope) {
        Letters sums;
        std::vector<RuleTree> ends;
        const RuleNode* node = &sum;
        for (; node->kind == Kind::reduce; node = node->parts.back().get()) {
            if (node->word != "sum" || !is_number(*node->parts[0], 0)) return std::nullopt;
            sums.push_back(node->index);
            ends.push_back(node->parts[1]);
        }
        if (sums.empty() || !is_operation(*node, "*")) return std::nullopt;
        const auto left = Factor::of(*node->parts[0], scope);
        const auto right = Factor::of(*node->parts[1], scope);
        if (!left || !right) return std::nullopt;
        Product product{*left, *right};
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const bool is_whole = has(left->letters, sums[i]) &&
                                  is_number(*ends[i], static_cast<double>(left->length(sums[i])));
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
        // What has no rows or no columns is a sum of cells, which is added up from left to right.
        const bool is_matrix = !product.rows.empty() && !product.columns.empty();
        const bool sums_all = product.sums.size() == sums.size();
        return is_matrix && sums_all ? std::optional(product) : std::nullopt;
    }

    Letters letters() const {
        Letters all = shared;
        all.insert(all.end(), rows.begin(), rows.end());
        all.insert(all.end(), columns.begin(), columns.end());
        return all;
    }

    Tensor made(DType dtype) const {
        Shape shape;
        for (const Letters* part : {&shared, &rows}) {
            for (const std::string& letter : *part) shape.push_back(left.length(letter));
        }
        for (const std::string& letter : columns) shape.push_back(right.length(letter));
        return with_floating(dtype, [&]<class T>(T) -> Tensor {
            Array<T> result = matmul(left.laid<T>(shared, rows, sums),
                                     right.laid<T>(shared, columns, sums), Second::transposed);
            result.reshape(shape);
            return cast({letters(), std::move(result)}, dtype);
        });
    }
};

}  // namespace

Rule Products::taken_from(const Rule& rule, DType dtype, const RuleScope& scope) {
    Rule left = rule;
    left.value = changed(rule.value, [&](const RuleNode& node) -> RuleTree {
        const std::optional<Product> product = Product::of(node, scope);
        if (!product) return nullptr;
        const std::string name = "product " + std::to_string(made_.size());
        made_.emplace(name, product->made(dtype));
        std::vector<RuleTree> indices;
        for (const std::string& letter : product->letters()) indices.push_back(name_node(letter));
        return cell_node(name, indices);
    });
    return left;
}

const Tensor* Products::find(const std::string& name) const {
    const auto found = made_.find(name);
    return found == made_.end() ? nullptr : &found->second;
}

}  // namespace attn
