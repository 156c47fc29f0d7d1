#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/explain/codegen/field_lines.hpp"

namespace attn {
namespace {

std::optional<std::string> mask_word(std::string_view word, const StepLines& of) {
    const Plan& plan = of.plan;
    const MaskChoice& mask = plan.config.mask;
    const std::ptrdiff_t first = causal_offset(plan);
    if (word == "above") return std::to_string(first + 1);
    if (word == "below") return std::to_string(first - *mask.window);
    if (word == "given") return tensor_literal(*mask.given, DType::boolean, of.language);
    if (word == "count") return std::to_string(mask.documents.size());
    if (word == "end") return std::to_string(first + static_cast<std::ptrdiff_t>(plan.query_len));
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
    for (const MaskKind& kind : mask_kinds()) {
        const auto named = std::ranges::find(kind.named, word);
        if (word.empty() || named == kind.named.end() || !kind.chosen(mask)) continue;
        const std::vector<std::int64_t> numbers = kind.numbers(mask);
        if (kind.between == '+') return fmt::format("{}", fmt::join(numbers, ", "));
        return std::to_string(numbers[static_cast<std::size_t>(named - kind.named.begin())]);
    }
    if (word != "at") return std::nullopt;
    return !plan.has_batch ? "[None, :]" : plan.has_head ? "[:, None, None, :]" : "[:, None, :]";
}

}  // namespace

std::string mask_code(const StepLines& of) {
    std::string lines;
    std::string all;
    for (const MaskKind& kind : mask_kinds()) {
        if (!kind.chosen(of.plan.config.mask)) continue;
        const std::string variable(kind.variable);
        lines +=
            variable + " = " + written(of.torch() ? kind.torch : kind.numpy, of, mask_word) + "\n";
        all += (all.empty() ? "" : " | ") + variable;
    }
    return lines + "mask = " + all;
}

}  // namespace attn
