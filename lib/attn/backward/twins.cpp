#include "attn/backward/graph.hpp"

#include <algorithm>

#include "attn/cards/cards.hpp"
#include "attn/steps/backward.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// The sum of the products of two cells, all of whose indices are plain.
struct CellProducts {
    std::vector<std::string> sums;
    const RuleNode* left = nullptr;
    const RuleNode* right = nullptr;

    bool sums_over(const std::vector<std::string>& indices) const {
        return std::ranges::is_permutation(sums, indices);
    }
};

bool is_plain(const RuleNode& cell) {
    return cell.kind == Kind::cell && std::ranges::all_of(cell.parts, [](const RuleTree& part) {
               return part->kind == Kind::name;
           });
}

std::optional<CellProducts> cell_products(const RuleNode& gradient) {
    CellProducts products;
    const RuleNode* node = &gradient;
    for (; node->kind == Kind::reduce; node = node->parts.back().get()) {
        if (node->word != "sum" || node->parts.size() != 1) return std::nullopt;
        products.sums.push_back(node->index);
    }
    if (node->kind != Kind::operate || node->word != "*") return std::nullopt;
    products.left = node->parts[0].get();
    products.right = node->parts[1].get();
    if (!is_plain(*products.left) || !is_plain(*products.right)) return std::nullopt;
    return products;
}

std::string index_of(const RuleNode& cell, std::size_t from_end) {
    return cell.parts[cell.parts.size() - from_end]->word;
}

/// Whether all axes but the last two are read by the same indices, and are as long.
bool same_leading(const CellProducts& of, const BackwardGraph& graph) {
    const Shape left = graph[of.left->word.substr(2)].outline.shape;
    const Shape right = graph[of.right->word].outline.shape;
    if (left.size() != right.size() || left.size() < 2) return false;
    for (std::size_t axis = 0; axis + 2 < left.size(); ++axis) {
        if (left[axis] != right[axis]) return false;
        if (of.left->parts[axis]->word != of.right->parts[axis]->word) return false;
    }
    return true;
}

/// Two tensors of the ledger through one of two functions.
template <class Twins>
GradientTwin of_two(const CellProducts& products, const std::string& made, const Twins& twins) {
    return [left = products.left->word, right = products.right->word, made, twins](
               const Plan& plan, const Ledger& ledger) -> Tensor {
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            return {ledger[made].axes(),
                    twins(plan, cast(ledger[left], plan.compute_dtype).template as<T>(),
                          cast(ledger[right], plan.compute_dtype).template as<T>())};
        });
    };
}

/// A function of two tensors, as loop or whole arrays.
#define ATTN_OF_TWO(function, ...)                                            \
    [](const Plan& plan, const auto& one, const auto& other) {                \
        return is_loop(plan) ? loop::function(one, other, __VA_ARGS__)        \
                             : vectorized::function(one, other, __VA_ARGS__); \
    }

GradientTwin product_twin(const CellProducts& of, const std::vector<std::string>& indices,
                          const std::string& tensor) {
    const std::string row = index_of(*of.left, 2);
    const std::string column = index_of(*of.left, 1);
    const bool by_rows = index_of(*of.right, 2) == of.sums[0];
    if (of.sums[0] == column && by_rows) {
        return of_two(of, tensor, ATTN_OF_TWO(d_query, plan.attention_arithmetic));
    }
    if (of.sums[0] == column && index_of(*of.right, 1) == column) {
        return of_two(of, tensor, ATTN_OF_TWO(d_weights, plan.attention_arithmetic));
    }
    if (of.sums[0] != row || !by_rows) return {};
    if (indices.back() == column) {
        return of_two(of, tensor, ATTN_OF_TWO(d_value, plan.attention_arithmetic));
    }
    return of_two(of, tensor, ATTN_OF_TWO(d_key, plan.attention_arithmetic));
}

/// Back through a product with a parameter: to what was projected, or to the parameter.
GradientTwin projection_twin(const CellProducts& of, const std::string& tensor) {
    if (of.right->word.starts_with("w_") && of.right->parts.size() == 2 &&
        of.sums_over({index_of(*of.left, 1)})) {
        return of_two(of, tensor,
                      ATTN_OF_TWO(d_projected_x, *plan.config.weight_layout, plan.arithmetic));
    }
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i + 1 < of.right->parts.size(); ++i) {
        tokens.push_back(of.right->parts[i]->word);
    }
    const bool same_tokens = of.left->parts.size() == of.right->parts.size();
    if (!tensor.starts_with("w_") || !same_tokens || !of.sums_over(tokens)) return {};
    return of_two(of, tensor,
                  ATTN_OF_TWO(d_projection, *plan.config.weight_layout, plan.arithmetic));
}
#undef ATTN_OF_TWO

