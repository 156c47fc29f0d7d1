#include "attn/codegen/draw_code.hpp"

#include <array>
#include <optional>

#include "attn/codegen/literal.hpp"

namespace attn {
namespace {

/// Writes draws for one plan: in the library whose generator is followed, handed over to the
/// language of the rest.
class DrawWriter {
public:
    DrawWriter(const Plan& plan, CodeLanguage language, Gradients gradients)
        : plan_(plan), config_(plan.config), language_(language), gradients_(gradients) {}

    bool draws_in_torch() const { return config_.rng == Rng::torch; }

    /// A fresh tensor of draws, not yet handed over.
    std::string draw(Distribution distribution, const Shape& shape) const {
        const bool normal = distribution == Distribution::normal;
        if (draws_in_torch()) {
            return std::string(normal ? "torch.randn(" : "torch.rand(") + size_list(shape) +
                   torch_dtype() + ")";
        }
        if (config_.rng == Rng::numpy) {
            return std::string(normal ? "np.random.randn(" : "np.random.rand(") + size_list(shape) +
                   ")";
        }
        return std::string(normal ? "generator.standard_normal(" : "generator.random(") +
               size_tuple(shape) + ")";
    }

    /// A drawn expression as the rest of the program reads it: its library and its type.
    std::string handed_over(std::string expression) const {
        const bool numpy = language_ == CodeLanguage::numpy;
        if (draws_in_torch() && numpy) expression += ".numpy()";
        if (!draws_in_torch()) {
            if (plan_.dtype == DType::float32) expression += ".astype(np.float32)";
            if (!numpy) expression = "torch.from_numpy(" + expression + ")";
        }
        if (plan_.compute_dtype != plan_.dtype) {
            expression +=
                (numpy ? ".astype(" : ".to(") + dtype_code(plan_.compute_dtype, language_) + ")";
        }
        return expression;
    }

    /// A parameter of a PyTorch layer.
    std::string parameter(const std::string& owner) const {
        return gradients_ == Gradients::on ? owner : owner + ".data";
    }

    std::string embedding(const Tokens& tokens, std::size_t features, const char* name) const {
        const auto rows = static_cast<std::size_t>(*tokens.vocab_size);
        std::string code = std::string(name) + " = ";
        if (draws_in_torch()) {
            std::string call = "torch.nn.Embedding(" + size_list({rows, features});
            if (tokens.pad_id) call += ", padding_idx=" + std::to_string(*tokens.pad_id);
            return code + handed_over(parameter(call + torch_dtype() + ").weight"));
        }
        code += handed_over(draw(Distribution::normal, {rows, features}));
        if (tokens.pad_id) {
            code += "\n" + std::string(name) + "[" + std::to_string(*tokens.pad_id) + "] = 0";
        }
        return code;
    }

    /// The lines that give `w_part`, and `b_part` when there is a bias, for one matrix or one on
    /// each head.
    std::string matrix(const std::string& part, std::optional<std::size_t> heads, std::size_t in,
                       std::size_t out, Init init, bool bias) const {
        return two_parameters("w_" + part + " = ", "", "b_" + part + " = ", "", heads, in, out,
                              init, bias);
    }

    /// The same, each head's parameters appended to lists.
    std::string appended(const std::string& part, std::size_t in, std::size_t out, Init init,
                         bool bias) const {
        return two_parameters("w_" + part + ".append(", ")", "b_" + part + ".append(", ")", {}, in,
                              out, init, bias);
    }

    std::string multihead() const {
        std::string call =
            "attention = torch.nn.MultiheadAttention(" + size_list({plan_.embed_dim, plan_.heads});
        if (!config_.bias) call += ", bias=False";
        if (!plan_.one_weight()) {
            const std::string width = std::to_string(plan_.memory_dim);
            call += ", kdim=" + width + ", vdim=" + width;
        }
        std::string code = call + torch_dtype() + ")\n";
        if (plan_.one_weight()) {
            code += "w_qkv = " + handed_over(parameter("attention.in_proj_weight"));
            if (config_.bias) {
                code += "\nb_qkv = " + handed_over(parameter("attention.in_proj_bias"));
            }
            return code;
        }
        for (const char* part : {"query", "key", "value"}) {
            code += std::string(part == std::string("query") ? "" : "\n") + "w_" + part + " = " +
                    handed_over(parameter(std::string("attention.") + part[0] + "_proj_weight"));
        }
        if (config_.bias) {
            for (std::size_t i = 0; i < 3; ++i) {
                static constexpr std::array names{"query", "key", "value"};
                code += std::string("\nb_") + names[i] + " = " +
                        handed_over(parameter("attention.in_proj_bias") + ".chunk(3)[" +
                                    std::to_string(i) + "]");
            }
        }
        return code;
    }

private:
    std::string torch_dtype() const {
        return plan_.dtype == DType::float64 ? ", dtype=torch.float64" : "";
    }

