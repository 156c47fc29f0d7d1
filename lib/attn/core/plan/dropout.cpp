#include <vector>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/resolve.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Place = Dropout::Place;

/// Returns the given mask, broadcast to all cells of the place.
///
/// Errors  ConfigError for a number other than 0 and 1, ShapeError for a shape that does not fit.
Tensor whole_mask(const Tensor& given, const DrawnTensor& row) {
    const Shape shape = row.shape();
    const std::vector<std::size_t> strides =
        broadcast_strides("$dropout-mask: the tensor"_message, given.shape(),
                          "the " + std::string(word(row.seeds->dropout.place)), shape);
    Array<double> cells = empty_array<double>(shape);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        std::size_t from = 0;
        for (std::size_t axis = shape.size(), rest = i; axis-- > 0; rest /= shape[axis]) {
            from += rest % shape[axis] * strides[axis];
        }
        const double cell = cells.data()[i] = given.at(from);
        refuse_unless(cell == 0 || cell == 1, "$dropout-mask contains "_message +
                                                  json_number(cell) +
                                                  ": it must be of booleans, or 1 for a cell that "
                                                  "is kept and 0 for one that is dropped");
    }
    return {row.axes(), std::move(cells)};
}

}  // namespace

void resolve_dropout(Plan& plan) {
    Dropout& dropout = plan.config.dropout;
    refuse_unless(
        dropout.p >= 0 && dropout.p < 1,
        "$dropout takes a probability from 0 to below 1 (1 would keep nothing), not "_message +
            json_number(dropout.p));
    if (!plan.drops()) return;
    refuse_unless(
        dropout.place != Place::output || plan.config.output_projection,
        "$dropout-place output is after the output projection: add $output-projection, or "
        "use $dropout-place context"_message);
    if (!dropout.seed) dropout.seed = plan.config.seed;
    if (!dropout.keep) return;
    plan.config.parameters.record(dropout.keep_name(), whole_mask(*dropout.keep, *kept_row(plan)));
    dropout.keep.reset();
}

std::optional<DrawnTensor> kept_row(const Plan& plan) {
    if (!plan.drops()) return std::nullopt;
    const Dropout& dropout = plan.config.dropout;
    const bool of_output = dropout.place == Place::output;
    DrawnTensor row{dropout.keep_name(), dropout.keep_name(), {}};
    row.seeds = &plan.config;
    if (plan.has_batch) row.extents.push_back({"batch", plan.batch});
    if (of_output) {
        row.extents.push_back({"token", plan.query_len});
        row.extents.push_back({"feature", plan.output_dim});
        return row;
    }
    const bool of_weights = dropout.place == Place::weights;
    if (plan.has_head) {
        row.extents.push_back({"head", of_weights ? plan.heads : plan.context_heads()});
    }
    row.extents.push_back({"query", plan.query_len});
    row.extents.push_back(of_weights ? Extent{"key", plan.key_len}
                                     : Extent{"feature", plan.value_dim});
    return row;
}

template <class T>
void draw_kept(std::span<T> cells, const WalkConfig& config) {
    const Dropout& dropout = config.dropout;
    const auto generator =
        make_generator(config.rng, dropout.seed.value_or(config.seed), config.torch_build);
    std::vector<double> chances(cells.size());
    generator->rand(std::span<double>(chances));
    const bool is_torch = config.rng == Rng::torch;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool is_kept = is_torch ? chances[i] < dropout.share() : chances[i] >= dropout.p;
        cells[i] = is_kept ? T{1} : T{0};
    }
}

template void draw_kept(std::span<float>, const WalkConfig&);
template void draw_kept(std::span<double>, const WalkConfig&);

}  // namespace attn
