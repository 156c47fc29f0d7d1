#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attn/cards/cards.hpp"
#include "attn/plan/mask_kinds.hpp"

namespace attn {
namespace {

std::optional<std::string> mask_word(std::string_view word, const StepLines& of) {
    const Plan& plan = of.plan;
    const MaskChoice& mask = plan.config.mask;
    const std::ptrdiff_t first = causal_offset(plan);
    if (word == "above") return std::to_string(first + 1);
    if (word == "below") return std::to_string(first - *mask.window);
    if (word == "chunk") return std::to_string(*mask.chunk);
    if (word == "prefix") return std::to_string(*mask.prefix);
    if (word == "given") return tensor_literal(*mask.given, DType::boolean, of.language);
    if (word == "documents") return fmt::format("[{}]", fmt::join(mask.documents, ", "));
    if (word == "count") return std::to_string(mask.documents.size());
    if (word == "end") return std::to_string(first + static_cast<std::ptrdiff_t>(plan.query_len));
    if (word == "lengths") {
        const std::string list = fmt::format("{}", fmt::join(plan.config.lengths, ", "));
        return plan.has_batch ? filled("{array}([" + list + "])[:, None]", of) : list;
    }
    if (word == "padding") {
        const auto* tokens =
            std::get_if<Tokens>(plan.config.memory ? &*plan.config.memory : &plan.config.input);
        std::string ids = plan.config.memory ? "memory_ids == " : "ids == ";
        const bool has_pad = tokens != nullptr && tokens->pad_id;
        if (has_pad) ids += std::to_string(*tokens->pad_id);
        if (plan.config.lengths.empty()) return ids;
        const std::string behind = filled("{np}.arange({Tk}) >= {lengths}", of, mask_word);
        return has_pad ? "(" + ids + ") | (" + behind + ")" : behind;
    }
    if (word != "at") return std::nullopt;
    return !plan.has_batch ? "[None, :]" : plan.has_head ? "[:, None, None, :]" : "[:, None, :]";
}

/// The lines that make each kind, in the variable that holds it.
struct MaskLine {
    std::string_view kind, variable;
    const char *torch, *numpy;
};
constexpr std::array<MaskLine, 7> mask_lines{{
    {"causal", "causal", "torch.ones({Tq}, {Tk}, dtype=torch.bool).triu({above})",
     "np.triu(np.ones(({Tq}, {Tk}), dtype=bool), {above})"},
    {"window", "window", "torch.ones({Tq}, {Tk}, dtype=torch.bool).tril({below})",
     "np.tril(np.ones(({Tq}, {Tk}), dtype=bool), {below})"},
    {"chunk", "chunk",
     "torch.arange({offset}, {end})[:, None] // {chunk} != torch.arange({Tk}) // {chunk}",
     "np.arange({offset}, {end})[:, None] // {chunk} != np.arange({Tk}) // {chunk}"},
    {"prefix", "prefix",
     "torch.ones({Tq}, {Tk}, dtype=torch.bool).triu({above}) & (torch.arange({Tk}) >= {prefix})",
     "np.triu(np.ones(({Tq}, {Tk}), dtype=bool), {above}) & (np.arange({Tk}) >= {prefix})"},
    {"documents", "documents",
     "torch.arange({count}).repeat_interleave(torch.tensor({documents}))\n"
     "documents = documents[{offset}:{end}, None] != documents",
     "np.repeat(np.arange({count}), {documents})\n"
     "documents = documents[{offset}:{end}, None] != documents"},
    {"padding", "padding", "({padding}){at}", "({padding}){at}"},
    {"file", "hidden", "{given}", "{given}"},
}};

}  // namespace

std::string mask_code(const StepLines& of) {
    std::string lines;
    std::string all;
    for (const MaskKind& kind : mask_kinds()) {
        if (!kind.chosen(of.plan.config.mask)) continue;
        const MaskLine& line = *std::ranges::find(mask_lines, kind.word, &MaskLine::kind);
        const std::string variable(line.variable);
        lines +=
            variable + " = " + filled(of.torch() ? line.torch : line.numpy, of, mask_word) + "\n";
        all += (all.empty() ? "" : " | ") + variable;
    }
    return lines + "mask = " + all;
}

}  // namespace attn
