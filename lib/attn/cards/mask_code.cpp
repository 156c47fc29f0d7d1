#include <algorithm>
#include <array>

#include "attn/cards/cards.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/plan/mask_kinds.hpp"

namespace attn {
namespace {

/// `torch.ones((4, 4), dtype=torch.bool).triu(1)`: true on one side of a diagonal.
std::string triangle_code(const StepLines& of, const std::string& side, std::ptrdiff_t diagonal) {
    const Shape shape{of.plan.query_len, of.plan.key_len};
    const std::string last = std::to_string(diagonal) + ")";
    return of.torch()
               ? "torch.ones(" + size_list(shape) + ", dtype=torch.bool)." + side + "(" + last
               : "np." + side + "(np.ones(" + size_tuple(shape) + ", dtype=bool), " + last;
}

std::string causal_code(const StepLines& of) {
    return triangle_code(of, "triu", 1 + causal_offset(of.plan));
}

std::string window_code(const StepLines& of) {
    return triangle_code(of, "tril", causal_offset(of.plan) - *of.plan.config.mask.window);
}

std::string chunk_code(const StepLines& of) {
    const std::string size = std::to_string(*of.plan.config.mask.chunk);
    return query_positions_code(of) + " // " + size + " != " + key_positions_code(of) + " // " +
           size;
}

std::string prefix_code(const StepLines& of) {
    return causal_code(of) + " & (" + key_positions_code(of) +
           " >= " + std::to_string(*of.plan.config.mask.prefix) + ")";
}

std::string documents_code(const StepLines& of) {
    const Plan& plan = of.plan;
    const std::vector<std::int64_t>& documents = plan.config.mask.documents;
    const std::string count = std::to_string(documents.size());
    std::string lengths;
    for (const std::int64_t tokens : documents) {
        lengths += (lengths.empty() ? "[" : ", ") + std::to_string(tokens);
    }
    const std::ptrdiff_t first = causal_offset(plan);
    const std::string queries =
        plan.query_len == plan.key_len
            ? ":"
            : std::to_string(first) + ":" +
                  std::to_string(first + static_cast<std::ptrdiff_t>(plan.query_len));
    return (of.torch()
                ? "torch.arange(" + count + ").repeat_interleave(torch.tensor(" + lengths + "]))"
                : "np.repeat(np.arange(" + count + "), " + lengths + "])") +
           "\ndocuments = documents[" + queries + ", None] != documents";
}

std::string padding_code(const StepLines& of) {
    const Plan& plan = of.plan;
    const WalkConfig& config = plan.config;
    const auto* tokens = std::get_if<Tokens>(config.memory ? &*config.memory : &config.input);
    std::string rule;
    if (tokens != nullptr && tokens->pad_id) {
        rule = std::string("(") + (config.memory ? "memory_ids" : "ids") +
               " == " + std::to_string(*tokens->pad_id) + ")";
    }
    if (!config.lengths.empty()) {
        std::string lengths;
        for (const std::int64_t length : config.lengths) {
            lengths += (lengths.empty() ? "" : ", ") + std::to_string(length);
        }
        if (plan.has_batch) {
            lengths =
                of.module() + (of.torch() ? ".tensor([" : ".array([") + lengths + "])[:, None]";
        }
        rule += (rule.empty() ? "(" : " | (") + of.module() + ".arange(" +
                std::to_string(plan.key_len) + ") >= " + lengths + ")";
        if (rule.find(" | ") != std::string::npos) rule = "(" + rule + ")";
    }
    if (!plan.has_batch) return rule + "[None, :]";
    return rule + (plan.has_head ? "[:, None, None, :]" : "[:, None, :]");
}

std::string file_code(const StepLines& of) {
    return tensor_literal(*of.plan.config.mask.given, DType::boolean, of.language);
}

/// The expression that makes each kind, and the variable that holds it.
struct MaskCode {
    std::string_view kind, variable;
    std::string (*expression)(const StepLines& of);
};
constexpr std::array<MaskCode, 7> mask_codes{{{"causal", "causal", causal_code},
                                              {"window", "window", window_code},
                                              {"chunk", "chunk", chunk_code},
                                              {"prefix", "prefix", prefix_code},
                                              {"documents", "documents", documents_code},
                                              {"padding", "padding", padding_code},
                                              {"file", "hidden", file_code}}};

}  // namespace

std::string mask_code(const StepLines& of) {
    std::string lines;
    std::string all;
    for (const MaskKind& kind : mask_kinds()) {
        if (!kind.chosen(of.plan.config.mask)) continue;
        const auto code = std::find_if(mask_codes.begin(), mask_codes.end(),
                                       [&](const MaskCode& one) { return one.kind == kind.word; });
        const std::string variable(code->variable);
        lines += variable + " = " + code->expression(of) + "\n";
        all += (all.empty() ? "" : " | ") + variable;
    }
    return lines + "mask = " + all;
}

}  // namespace attn
