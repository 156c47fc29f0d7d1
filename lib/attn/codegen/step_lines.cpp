#include "attn/codegen/step_lines.hpp"

#include <array>

#include "attn/codegen/literal.hpp"
#include "attn/render/number_text.hpp"

namespace attn {
namespace {

std::string text(std::size_t number) { return std::to_string(number); }

/// One of query, key and value.
struct Part {
    std::size_t number;
    std::string name;
};

/// Writes the computed steps of one plan in one language.
class StepWriter {
public:
    StepWriter(const Plan& plan, CodeLanguage language)
        : plan_(plan), torch_(language == CodeLanguage::torch), language_(language) {}

    std::string lines(std::string_view step) const {
        static constexpr std::array names{"query", "key", "value"};
        for (std::size_t i = 0; i < names.size(); ++i) {
            const Part part{i, names[i]};
            if (step == part.name) return part.name + " = " + part_expression(part);
            if (step == "projected_" + part.name) {
                return "projected_" + part.name + " = " + projected(part);
            }
        }
        for (const std::string prefix : {"", "memory_"}) {
            if (step != (prefix.empty() ? "x" : "memory")) continue;
            const std::string ids = prefix + "ids";
            const std::string table = prefix + "embedding";
            return std::string(step) + " = " +
                   (torch_ ? "F.embedding(" + ids + ", " + table + ")" : table + "[" + ids + "]");
        }
        if (step == "qkv") return "qkv = " + product("x", "w_qkv", "b_qkv", plan_.config.bias);
        if (step == "scores") return "scores = query @ " + swapped("key", "-2, -1");
        if (step == "scaled_scores") return "scaled_scores = scores " + scaling();
        if (step == "mask") return mask();
        if (step == "masked_scores") {
            return "masked_scores = " + (torch_
                                             ? before_mask() + ".masked_fill(mask, float(\"-inf\"))"
                                             : "np.where(mask, -np.inf, " + before_mask() + ")");
        }
        if (step == "row_max") {
            return "row_max = " + softmax_input() + (torch_ ? ".amax(dim=" : ".max(axis=") +
                   axis() + ")";
        }
        if (step == "exponentials") {
            return std::string("exponentials = ") + (torch_ ? "torch" : "np") + ".exp(" +
                   softmax_input() + " - " +
                   (torch_ ? "row_max.unsqueeze(" + axis() + "))"
                           : "np.expand_dims(row_max, " + axis() + "))");
        }
        if (step == "row_sum") {
            return std::string("row_sum = exponentials.sum(") + (torch_ ? "dim=" : "axis=") +
                   axis() + ")";
        }
        if (step == "weights") return weights();
        if (step == "context") return "context = weights @ value";
        if (step == "merged") {
            return "merged = " + swapped("context", "-3, -2") + ".reshape(" +
                   size_list(
                       plan_.per_batch_shape(plan_.query_len, plan_.heads * plan_.value_dim)) +
                   ")";
        }
        if (step == "output") {
            return "output = " + product(plan_.has_head ? "merged" : "context", "w_output",
                                         "b_output", plan_.config.output_bias);
        }
        return {};
    }

private:
    std::string swapped(const std::string& name, const std::string& axes) const {
        return name + (torch_ ? ".transpose(" : ".swapaxes(") + axes + ")";
    }

    bool out_in() const { return *plan_.config.weight_layout == WeightLayout::out_in; }

    std::string product(const std::string& x, const std::string& weight, const std::string& bias,
                        bool has_bias) const {
        return x + " @ " + weight + (out_in() ? ".T" : "") + (has_bias ? " + " + bias : "");
    }

    std::size_t width_of(const Part& part) const {
        return part.number == 2 ? plan_.value_dim : plan_.head_dim;
    }

    /// The index range of a part's features: of all heads, or of one where they go head by head.
    std::string features(const Part& part) const {
        const bool by_head = plan_.config.projection == Projection::fused_by_head;
        const std::size_t heads = by_head ? 1 : plan_.heads;
        const std::size_t first = part.number * heads * plan_.head_dim;
        return text(first) + ":" + text(first + heads * width_of(part));
    }

    /// The rows (or columns) of a fused parameter that make one part.
    std::string fused_part(const std::string& parameter, const Part& part, bool is_bias) const {
        const std::string range = features(part);
        const std::size_t all = plan_.heads * width_of(part);
        const bool columns = is_bias || !out_in();
        if (plan_.config.projection != Projection::fused_by_head) {
            return parameter + (columns && !is_bias ? "[:, " + range + "]" : "[" + range + "]");
        }
        const std::size_t block = 2 * plan_.head_dim + plan_.value_dim;
        if (is_bias) {
            return parameter + ".reshape(" + size_list({plan_.heads, block}) + ")[:, " + range +
                   "].reshape(" + text(all) + ")";
        }
        if (columns) {
            return parameter + ".reshape(" + size_list({plan_.embed_dim, plan_.heads, block}) +
                   ")[:, :, " + range + "].reshape(" + size_list({plan_.embed_dim, all}) + ")";
        }
        return parameter + ".reshape(" + size_list({plan_.heads, block, plan_.embed_dim}) +
               ")[:, " + range + "].reshape(" + size_list({all, plan_.embed_dim}) + ")";
    }

    std::string source(const Part& part) const {
        return part.number > 0 && plan_.has_memory ? "memory" : "x";
    }

    std::string projected(const Part& part) const {
        if (plan_.one_weight()) {
            return product(source(part), fused_part("w_qkv", part, false),
                           fused_part("b_qkv", part, true), plan_.config.bias);
        }
        return product(source(part), "w_" + part.name, "b_" + part.name, plan_.config.bias);
    }

