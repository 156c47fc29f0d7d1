#include "attn/walk/config.hpp"

#include <cmath>

#include "attn/tensor/error.hpp"
#include "attn/walk/words.hpp"

namespace attn {

void refuse_unknown_values(const WalkConfig& config) {
    const auto is_known = [](auto... choices) { return ((word(choices) != "?") && ...); };
    refuse_unless(
        is_known(*config.dtype, *config.compute_dtype, config.projection, config.rng,
                 config.torch_build, config.variant, config.softmax_axis, config.empty_row,
                 config.causal_align, config.sink.value_or(SinkLogit::zero),
                 config.weight_layout.value_or(WeightLayout::out_in)),
        "dtype, compute-dtype (float32 or float64) or another choice has a value beyond its words");
    refuse_unless(!std::isnan(config.scale.number), "scale must be a number, not nan");
    refuse_unless(config.layer >= 0, "layer must not be negative: layers count from 0");
    const std::optional<Tensor>& mask = config.mask.given;
    refuse_unless(!mask || mask->dtype() == DType::boolean,
                  "the given mask must be of bool, true where a key is hidden");
    refuse_unless(!config.position_bias || !config.position_bias->given ||
                      config.position_bias->given->is_floating(),
                  "the given position-bias must be of float32 or float64");
}

}  // namespace attn
