#include <fmt/format.h>

#include "attn/core/plan/visibility.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/explain/codegen/field_lines.hpp"

namespace attn {
namespace {

std::optional<std::string> mask_word(std::string_view word, const StepLines& of) {
    const Plan& plan = of.plan;
    if (word == "given") {
        return tensor_literal(*plan.config.mask.given, DType::boolean, of.language);
    }
    if (word == "lengths") {
        const std::string list = fmt::format("{}", fmt::join(plan.config.lengths, ", "));
        return plan.has_batch ? written("{array}([" + list + "])[:, None]", of) : list;
    }
    if (word == "padding") {
        const auto* tokens =
            std::get_if<Tokens>(plan.config.memory ? &*plan.config.memory : &plan.config.input);
        std::string ids = plan.config.memory ? "memory_ids == " : "ids == ";
        const bool has_pad = tokens != nullptr && tokens->pad_id;
        if (has_pad) ids += std::to_string(*tokens->pad_id);
        if (plan.config.lengths.empty()) return ids;
        const std::string after = written("{np}.arange({Tk}) >= {lengths}", of, mask_word);
        return has_pad ? "(" + ids + ") | (" + after + ")" : after;
    }
    if (word != "at") return std::nullopt;
    return !plan.has_batch ? "[None, :]" : plan.has_head ? "[:, None, None, :]" : "[:, None, :]";
}

}  // namespace

std::string mask_code(const StepLines& of) {
    std::string conditions, code;
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.condition == nullptr || !kind.chosen(of.plan.config.mask)) continue;
        conditions += (conditions.empty() ? "mask[q,k] = " : " or ") + kind.rule(of.plan);
    }
    if (!conditions.empty()) {
        const Outline square{{"query", "key"}, {of.plan.query_len, of.plan.key_len}};
        code = rule_lines(completed_for(conditions, square, mask_scope()), of, square);
    }
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.condition != nullptr || !kind.chosen(of.plan.config.mask)) continue;
        code += (code.empty() ? "mask = " : "\nmask = mask | ") + written(kind.code, of, mask_word);
    }
    return code;
}

}  // namespace attn