    /// Cuts the last axis into heads and moves the head axis in front of the tokens.
    std::string split(const std::string& name, const Part& part) const {
        Shape shape =
            plan_.per_batch_shape(part.number == 0 ? plan_.query_len : plan_.key_len, plan_.heads);
        shape.push_back(width_of(part));
        return swapped(name + ".reshape(" + size_list(shape) + ")", "-3, -2");
    }

    std::string part_expression(const Part& part) const {
        const bool projects = plan_.config.projection != Projection::none;
        if (projects && plan_.one_weight() && !plan_.has_memory) {
            if (plan_.config.projection != Projection::fused_by_head) {
                return split("qkv[..., " + features(part) + "]", part);
            }
            Shape shape = plan_.per_batch_shape(plan_.query_len, plan_.heads);
            shape.push_back(2 * plan_.head_dim + plan_.value_dim);
            return swapped("qkv.reshape(" + size_list(shape) + ")", "-3, -2") + "[..., " +
                   features(part) + "]";
        }
        if (projects && plan_.head_axis_on_weight()) {
            const std::string x = source(part) + (plan_.has_batch ? "[:, None]" : "");
            const std::string weight = "w_" + part.name;
            return x + " @ " + (out_in() ? swapped(weight, "-2, -1") : weight) +
                   (plan_.config.bias ? " + b_" + part.name + "[:, None]" : "");
        }
        if (projects && plan_.has_head) return split("projected_" + part.name, part);
        if (projects) return projected(part);
        return plan_.has_head ? split(source(part), part) : source(part);
    }

    std::string scaling() const {
        switch (plan_.config.scale.by) {
            case ScaleChoice::By::head_dim:
                return "/ math.sqrt(" + text(plan_.head_dim) + ")";
            case ScaleChoice::By::embed_dim:
                return "/ math.sqrt(" + text(plan_.embed_dim) + ")";
            default:
                break;
        }
        NumberBuffer buffer;
        return "* " + std::string(buffer.data(), write_scalar(buffer.data(), plan_.scale.number));
    }

    std::string before_mask() const { return plan_.scales() ? "scaled_scores" : "scores"; }
    std::string softmax_input() const { return plan_.masks() ? "masked_scores" : before_mask(); }

    std::string causal() const {
        std::ptrdiff_t diagonal = 1;
        if (plan_.config.causal_align == CausalAlign::end) {
            diagonal += static_cast<std::ptrdiff_t>(plan_.key_len) -
                        static_cast<std::ptrdiff_t>(plan_.query_len);
        }
        const Shape shape{plan_.query_len, plan_.key_len};
        return torch_ ? "torch.ones(" + size_list(shape) + ", dtype=torch.bool).triu(" +
                            std::to_string(diagonal) + ")"
                      : "np.triu(np.ones(" + size_tuple(shape) + ", dtype=bool), " +
                            std::to_string(diagonal) + ")";
    }

    std::string padding() const {
        const WalkConfig& config = plan_.config;
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
            const std::string module = torch_ ? "torch" : "np";
            if (plan_.has_batch) {
                lengths = module + (torch_ ? ".tensor([" : ".array([") + lengths + "])[:, None]";
            }
            rule += (rule.empty() ? "(" : " | (") + module + ".arange(" + text(plan_.key_len) +
                    ") >= " + lengths + ")";
            if (rule.find(" | ") != std::string::npos) rule = "(" + rule + ")";
        }
        if (!plan_.has_batch) return rule + "[None, :]";
        return rule + (plan_.has_head ? "[:, None, None, :]" : "[:, None, :]");
    }

    std::string mask() const {
        const MaskChoice& choice = plan_.config.mask;
        std::string lines;
        std::string all;
        const auto add = [&](const std::string& name, const std::string& expression) {
            lines += name + " = " + expression + "\n";
            all += (all.empty() ? "" : " | ") + name;
        };
        if (choice.causal) add("causal", causal());
        if (choice.padding) add("padding", padding());
        if (choice.given) {
            add("hidden", tensor_literal(*choice.given, DType::boolean, language_));
        }
        return lines + "mask = " + all;
    }

    std::string axis() const {
        switch (plan_.config.softmax_axis) {
            case SoftmaxAxis::key:
                return "-1";
            case SoftmaxAxis::query:
                return "-2";
            case SoftmaxAxis::head:
                return "-3";
            case SoftmaxAxis::batch:
                break;
        }
        return "0";
    }

    std::string weights() const {
        const std::string input = softmax_input();
        std::string code;
        if (torch_) {
            code = "weights = F.softmax(" + input + ", dim=" + axis() + ")";
        } else {
            const std::string along = "(axis=" + axis() + ", keepdims=True)";
            code = "exponentials = np.exp(" + input + " - " + input + ".max" + along +
                   ")\nweights = exponentials / exponentials.sum" + along;
        }
        if (plan_.config.empty_row != EmptyRow::zero) return code;
        return code + "\n" +
               (torch_ ? "weights = weights.masked_fill(" + input + ".amax(dim=" + axis() +
                             ", keepdim=True) == float(\"-inf\"), 0)"
                       : "weights = np.where(" + input + ".max(axis=" + axis() +
                             ", keepdims=True) == -np.inf, 0, weights)");
    }

    const Plan& plan_;
    bool torch_;
    CodeLanguage language_;
};

}  // namespace

std::string step_lines(std::string_view step, const Plan& plan, CodeLanguage language) {
    return StepWriter(plan, language).lines(step);
}

}  // namespace attn