    std::string two_parameters(const std::string& weight_start, const std::string& weight_end,
                               const std::string& bias_start, const std::string& bias_end,
                               std::optional<std::size_t> heads, std::size_t in, std::size_t out,
                               Init init, bool bias) const {
        const bool out_in = *config_.weight_layout == WeightLayout::out_in;
        Shape shape = out_in ? Shape{out, in} : Shape{in, out};
        Shape bias_shape{out};
        if (heads) {
            shape.insert(shape.begin(), *heads);
            bias_shape.insert(bias_shape.begin(), *heads);
        }
        const std::size_t rows = heads.value_or(1) * out;
        std::string weight;
        std::string bias_text;
        std::string layer;
        if (init != Init::linear) {
            const Distribution distribution =
                init == Init::normal ? Distribution::normal : Distribution::uniform;
            weight = draw(distribution, shape);
            bias_text = draw(distribution, bias_shape);
        } else if (draws_in_torch()) {
            const std::string call = "torch.nn.Linear(" + size_list({in, rows}) +
                                     (bias ? "" : ", bias=False") + torch_dtype() + ")";
            if (bias) layer = "linear = " + call + "\n";
            weight = parameter((bias ? std::string("linear") : call) + ".weight");
            bias_text = parameter("linear.bias");
            if (heads || !out_in) weight += ".reshape(" + size_list(shape) + ")";
            if (heads) bias_text += ".reshape(" + size_list(bias_shape) + ")";
        } else {
            layer = "bound = 1 / math.sqrt(" + std::to_string(in) + ")\n";
            weight = uniform(shape);
            bias_text = uniform(bias_shape);
        }
        std::string code = layer + weight_start + handed_over(weight) + weight_end;
        if (bias) code += "\n" + bias_start + handed_over(bias_text) + bias_end;
        return code;
    }

    std::string uniform(const Shape& shape) const {
        return std::string(config_.rng == Rng::numpy ? "np.random" : "generator") +
               ".uniform(-bound, bound, " + size_tuple(shape) + ")";
    }

    const Plan& plan_;
    const WalkConfig& config_;
    CodeLanguage language_;
    Gradients gradients_;
};

std::string indented(const std::string& code) {
    std::string text = "    ";
    for (const char c : code) {
        text += c;
        if (c == '\n') text += "    ";
    }
    return text;
}

struct Part {
    const char* name;
    std::size_t number, in, width;
};

Part part_of(char letter, const Plan& plan) {
    if (letter == 'q') return {"query", 0, plan.embed_dim, plan.head_dim};
    if (letter == 'k') return {"key", 1, plan.memory_dim, plan.head_dim};
    return {"value", 2, plan.memory_dim, plan.value_dim};
}

std::string per_head_loop(const DrawWriter& writer, const Plan& plan) {
    const WalkConfig& config = plan.config;
    std::string lists = "w_query, w_key, w_value = [], [], []\n";
    if (config.bias) lists += "b_query, b_key, b_value = [], [], []\n";
    std::string body;
    for (const char letter : config.draw_order) {
        const Part part = part_of(letter, plan);
        body +=
            (body.empty() ? "" : "\n") + writer.appended(part.name, part.in, part.width,
                                                         (*config.init)[part.number], config.bias);
    }
    return lists + "for head in range(" + std::to_string(plan.heads) + "):\n" + indented(body);
}

/// Turns the lists of per-head parameters into one tensor each.
std::string stacked_lists(const Plan& plan, CodeLanguage language) {
    std::string code;
    for (const char* kind : {"w_", "b_"}) {
        if (kind[0] == 'b' && !plan.config.bias) break;
        for (const char* part : {"query", "key", "value"}) {
            const std::string name = std::string(kind) + part;
            code += "\n" + name + " = " + (language == CodeLanguage::torch ? "torch" : "np") +
                    ".stack(" + name + ")";
        }
    }
    return code;
}

/// One drawing of the parameters.
std::string one_drawing(const DrawWriter& writer, const Plan& plan) {
    const WalkConfig& config = plan.config;
    switch (config.projection) {
        case Projection::none:
            return {};
        case Projection::mha:
            return writer.multihead();
        case Projection::fused:
        case Projection::fused_by_head:
            return writer.matrix("qkv", {}, plan.embed_dim,
                                 plan.heads * (2 * plan.head_dim + plan.value_dim),
                                 (*config.init)[0], config.bias);
        case Projection::per_head:
            if (plan.has_head) return per_head_loop(writer, plan);
            break;
        case Projection::split:
        case Projection::matrix:
        case Projection::stacked:
            break;
    }
    std::string code;
    for (const char letter : config.draw_order) {
        const Part part = part_of(letter, plan);
        const bool on_heads = plan.head_axis_on_weight();
        const std::size_t width = on_heads ? part.width : plan.heads * part.width;
        code += (code.empty() ? "" : "\n") +
                writer.matrix(part.name, on_heads ? std::optional(plan.heads) : std::nullopt,
                              part.in, width, (*config.init)[part.number], config.bias);
    }
    return code;
}

std::string direct_draws(const DrawWriter& writer, const Plan& plan) {
    const Distribution distribution = std::get<RandomInput>(plan.config.input).distribution;
    std::string code;
    for (const char letter : plan.config.draw_order) {
        const Part part = part_of(letter, plan);
        const Shape shape =
            plan.per_head_shape(part.number == 0 ? plan.query_len : plan.key_len, part.width);
        code += (code.empty() ? "" : "\n") + std::string(part.name) + " = " +
                writer.handed_over(writer.draw(distribution, shape));
    }
    return code;
}

/// ids, embedding and x of one source, or their twins of memory.
std::string source_code(const Source& source, std::string_view step, bool memory, const Plan& plan,
                        CodeLanguage language, Gradients gradients) {
    const DrawWriter writer(plan, language, gradients);
    const std::string prefix = memory ? "memory_" : "";
    const std::string name = memory ? "memory" : "x";
    const std::size_t features = memory ? plan.memory_dim : plan.embed_dim;
    const std::size_t length = memory ? plan.key_len : plan.query_len;
    const Shape shape = plan.per_batch_shape(length, features);

    if (const auto* tokens = std::get_if<Tokens>(&source)) {
        const std::string ids = prefix + "ids";
        const std::string table = prefix + "embedding";
        if (step == table) return writer.embedding(*tokens, features, table.c_str());
        if (step == name) {
            return name + " = " +
                   (language == CodeLanguage::torch ? "F.embedding(" + ids + ", " + table + ")"
                                                    : table + "[" + ids + "]");
        }
        Array<std::int64_t> values =
            empty_array<std::int64_t>(plan.has_batch ? Shape{plan.batch, length} : Shape{length});
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto& sequences = tokens->sequences;
            values.data()[i] = sequences[sequences.size() == 1 ? 0 : i / length][i % length];
        }
        const Axes axes = plan.has_batch ? Axes{"batch", "token"} : Axes{"token"};
        return ids + " = " + tensor_literal(Tensor(axes, std::move(values)), plan.dtype, language);
    }
    if (const auto* random = std::get_if<RandomInput>(&source)) {
        return name + " = " + writer.handed_over(writer.draw(random->distribution, shape));
    }
    const Tensor& given = std::get<Tensor>(source);
    std::string code = name + " = " + tensor_literal(given, plan.dtype, language);
    if (given.dtype() == DType::int64 || given.dtype() == DType::boolean) {
        code += (language == CodeLanguage::torch ? ".to(" : ".astype(") +
                dtype_code(plan.dtype, language) + ")";
    }
    if (plan.compute_dtype != plan.dtype) {
        code += (language == CodeLanguage::torch ? ".to(" : ".astype(") +
                dtype_code(plan.compute_dtype, language) + ")";
    }
    if (given.shape() != shape) {
        code += "\n" + name + " = " +
                (language == CodeLanguage::torch
                     ? name + ".expand(" + size_list(shape) + ")"
                     : "np.broadcast_to(" + name + ", " + size_tuple(shape) + ")");
    }
    return code;
}

}  // namespace

