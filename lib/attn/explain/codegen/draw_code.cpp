#include "attn/explain/codegen/code.hpp"

#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/text/json.hpp"

namespace attn {
namespace {

std::string indented(const std::string& code) {
    std::string text = "    ";
    for (const char c : code) {
        text += c;
        if (c == '\n') text += "    ";
    }
    return text;
}

/// Writes rows of the draw list: drawn by the library of the generator, and converted to the
/// language of the program.
class DrawWriter {
public:
    DrawWriter(const Plan& plan, CodeLanguage language, Gradients gradients)
        : plan_(plan),
          rng_(plan.config.rng),
          numpy_(language == CodeLanguage::numpy),
          language_(language),
          gradients_(gradients) {}

    /// Returns the lines for rows that are drawn together.
    std::string lines(const std::vector<const DrawnTensor*>& rows) const {
        std::string spent;
        std::string once;
        bool draws = false;
        for (const DrawnTensor* row : rows) {
            if (row->name.empty()) {
                if (row->member.empty()) spent += draw(row->how, row->shape()) + "  # spent\n";
                continue;
            }
            const bool given = plan_.config.parameters.has(row->name);
            if (row->how == Initialisation::zeros && row->member.empty() && given) continue;
            if (row->how == Initialisation::xavier && once.empty()) once = multihead();
            draws = draws || row->member.empty() || row->how == Initialisation::xavier;
            once += (once.empty() ? "" : "\n") + line(*row);
        }
        if (once.empty()) return spent;
        const DrawnTensor& last = *rows.back();
        std::string stacked;
        if (last.turns > 1) {
            std::string lists;
            for (const char kind : {'w', 'b'}) {
                std::string names;
                std::string brackets;
                for (const DrawnTensor* row : in_part_order(rows, kind)) {
                    names += (names.empty() ? "" : ", ") + row->name;
                    brackets += brackets.empty() ? "[]" : ", []";
                    stacked += "\n" + row->name + " = " + (numpy_ ? "np" : "torch") + ".stack(" +
                               row->name + ")";
                }
                if (!names.empty()) lists += names + " = " + brackets + "\n";
            }
            once =
                lists + "for head in range(" + std::to_string(last.turns) + "):\n" + indented(once);
        }
        if (last.times > 1 && draws) {
            once = "for time in range(" + std::to_string(last.times) +
                   "):  # the last ones drawn are used\n" + indented(once);
        }
        return spent + once + stacked;
    }

    /// Writes ids, or a given x or memory, as literals.
    std::string given_values(const DrawnTensor& row) const {
        const Shape shape = row.shape();
        if (std::holds_alternative<Tokens>(*row.given_source)) {
            return literal(row.name, drawn_tensor(row, plan_.dtype));
        }
        const Tensor& given = std::get<Tensor>(*row.given_source);
        std::string code = literal(row.name, given);
        if (!given.is_floating()) code += to(plan_.dtype);
        code += to_compute_dtype();
        if (given.shape() == shape) return code;
        return code + "\n" + row.name + " = " +
               (numpy_ ? "np.broadcast_to(" + row.name + ", " + size_tuple(shape) + ")"
                       : row.name + ".expand(" + size_list(shape) + ")");
    }

    std::string literal(const std::string& name, const Tensor& tensor) const {
        return python_name(name) + " = " + tensor_literal(tensor, plan_.dtype, language_);
    }

    /// Converts to the type of the computation if it differs from that of the draws.
    std::string to_compute_dtype() const {
        return plan_.compute_dtype == plan_.dtype ? "" : to(plan_.compute_dtype);
    }

private:
    std::string to(DType dtype) const {
        return (numpy_ ? ".astype(" : ".to(") + dtype_code(dtype, language_) + ")";
    }

    std::string torch_dtype() const {
        return plan_.dtype == DType::float32
                   ? ""
                   : ", dtype=" + dtype_code(plan_.dtype, CodeLanguage::torch);
    }

    /// A parameter of a PyTorch layer.
    std::string parameter(const std::string& owner) const {
        return gradients_ == Gradients::on ? owner : owner + ".data";
    }

    /// Converts a drawn expression to the program's library and type.
    std::string passed_as_array(std::string expression) const {
        if (rng_ == Rng::torch && numpy_) expression += ".numpy()";
        if (rng_ != Rng::torch) {
            if (plan_.dtype != DType::float64) expression += ".astype(np.float32)";
            if (!numpy_) expression = "torch.from_numpy(" + expression + ")";
            if (is_16_bit(plan_.dtype)) expression += to(plan_.dtype);
        }
        return expression + to_compute_dtype();
    }

