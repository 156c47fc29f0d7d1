#include "attn/models/contributions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/generate.hpp"
#include "attn/models/runtime.hpp"

namespace attn::models {
namespace {

/// Returns the last row of a tensor (tokens, features).
std::vector<double> last_row(const Tensor& tensor) {
    const auto& rows = tensor.as<double>();
    return {rows.end() - rows.shape(1), rows.end()};
}

/// A norm with its divisor fixed to that of one row, so that it is linear; without gains, the
/// identity.
class HeldNorm {
public:
    HeldNorm(Norm<double> norm, const std::vector<double>& row) : norm_(std::move(norm)) {
        if (norm_.gain.size() > 0) size_ = row_size(row.data(), row.size(), norm_.kind, norm_.eps);
    }
    std::vector<double> of(std::vector<double> part) const {
        if (norm_.gain.size() == 0) return part;
        double mean = 0;
        for (const double number : part) mean += number / static_cast<double>(part.size());
        if (norm_.kind == NormKind::rms) mean = 0;
        for (std::size_t f = 0; f < part.size(); ++f) {
            part[f] = (part[f] - mean) * norm_.gain(f) / size_.root;
        }
        return part;
    }
    const Array<double>& bias() const { return norm_.bias; }

private:
    Norm<double> norm_;
    RowSize size_{};
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Returns the row of a token in the output matrix, minus that of another if given.
std::vector<double> row_of(const Model& model, std::int64_t id, std::optional<std::int64_t> other) {
    std::vector<std::size_t> ids{static_cast<std::size_t>(id)};
    if (other) ids.push_back(static_cast<std::size_t>(*other));
    const Tensor rows = cast(model.read_rows(model.vocabulary(), ids), DType::float64);
    std::vector<double> row = last_row(rows);
    for (std::size_t f = 0; f < row.size(); ++f) {
        if (other) row[f] = rows.as<double>()(0, f) - row[f];
        row[f] *= model.architecture.logit_scale;
    }
    return row;
}

/// Returns the contribution of one head to x: its columns of the output projection times its
/// features.
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

constexpr auto no_token = "there is no token to continue from: give one";

Array<double> as_rows(const std::vector<double>& row) {
    Array<double> rows = empty_array<double>({1, row.size()});
    std::ranges::copy(row, rows.data());
    return rows;
}

}  // namespace

void require_next_token(const Model& model) {
    if (model.architecture.causal && !model.architecture.norm_after_sum) return;
    throw ConfigError(model.label + " is a " + model.architecture.family +
                      ", which fills gaps and does not predict the next word: use a walk or heads");
}

std::string Place::text() const {
    if (attention) return "layer " + std::to_string(layers) + ", attention";
    return layers == 0 ? "embedding" : "layer " + std::to_string(layers - 1);
}

Place parse_place(std::string_view word, const Model& model) {
    if (word == "embedding") return {};
    const std::size_t count = model.architecture.layers.size();
    const bool attention = word.ends_with(".attn");
    const auto layer = parse_whole<std::size_t>(word.substr(0, word.size() - (attention ? 5 : 0)));
    if (!layer || *layer >= count) {
        throw ConfigError("lens[" + std::string(word) + "] is not a place in " + model.label +
                          ": ask for embedding, for a layer from 0 to " +
                          std::to_string(count - 1) + ", or for its attention as 0.attn");
    }
    return {*layer + (attention ? 0 : 1), attention};
}

NextTokens::NextTokens(const Model& model, const ModelMistake* mistake,
                       const std::vector<std::int64_t>& ids, const std::optional<Place>& place,
                       const std::vector<Without>& without)
    : model_(model), place_(place.value_or(end_of(model))), without_(without) {
    require_next_token(model);
    refuse_unless(!ids.empty(), no_token);
    const std::size_t layers = place_.layers + (place_.attention ? 1 : 0);
    merged_.resize(layers);
    output_.resize(layers);
    mlp_.resize(layers);
    const auto parameters =
        std::make_shared<Parameters<double>>(model, layers, KeepWeights::nothing);
    Runtime<double> runtime(parameters, mistake, edits_of(without, model.architecture));
    const auto keep = [&](const LayerPass& passing) {
        const std::vector<double> row = last_row(passing.tensor);
        if (passing.layer == 0 && passing.name == "x") embedding_ = row;
        if (passing.name == "merged") merged_[passing.layer] = row;
        if (passing.name == "output") output_[passing.layer] = row;
        if (passing.name == "mlp_output") mlp_[passing.layer] = row;
        if (passing.name == "x_after_attention" && passing.layer == place_.layers) {
            x_ = as_rows(row);
        }
    };
    runtime.watch(keep, {"x", "merged", "output", "mlp_output", "x_after_attention"});
    const Array<double> x = runtime.advance(ids);
    if (layers == 0) embedding_ = {x.end() - x.shape(1), x.end()};
    if (!place_.attention) x_ = as_rows({x.end() - x.shape(1), x.end()});
    sums_ = parameters->vocabulary(parameters->final_norm(x_));
    logits_ = sums_;
    parameters->cap(logits_);
}

std::vector<std::int64_t> NextTokens::likeliest(std::size_t count) const {
    std::vector<std::int64_t> ids;
    for (const Candidate& each : candidates<double>({logits_.data(), logits_.size()}, 1, count)) {
        ids.push_back(each.id);
    }
    return ids;
}

NextToken NextTokens::sum_of_parts(std::int64_t id, std::optional<std::int64_t> other,
                                   double temperature) const {
    const Architecture& a = model_.architecture;
    model_.check_ids({id, other.value_or(id)});
    const auto all = distribution<double>({logits_.data(), logits_.size()}, temperature);
    const auto at = static_cast<std::size_t>(id);
    NextToken next{id, all[at].logit, all[at].probability, sums_(0, at), {}};
    if (other) {
        next.logit -= all[static_cast<std::size_t>(*other)].logit;
        next.sum -= sums_(0, static_cast<std::size_t>(*other));
    }
    const std::vector<double> row = row_of(model_, id, other);
    const HeldNorm last(Norm<double>(model_, "g_final", "b_final"), {x_.begin(), x_.end()});
    const auto add = [&](const std::string& part, const std::vector<double>& numbers,
                         double scale = 1) {
        next.parts.push_back({part, scale * dot(last.of(numbers), row)});
    };
    double biases = last.bias().size() > 0 ? dot({last.bias().begin(), last.bias().end()}, row) : 0;
    const Array<double> of_tokens = numbers_of<double>(model_, "b_vocab");
    if (of_tokens.size() > 0) {
        biases += a.logit_scale * (of_tokens(id) - (other ? of_tokens(*other) : 0));
    }
    add("embedding", embedding_);
    for (std::size_t n = 0; n < merged_.size(); ++n) {
        const std::string layer = "layer " + std::to_string(n) + ", ";
        const HeldNorm of_output(Norm<double>(model_, in_layer(n, "g_attention_output"),
                                              in_layer(n, "b_attention_output")),
                                 output_[n]);
        const auto add_bias = [&](const Array<double>& bias, bool is_normed) {
            if (bias.size() == 0) return;
            const std::vector<double> numbers(bias.begin(), bias.end());
            biases +=
                a.residual_scale * dot(last.of(is_normed ? of_output.of(numbers) : numbers), row);
        };
        add_bias(of_output.bias(), false);
        const bool is_replaced = std::ranges::any_of(without_, [&](const Without& each) {
            return each.layer == n && each.part == Without::Part::attention;
        });
        if (is_replaced) {
            add(layer + "attention", of_output.of(output_[n]), a.residual_scale);
        } else {
            const Tensor w_output = cast(model_.read(in_layer(n, "w_output")), DType::float64);
            for (std::size_t head = 0; head < a.heads; ++head) {
                add(layer + "head " + std::to_string(head),
                    of_output.of(of_head(w_output.as<double>(), merged_[n], head, a.head_dim)),
                    a.residual_scale);
            }
            add_bias(numbers_of<double>(model_, in_layer(n, "b_output")), true);
        }
        if (n == place_.layers) break;
        const Norm<double> of_mlp(model_, in_layer(n, "g_mlp_output"), in_layer(n, "b_mlp_output"));
        const Array<double> added = of_mlp(as_rows(mlp_[n]));
        add(layer + "MLP", {added.begin(), added.end()}, a.residual_scale);
    }
    if (biases != 0) next.parts.push_back({"biases", biases});
    return next;
}

namespace {

/// Summarizes the logits of one row, and the rank of a token in it.
Reading reading_of(std::span<const double> logits, std::size_t chosen) {
    const auto all = distribution<double>(logits);
    const auto best = std::ranges::max_element(logits);
    const auto predicted = static_cast<std::size_t>(best - logits.begin());
    const auto above =
        std::ranges::count_if(logits, [&](double each) { return each > logits[chosen]; });
    const auto equal = std::count(
        logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(chosen), logits[chosen]);
    return {static_cast<std::int64_t>(predicted), all[predicted].probability,
            all[chosen].probability, static_cast<std::size_t>(above + equal) + 1};
}

}  // namespace

Lens lens_of(const Model& model, const ModelMistake* mistake, const std::vector<std::int64_t>& ids,
             bool by_part, bool all_tokens, std::optional<std::int64_t> chosen,
             const std::vector<Without>& without) {
    require_next_token(model);
    refuse_unless(!ids.empty(), no_token);
    if (chosen) model.check_ids({*chosen});
    const auto parameters = parameters_of<double>(model, KeepWeights::nothing);
    Runtime<double> runtime(parameters, mistake, edits_of(without, model.architecture));
    Lens lens;
    const auto keep = [&](const Place& place, const Tensor& x) {
        lens.places.push_back(place);
        lens.x.push_back(all_tokens ? x.as<double>() : as_rows(last_row(x)));
    };
    runtime.watch(
        [&](const LayerPass& passing) {
            if (passing.name == "x") keep({passing.layer, false}, passing.tensor);
            if (passing.name != "x") keep({passing.layer, true}, passing.tensor);
        },
        by_part ? std::vector<std::string_view>{"x", "x_after_attention"}
                : std::vector<std::string_view>{"x"});
    keep(end_of(model), {{"token", "feature"}, runtime.advance(ids)});
    lens.readings.resize(lens.x.size());
    // The last place first: it determines the token for all other places.
    for (std::size_t n = lens.x.size(); n-- > 0;) {
        Array<double> logits = parameters->vocabulary(parameters->final_norm(lens.x[n]));
        parameters->cap(logits);
        const std::size_t vocab = logits.shape(1);
        const auto row = [&](std::size_t t) {
            return std::span<const double>(logits.data() + t * vocab, vocab);
        };
        const std::size_t tokens = logits.shape(0);
        if (!chosen) chosen = candidates<double>(row(tokens - 1), 1, 1)[0].id;
        for (std::size_t t = 0; t < tokens; ++t) {
            lens.readings[n].push_back(reading_of(row(t), static_cast<std::size_t>(*chosen)));
        }
    }
    lens.chosen = *chosen;
    return lens;
}

}  // namespace attn::models
