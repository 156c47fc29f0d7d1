#include "attn/core/cards/field_lines.hpp"

#include <array>
#include <stdexcept>

#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// What PyTorch and NumPy call otherwise.
struct Called {
    std::string_view word, torch, numpy;
};
constexpr std::array<Called, 3> library_words{{{"np", "torch", "np"},
                                               {"array", "torch.tensor", "np.array"},
                                               {"keepdim", "keepdim", "keepdims"}}};

std::string meaning(const std::string& word, const StepLines& of) {
    for (const Called& each : library_words) {
        if (each.word == word) return std::string(of.torch() ? each.torch : each.numpy);
    }
    if (const Chain chain = chain_called(word); chain != Chain::none) return of.latest(chain);
    if (word == "before") return of.before();
    if (word == "step") return of.name();
    if (word == "shape") return size_list(of.step.outline(of.plan).shape);
    const auto to = [&](DType type) {
        return (of.torch() ? ".to(" : ".astype(") + dtype_code(type, of.language) + ")";
    };
    const DType within = type_within(of), stored = of.plan.compute_dtype;
    if (word == "type") return dtype_code(within, of.language);
    if (word == "stored_type") return dtype_code(stored, of.language);
    if (word == "as_type") return to(within);
    if (word == "wide") return within == stored ? "" : to(within);
    if (word == "narrow") return within == stored ? "" : to(stored);
    const std::map<std::string, double> settings = rule_settings(of.plan);
    const auto setting = settings.find(word);
    if (setting == settings.end()) throw std::logic_error("texts of cards have no {" + word + "}");
    return json_number(setting->second);
}

}  // namespace

std::string filled(std::string_view text, const StepLines& of, Words own) {
    return filled(text, [&](std::string_view word) {
        std::optional<std::string> meant = own ? own(word, of) : std::nullopt;
        return meant ? std::move(meant) : meaning(std::string(word), of);
    });
}

std::string filled(std::span<const FieldLine> lines, const StepLines& of, Words own) {
    for (const FieldLine& line : lines) {
        if (!line.when.holds(of)) continue;
        const char* const text = of.torch() ? line.torch : line.numpy;
        return text != nullptr ? filled(text, of, own) : lines_by_rule(of);
    }
    return lines_by_rule(of);
}

}  // namespace attn