    /// Returns an expression that draws a tensor, before conversion. NumPy has no layers, only
    /// their numbers.
    std::string draw(Initialisation how, const Shape& shape) const {
        if (how == Initialisation::linear_weight || how == Initialisation::linear_bias) {
            return std::string(rng_ == Rng::numpy ? "np.random" : "generator") +
                   ".uniform(-bound, bound, " + size_tuple(shape) + ")";
        }
        if (how == Initialisation::ones || how == Initialisation::zeros) {
            const std::string name = how == Initialisation::ones ? "ones(" : "zeros(";
            return rng_ == Rng::torch ? "torch." + name + size_list(shape) + torch_dtype() + ")"
                                      : "np." + name + size_tuple(shape) + ")";
        }
        if (how == Initialisation::small_normal) {
            return "(0.1 * " + draw(Initialisation::normal, shape) + ")";
        }
        const bool uniform = how == Initialisation::uniform;
        if (rng_ == Rng::torch) {
            return std::string(uniform ? "torch.rand(" : "torch.randn(") + size_list(shape) +
                   torch_dtype() + ")";
        }
        if (rng_ == Rng::numpy) {
            return std::string(uniform ? "np.random.rand(" : "np.random.randn(") +
                   size_list(shape) + ")";
        }
        return std::string(uniform ? "generator.random(" : "generator.standard_normal(") +
               size_tuple(shape) + ")";
    }

    /// Draws the dropout mask, with a generator that does not affect the other draws. In NumPy it
    /// is computed from uniform numbers; in PyTorch it is the mask that F.dropout draws.
    std::string draw_kept(const Shape& shape) const {
        const Dropout& dropout = plan_.config.dropout;
        const std::string seed = std::to_string(dropout.seed.value_or(plan_.config.seed));
        if (rng_ == Rng::torch) {
            // Older versions have no Bernoulli draws in float16; the type does not change the
            // draws.
            const std::string type = is_16_bit(plan_.dtype) ? "" : torch_dtype();
            const std::string drawn = "torch.empty(" + size_list(shape) + type + ").bernoulli_(" +
                                      json_number(dropout.share()) +
                                      ", generator=torch.Generator().manual_seed(" + seed + "))";
            return is_16_bit(plan_.dtype)
                       ? drawn + ".to(" + dtype_code(plan_.dtype, CodeLanguage::torch) + ")"
                       : drawn;
        }
        return (rng_ == Rng::numpy
                    ? "(np.random.RandomState(" + seed + ").rand(" + size_list(shape) + ")"
                    : "(np.random.default_rng(" + seed + ").random(" + size_tuple(shape) + ")") +
               " >= " + json_number(dropout.p) + ").astype(float)";
    }

    /// Draws an embedding with a seed for each row, computed from its word.
    std::string draw_words(const DrawnTensor& row) const {
        const bool torch = rng_ == Rng::torch;
        const std::string name = python_name(row.name), width = size_list({row.shape().back()});
        const std::string one = torch ? "torch.randn(" + width + torch_dtype() +
                                            ", generator=torch.Generator().manual_seed(seed))"
                                : rng_ == Rng::numpy
                                    ? "np.random.RandomState(seed).randn(" + width + ")"
                                    : "np.random.default_rng(seed).standard_normal(" + width + ")";
        std::string code =
            "words = " + json_list(row.words) + "\nseeds = [zlib.crc32(f\"" +
            std::to_string(row.seeds->seed) + " {word}\".encode()) for word in words]\n" + name +
            " = " +
            passed_as_array((torch ? "torch" : "np") + (".stack([" + one) + " for seed in seeds])");
        if (row.zero_row) code += "\n" + name + "[" + std::to_string(*row.zero_row) + "] = 0";
        return code;
    }

    /// Returns identity matrices.
    std::string identity(const Shape& shape) const {
        const Shape matrix(shape.end() - 2, shape.end());
        if (rng_ != Rng::torch) {
            const std::string one = "np.eye(" + size_list(matrix) + ")";
            return shape == matrix ? one
                                   : "np.tile(" + one + ", (" + size_list({shape[0], 1, 1}) + "))";
        }
        const std::string one = "torch.eye(" + size_list(matrix) + torch_dtype() + ")";
        return shape == matrix ? one : one + ".expand(" + size_list(shape) + ")";
    }