/// Back through a rotation: its rule reads the tensor, cosines and sines.
GradientTwin rotation_twin(const BackwardNode& reader, const std::string& tensor) {
    std::vector<std::string> read = tensors_read(*reader.rule);
    std::erase(read, tensor);
    const auto named = [&](const char* end) {
        return std::ranges::find_if(read,
                                    [&](const std::string& name) { return name.ends_with(end); });
    };
    const auto cos = named("cos");
    const auto sin = named("sin");
    if (read.size() != 2 || cos == read.end() || sin == read.end()) return {};
    return [from = "d_" + reader.step->name, cos = *cos, sin = *sin](
               const Plan& plan, const Ledger& ledger) -> Tensor {
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            const Tensor& rotated = ledger[from];
            const auto step = twin(plan, loop::rotate_back<T>, vectorized::rotate_back<T>);
            return {rotated.axes(),
                    step(rotated.as<T>(), ledger[cos].as<T>(), ledger[sin].as<T>(),
                         *plan.config.rotary.pairing, plan.first_rotated(rotated.shape().back()))};
        });
    };
}

/// Back through a look-up of rows.
GradientTwin look_up_twin(const BackwardNode& reader, const std::string& tensor,
                          const BackwardGraph& graph) {
    const RuleNode& cell = *reader.rule->value;
    std::vector<std::string> read;
    for (std::size_t i = 0; cell.kind == Kind::cell && i < cell.parts.size(); ++i) {
        const RuleNode& part = *cell.parts[i];
        if (i == 0 && !is_plain(part)) return {};
        for (const RuleTree& index : part.parts) read.push_back(index->word);
        if (i == 1) read.push_back(part.word);
    }
    const bool looks_up = cell.kind == Kind::cell && cell.word == tensor &&
                          cell.parts.size() == 2 && read == reader.rule->indices;
    if (!looks_up) return {};
    return [from = "d_" + reader.step->name, ids = cell.parts[0]->word, of = graph[tensor].outline](
               const Plan& plan, const Ledger& ledger) -> Tensor {
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            const auto step = twin(plan, loop::d_embedding<T>, vectorized::d_embedding<T>);
            return {of.axes,
                    step(ledger[from].as<T>(), ledger[ids].as<std::int64_t>(), of.shape[0])};
        });
    };
}

/// The weights and their gradient, and the axis that softmax went along.
struct SoftmaxCells {
    const Tensor &weights, &gradient;
    std::size_t axis;

    explicit SoftmaxCells(const Ledger& ledger)
        : weights(ledger["weights"]), gradient(ledger["d_weights"]), axis(0) {
        const Axes& row = ledger["row_max"].axes();
        while (axis < row.size() && weights.axes()[axis] == row[axis]) ++axis;
    }
};

}  // namespace

GradientTwin gradient_twin(const BackwardNode& reader, const std::string& tensor,
                           const RuleTree& gradient, const BackwardGraph& graph, const Plan& plan) {
    if (!reader.step->mistake.empty()) return {};
    if (plan.rotates() && reader.step->name.starts_with("rotated_")) {
        return rotation_twin(reader, tensor);
    }
    if (GradientTwin twin = look_up_twin(reader, tensor, graph)) return twin;
    const std::optional<CellProducts> products = cell_products(*gradient);
    if (!products || products->left->word != "d_" + reader.step->name) return {};
    const std::vector<std::string> indices = BackwardGraph::indices_of(graph[tensor].outline);
    if (products->sums.size() == 1 && same_leading(*products, graph)) {
        if (GradientTwin twin = product_twin(*products, indices, tensor)) return twin;
    }
    return projection_twin(*products, tensor);
}

GradientTwin row_dot_twin() {
    return [](const Plan& plan, const Ledger& ledger) -> Tensor {
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            const SoftmaxCells of(ledger);
            const auto step = twin(plan, loop::row_dot<T>, vectorized::row_dot<T>);
            return {ledger["row_max"].axes(),
                    step(of.weights.as<T>(), of.gradient.as<T>(), of.axis)};
        });
    };
}

GradientTwin softmax_twin() {
    return [](const Plan& plan, const Ledger& ledger) -> Tensor {
        return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
            const SoftmaxCells of(ledger);
            const auto step = twin(plan, loop::d_softmax<T>, vectorized::d_softmax<T>);
            return {of.weights.axes(), step(of.weights.as<T>(), of.gradient.as<T>(),
                                            ledger["row_dot"].as<T>(), of.axis)};
        });
    };
}

}  // namespace attn
