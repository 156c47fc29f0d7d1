#include "attn/models/contributions.hpp"

#include "attn/models/generate.hpp"
#include "attn/models/runtime.hpp"
#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

/// The last row of a tensor (tokens, features).
std::vector<double> last_row(const Tensor& tensor) {
    const auto& rows = tensor.as<double>();
    return {rows.end() - rows.shape(1), rows.end()};
}

/// The map from a part of the last x to what it adds to one logit.
class Direction {
public:
    Direction(const Model& model, const Array<double>& x, std::int64_t id)
        : norm_(model, "g_final", "b_final"), row_(x.shape(1)) {
        const Tensor matrix = cast(model.read(model.vocabulary()), DType::float64);
        const double* const last = x.end() - x.shape(1);
        size_ = row_size(last, row_.size(), norm_.kind, norm_.eps);
        const Array<double> bias = numbers_of<double>(model, "b_vocab");
        if (bias.size() > 0) constant_ = bias(id);
        for (std::size_t f = 0; f < row_.size(); ++f) {
            const double weight = matrix.as<double>()(id, f);
            row_[f] = weight * norm_.gain(f) / size_.root;
            if (norm_.bias.size() > 0) constant_ += weight * norm_.bias(f);
        }
    }

    double of(const std::vector<double>& part) const {
        double mean = 0;
        for (const double number : part) mean += number / static_cast<double>(part.size());
        if (norm_.kind == NormKind::rms) mean = 0;
        double sum = 0;
        for (std::size_t f = 0; f < part.size(); ++f) sum += (part[f] - mean) * row_[f];
        return sum;
    }
    double constant() const { return constant_; }

private:
    Norm<double> norm_;
    std::vector<double> row_;
    RowSize size_;
    double constant_ = 0;  ///< what the biases of the end add
};

/// The contribution of one head to x: its columns of the output projection times its features.
std::vector<double> of_head(const Array<double>& w_output, const std::vector<double>& merged,
                            std::size_t head, std::size_t head_dim) {
    std::vector<double> sum(w_output.shape(0), 0);
    for (std::size_t c = 0; c < sum.size(); ++c) {
        for (std::size_t f = head * head_dim; f < (head + 1) * head_dim; ++f) {
            sum[c] += w_output(c, f) * merged[f];
        }
    }
    return sum;
}

}  // namespace

NextTokens::NextTokens(const Model& model, const ModelMistake* mistake,
                       const std::vector<std::int64_t>& ids)
    : model_(model), merged_(model.architecture.layers.size()), mlp_(merged_.size()) {
    const Architecture& a = model.architecture;
    if (!a.causal || a.norm_after_sum || a.logit_softcap > 0 || model.has("0.g_attention_output") ||
        model.has("0.g_mlp_output")) {
        throw ConfigError(model.label +
                          " takes a norm of what its layers add, or caps its logits: "
                          "a logit is no sum over heads there");
    }
    Runtime<double> runtime(parameters_of<double>(model), mistake);
    const auto keep = [&](const Passing& passing) {
        if (passing.layer == 0 && passing.name == "x") embedding_ = last_row(passing.tensor);
        if (passing.name == "merged") merged_[passing.layer] = last_row(passing.tensor);
        if (passing.name == "mlp_output") mlp_[passing.layer] = last_row(passing.tensor);
    };
    runtime.watch(keep, {"x", "merged", "mlp_output"});
    x_ = runtime.advance(ids);
    logits_ = runtime.last_logits(x_);
}

std::vector<std::int64_t> NextTokens::likeliest(std::size_t count) const {
    std::vector<std::int64_t> ids;
    for (const Candidate& each : candidates<double>({logits_.data(), logits_.size()}, 1, count)) {
        ids.push_back(each.id);
    }
    return ids;
}

NextToken NextTokens::of(std::int64_t id) const {
    const Architecture& a = model_.architecture;
    model_.check_ids({id});
    NextToken next;
    next.id = id;
    const Candidate chosen =
        distribution<double>({logits_.data(), logits_.size()})[static_cast<std::size_t>(id)];
    next.logit = chosen.logit;
    next.probability = chosen.probability;
    const Direction direction(model_, x_, id);
    double biases = direction.constant();
    next.parts.push_back({"embedding", direction.of(embedding_)});
    for (std::size_t n = 0; n < a.layers.size(); ++n) {
        const std::string layer = "layer " + std::to_string(n) + ", ";
        const Tensor w_output = cast(model_.read(in_layer(n, "w_output")), DType::float64);
        for (std::size_t head = 0; head < a.heads; ++head) {
            next.parts.push_back(
                {layer + "head " + std::to_string(head),
                 direction.of(of_head(w_output.as<double>(), merged_[n], head, a.head_dim))});
        }
        next.parts.push_back({layer + "MLP", direction.of(mlp_[n])});
        const Array<double> bias = numbers_of<double>(model_, in_layer(n, "b_output"));
        if (bias.size() > 0) biases += direction.of({bias.begin(), bias.end()});
    }
    if (biases != 0) next.parts.push_back({"biases", biases});
    return next;
}

}  // namespace attn::models
