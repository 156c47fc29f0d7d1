#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/explain/codegen/field_lines.hpp"

namespace attn {
namespace {

std::optional<std::string> bias_word(std::string_view word, const StepLines& of) {
    if (word == "of_heads") return of.plan.has_head ? "[:, None, None]" : "";
    if (word != "end") return bucket_word(word, of);
    return std::to_string(causal_offset(of.plan) + static_cast<std::ptrdiff_t>(of.plan.query_len));
}

}  // namespace

std::string position_bias_code(const StepLines& of) {
    if (is_t5(of.plan)) return buckets_code(of) + "\n" + lines_by_rule(of);
    if (!is_alibi(of.plan)) {
        return "position_bias = " + tensor_literal(*of.plan.config.position_bias->given,
                                                   of.plan.compute_dtype, of.language);
    }
    return written(
        "position_bias = -{np}.abs({np}.arange({offset}, {end})[:, None] - {np}.arange({Tk})) * "
        "slopes{of_heads}",
        of, bias_word);
}

std::string buckets_code(const StepLines& of) {
    const bool both = bucket_rule(of.plan).bidirectional;
    std::string lines = "distance = {np}.arange({Tk}) - {np}.arange({offset}, {end})[:, None]\n";
    if (of.torch()) {
        lines += both ? "n = distance.abs()\n" : "n = (-distance).clamp(min=0)\n";
        lines +=
            "large = {exact} + (torch.log(n.clamp(min={exact}).float() / {exact}) / "
            "math.log({furthest} / {exact}) * {beyond}).long()\n"
            "buckets = torch.where(n < {exact}, n, large.clamp(max={last}))";
    } else {
        lines += both ? "n = np.abs(distance)\n" : "n = np.maximum(-distance, 0)\n";
        lines +=
            "large = {exact} + (np.log(np.maximum(n, {exact}).astype(np.float32) / "
            "np.float32({exact})) / np.float32(math.log({furthest} / {exact})) * "
            "np.float32({beyond})).astype(np.int64)\n"
            "buckets = np.where(n < {exact}, n, np.minimum(large, {last}))";
    }
    return written(lines + (both ? " + (distance > 0) * {half}" : ""), of, bias_word);
}

}  // namespace attn