std::string input_code(std::string_view step, const Plan& plan, CodeLanguage language,
                       Gradients gradients) {
    const bool memory = step.substr(0, 6) == "memory";
    const Source& source = memory ? *plan.config.memory : plan.config.input;
    return source_code(source, step, memory, plan, language, gradients);
}

std::string projection_draw_code(const Plan& plan, CodeLanguage language, Gradients gradients) {
    const DrawWriter writer(plan, language, gradients);
    const WalkConfig& config = plan.config;
    std::string code;
    for (const Burn& burn : config.burn) {
        code += writer.draw(burn.distribution, {burn.count}) + "  # spent\n";
    }
    std::string once = plan.has_x() ? one_drawing(writer, plan) : direct_draws(writer, plan);
    if (config.redraw > 0 && !once.empty()) {
        once = "for time in range(" + std::to_string(config.redraw + 1) +
               "):  # the last ones drawn are used\n" + indented(once);
    }
    code += once;
    if (config.projection == Projection::per_head && plan.has_head) {
        code += stacked_lists(plan, language);
    }
    return code;
}

std::string output_draw_code(const Plan& plan, CodeLanguage language, Gradients gradients) {
    const DrawWriter writer(plan, language, gradients);
    if (plan.config.projection == Projection::mha) {
        std::string code =
            "w_output = " + writer.handed_over(writer.parameter("attention.out_proj.weight"));
        if (plan.config.output_bias) {
            code +=
                "\nb_output = " + writer.handed_over(writer.parameter("attention.out_proj.bias"));
        }
        return code;
    }
    return writer.matrix("output", {}, plan.heads * plan.value_dim, plan.output_dim, Init::linear,
                         plan.config.output_bias);
}

std::string given_parameter_code(std::string_view step, const Plan& plan, CodeLanguage language) {
    const Tensor* given = plan.config.parameters.find(step);
    if (given == nullptr) return {};
    std::string code = std::string(step) + " = " + tensor_literal(*given, plan.dtype, language);
    if (plan.compute_dtype != plan.dtype) {
        code += (language == CodeLanguage::torch ? ".to(" : ".astype(") +
                dtype_code(plan.compute_dtype, language) + ")";
    }
    return code;
}

}  // namespace attn
