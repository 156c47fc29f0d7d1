#include <numeric>

#include "attn/core/plan/plan.hpp"
#include "attn/core/plan/projected.hpp"

namespace attn {

bool Plan::traces_blocks() const {
    constexpr std::size_t most_tokens = 64;
    return fused() && query_len <= most_tokens && key_len <= most_tokens;
}

bool Plan::has_x() const {
    return config.projection != Projection::none ||
           !std::holds_alternative<RandomInput>(config.input);
}

bool Plan::one_weight() const {
    return config.projection == Projection::fused ||
           config.projection == Projection::fused_by_head ||
           (config.projection == Projection::mha && memory_dim == embed_dim);
}

bool Plan::head_axis_on_weight() const {
    return has_head &&
           (config.projection == Projection::stacked || config.projection == Projection::per_head);
}

Axes Plan::per_head_axes(std::string rows, std::string columns) const {
    Axes axes = per_batch_axes(std::move(rows), std::move(columns));
    if (has_head) axes.insert(axes.end() - 2, "head");
    return axes;
}

Axes Plan::per_batch_axes(std::string rows, std::string columns) const {
    Axes axes{std::move(rows), std::move(columns)};
    if (has_batch) axes.insert(axes.begin(), "batch");
    return axes;
}

Shape Plan::per_head_shape(std::size_t rows, std::size_t columns) const {
    return per_head_shape(rows, columns, heads);
}

Shape Plan::per_head_shape(std::size_t rows, std::size_t columns, std::size_t of_heads) const {
    Shape shape = per_batch_shape(rows, columns);
    if (has_head) shape.insert(shape.end() - 2, of_heads);
    return shape;
}

Shape Plan::per_batch_shape(std::size_t rows, std::size_t columns) const {
    Shape shape{rows, columns};
    if (has_batch) shape.insert(shape.begin(), batch);
    return shape;
}

std::vector<std::size_t> Plan::fused_features(std::size_t part) const {
    const std::size_t width = part == 2 ? value_dim : head_dim;
    const bool by_head = config.projection == Projection::fused_by_head;
    const std::size_t all_before =
        part == 0 ? 0 : heads * head_dim + (part - 1) * kv_heads * head_dim;
    const std::size_t part_start = by_head ? part * head_dim : all_before;
    const std::size_t head_stride = by_head ? 2 * head_dim + value_dim : width;
    const std::size_t of_heads = part == 0 ? heads : part == 1 ? kv_heads : value_heads();
    std::vector<std::size_t> features;
    features.reserve(of_heads * width);
    for (std::size_t h = 0; h < of_heads; ++h) {
        for (std::size_t f = 0; f < width; ++f) {
            features.push_back(part_start + h * head_stride + f);
        }
    }
    return features;
}

void move_on(Plan& plan, std::size_t past, std::size_t tokens) {
    plan.past_len = past;
    plan.query_len = tokens;
    plan.key_len = past + tokens;
    plan.config.past = static_cast<std::int64_t>(past);
    plan.config.query_len = plan.config.key_len = static_cast<std::int64_t>(tokens);
    plan.config.positions.resize(tokens);
    std::iota(plan.config.positions.begin(), plan.config.positions.end(), *plan.config.past);
}

const std::array<Projected, 3>& query_key_value() {
    static const std::array<Projected, 3> all{
        {{0, "query", "query"}, {1, "key", "key"}, {2, "value", "key"}}};
    return all;
}

const Projected& projected_of(char letter) {
    return query_key_value()[letter == 'q' ? 0 : letter == 'k' ? 1 : 2];
}

}  // namespace attn
