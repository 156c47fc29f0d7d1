#include "attn/explain/codegen/step_lines.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/codegen/field_lines.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {

bool uses_autograd(const StepTable& table, CodeLanguage language) {
    const bool is_mistaken = std::ranges::any_of(table, [](const Step& step) {
        return !step.gradient_of.empty() && !step.mistake_ids.empty();
    });
    return language == CodeLanguage::torch && !is_mistaken &&
           std::ranges::count(table, "loss", &Step::name) > 0;
}

std::string rule_lines(const Rule& rule, const StepLines& of, const Outline& result_outline) {
    const bool counts = rule.step == of.step.name && of.step.holds == RuleType::whole;
    const DType type = counts ? DType::int64 : type_within(of);
    const bool records = of.step.gradient_of.empty() && uses_autograd(of.table, of.language);
    return rule_python(rule,
                       {of.torch(), result_outline.shape, std::string(dtype_name(type)), records});
}

DType type_within(const StepLines& of) {
    const bool is_wide = of.step.rounds(of.plan) != RoundedAt::operations;
    return is_wide && is_16_bit(of.plan.compute_dtype) ? DType::float32 : of.plan.compute_dtype;
}

std::string lines_by_rule(const StepLines& of) {
    const std::optional<Rule> rule = rule_of(of);
    if (!rule) return {};
    const std::string lines = rule_lines(*rule, of, of.step.outline(of.plan));
    if (of.step.stays_float32(of.plan) || type_within(of) == of.plan.compute_dtype) return lines;
    return lines + written("\n{step} = {step}{narrow}", of);
}

std::string card_lines(const StepLines& of) {
    if (of.step.text != nullptr) return field_lines(of);
    if (!of.step.gradient_of.empty()) return lines_by_rule(of);
    const std::optional<Rule> rule = rule_of(of);
    if (!rule) return {};
    const AttentionStep* const stated = of.step.stated.get();
    const Prose remark = stated == nullptr ? "" : of.torch() ? stated->torch : stated->numpy;
    return (remark.empty() ? "" : "# " + remark.visible() + "\n") +
           rule_lines(*rule, of, of.step.outline(of.plan));
}

std::string lines_of(const StepLines& of) {
    return of.step.code ? of.step.code(of) : card_lines(of);
}

namespace {

template <class T>
std::string number_code(T value, DType type) {
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "True" : "False";
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else {
        if (std::isnan(value)) return "float(\"nan\")";
        if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "-float(\"inf\")";
        if constexpr (std::is_same_v<T, float>) value = as_printed(value, type);
        return scalar_text(value);
    }
}

/// Writes nested lists for one axis and all below it; `place` is the next element.
template <class T>
std::string nested_lists(const T* data, const Shape& shape, DType type, std::size_t axis,
                         std::size_t& place, std::size_t indent) {
    if (axis == shape.size()) return number_code<T>(data[place++], type);
    const bool innermost = axis + 1 == shape.size();
    std::string text = "[";
    for (std::size_t i = 0; i < shape[axis]; ++i) {
        if (i > 0) text += innermost ? ", " : ",\n" + std::string(indent + axis + 1, ' ');
        text += nested_lists(data, shape, type, axis + 1, place, indent);
    }
    return text + "]";
}

}  // namespace

std::string size_list(const Shape& shape) {
    std::string text;
    for (const std::size_t length : shape) {
        text += (text.empty() ? "" : ", ") + std::to_string(length);
    }
    return text;
}

std::string size_tuple(const Shape& shape) {
    return "(" + size_list(shape) + (shape.size() == 1 ? ",)" : ")");
}

std::string dtype_code(DType dtype, CodeLanguage language) {
    const bool numpy = language == CodeLanguage::numpy;
    if (numpy && dtype == DType::boolean) return "np.bool_";
    return (numpy ? "np." : "torch.") + std::string(dtype_name(dtype));
}

std::string tensor_literal(const Tensor& tensor, DType dtype, CodeLanguage language) {
    const std::string call = language == CodeLanguage::torch ? "torch.tensor(" : "np.array(";
    std::size_t place = 0;
    const std::string lists = std::visit(
        [&](const auto& values) {
            return nested_lists(values.data(), tensor.shape(), tensor.dtype(), 0, place,
                                call.size());
        },
        tensor.values());
    // Lists of integers and bools have the right type without a note.
    const std::string note =
        tensor.is_floating() ? ", dtype=" + dtype_code(dtype, language) : std::string();
    return call + lists + note + ")";
}

}  // namespace attn