    /// Returns the line that draws one row of the list, or one head's part of it.
    std::string line(const DrawnTensor& row) const {
        const bool torch = rng_ == Rng::torch;
        const bool in_turn = row.turns > 1;
        Axes axes = row.axes();
        Shape shape = row.shape();
        if (in_turn) {
            axes.erase(axes.begin());
            shape.erase(shape.begin());
        }
        std::string before;
        if (row.value) return literal(row.name, *row.value) + to_compute_dtype();
        if (!row.words.empty()) return draw_words(row);
        std::string expression = row.is_mask()  ? draw_kept(shape)
                                 : row.diagonal ? identity(shape)
                                                : draw(row.how, shape);
        if (row.spread != 1) expression = json_number(row.spread) + " * " + expression;
        if (row.shift != 0) expression = json_number(row.shift) + " + " + expression;
        if (row.spread != 1 || row.shift != 0) expression = "(" + expression + ")";
        std::string after;
        if (!row.member.empty()) {
            const std::size_t dot = row.member.find(".chunk");
            expression = parameter("attention." + row.member.substr(0, dot));
            if (dot != std::string::npos) expression += row.member.substr(dot);
        } else if (row.how == Initialisation::embedding && torch) {
            expression = "torch.nn.Embedding(" + size_list(shape);
            if (row.zero_row) expression += ", padding_idx=" + std::to_string(*row.zero_row);
            expression = parameter(expression + torch_dtype() + ").weight");
        } else if (row.how == Initialisation::embedding && row.zero_row) {
            after = "\n" + python_name(row.name) + "[" + std::to_string(*row.zero_row) + "] = 0";
        } else if (row.how == Initialisation::linear_weight && torch) {
            const std::string layer = "torch.nn.Linear(" + size_list({row.in, row.out}) +
                                      (row.bias ? "" : ", bias=False") + torch_dtype() + ")";
            if (row.bias) before = "linear = " + layer + "\n";
            expression = parameter((row.bias ? "linear" : layer) + ".weight");
            if (axes != Axes{"out", "in"}) expression += ".reshape(" + size_list(shape) + ")";
        } else if (row.how == Initialisation::linear_bias && torch) {
            expression = parameter("linear.bias");
            if (shape.size() > 1) expression += ".reshape(" + size_list(shape) + ")";
        } else if (row.how == Initialisation::linear_weight) {
            before = "bound = 1 / math.sqrt(" + std::to_string(row.in) + ")\n";
        }
        return before + python_name(row.name) + (in_turn ? ".append(" : " = ") +
               passed_as_array(expression) + (in_turn ? ")" : "") + after;
    }

    /// Returns the layer with all parameters of a walk with nn.MultiheadAttention.
    std::string multihead() const {
        std::string call =
            "attention = torch.nn.MultiheadAttention(" + size_list({plan_.embed_dim, plan_.heads});
        if (!plan_.config.bias) call += ", bias=False";
        if (!plan_.one_weight()) {
            const std::string width = std::to_string(plan_.memory_dim);
            call += ", kdim=" + width + ", vdim=" + width;
        }
        return call + torch_dtype() + ")";
    }

    /// Returns the weights or biases of query, key and value in this order.
    static std::vector<const DrawnTensor*> in_part_order(
        const std::vector<const DrawnTensor*>& rows, char kind) {
        std::vector<const DrawnTensor*> found;
        for (const char* part : {"_query", "_key", "_value"}) {
            for (const DrawnTensor* row : rows) {
                if (row->name == kind + std::string(part)) found.push_back(row);
            }
        }
        return found;
    }

    const Plan& plan_;
    Rng rng_;
    bool numpy_;
    CodeLanguage language_;
    Gradients gradients_;
};

}  // namespace

std::string draw_code(const DrawList& list, std::string_view step, const Plan& plan,
                      CodeLanguage language, Gradients gradients) {
    const DrawWriter writer(plan, language, gradients);
    std::vector<const DrawnTensor*> rows;
    for (const DrawnTensor& row : list) {
        if (row.step != step) continue;
        if (row.given_source) return writer.given_values(row);
        const bool spends =
            (row.how != Initialisation::zeros || !row.member.empty()) && row.seeds == nullptr;
        if (!spends && plan.config.parameters.has(row.name)) continue;
        rows.push_back(&row);
    }
    std::string code = rows.empty() ? "" : writer.lines(rows);
    if (const Tensor* given = plan.config.parameters.find(step)) {
        code += (code.empty() ? "" : "\n") + writer.literal(std::string(step), *given) +
                writer.to_compute_dtype();
    }
    return code;
}

}  // namespace attn
