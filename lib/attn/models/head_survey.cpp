#include "attn/models/contributions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "attn/ground/random/generator.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/runtime.hpp"

namespace attn::models {
namespace {

constexpr std::size_t first_query = 2;
constexpr std::size_t first_far_query = 8;
constexpr double most_of_it = 0.5;

/// Adds the figures for one row of weights, that of token q.
void add_row(const Array<double>& weights, std::size_t head, std::size_t q, HeadFigures& figures) {
    double entropy = 0;
    double distance = 0;
    double sum = 0;
    std::size_t seen = 0;
    for (std::size_t k = 0; k < weights.shape(2); ++k) {
        const double weight = weights(head, q, k);
        if (weight <= 0) continue;
        entropy -= weight * std::log2(weight);
        distance += weight * std::abs(static_cast<double>(q) - static_cast<double>(k));
        sum += weight;
        ++seen;
    }
    figures.entropy += entropy;
    figures.distance += sum > 0 ? distance / sum : 0;
    figures.evenness += seen > 1 ? entropy / std::log2(static_cast<double>(seen)) : 0;
    figures.self += weights(head, q, q);
    figures.previous += weights(head, q, q - 1);
    figures.first += weights(head, q, 0);
    figures.sink += 1 - sum;
}

/// Computes first_lift of one head.
double lift_of_first(const Array<double>& weights, std::size_t head) {
    const std::size_t tokens = weights.shape(1);
    if (tokens < 2 * first_far_query) return 0;
    std::array<double, first_far_query + 1> shares{};  // of tokens that all these queries see
    double lift = 0;
    for (std::size_t q = first_far_query; q < tokens; ++q) {
        std::size_t seen = 0;
        for (std::size_t k = 0; k < tokens; ++k) seen += weights(head, q, k) > 0 ? 1 : 0;
        lift += weights(head, q, 0) * static_cast<double>(seen);
        for (std::size_t k = 0; k < shares.size(); ++k) shares[k] += weights(head, q, k);
    }
    const bool most = std::max_element(shares.begin(), shares.end()) == shares.begin();
    return most ? lift / static_cast<double>(tokens - first_far_query) : 0;
}

std::string name_of(const HeadFigures& figures) {
    constexpr double the_same_everywhere = 0.95;
    constexpr double far_above_even = 3;
    if (figures.previous > most_of_it) return "previous token";
    if (figures.first > most_of_it) return "first token";
    if (figures.self > most_of_it) return "current token";
    if (figures.sink > most_of_it) return "sink";
    if (figures.first_lift >= far_above_even) return "first token";
    return figures.evenness > the_same_everywhere ? "uniform" : "";
}

}  // namespace

namespace {

/// Calls `each` with the weights of every layer, (head, query, key), and before them with x.
void watch_weights(
    const Model& model, const std::vector<std::int64_t>& ids, const std::vector<Without>& without,
    const std::function<void(std::size_t layer, std::string_view name, Array<double> rows)>& each) {
    Runtime<double> runtime(parameters_of<double>(model, KeepWeights::nothing), nullptr,
                            edits_of(without, model.architecture));
    const std::size_t tokens = ids.size();
    const auto see = [&](const LayerPass& passing) {
        Array<double> rows = passing.tensor.as<double>();
        if (passing.name == "weights") {
            rows.reshape({rows.size() / tokens / tokens, tokens, tokens});
        }
        each(passing.layer, passing.name, std::move(rows));
    };
    runtime.watch(see, {"x", "weights"});
    runtime.advance(ids);
}

}  // namespace

HeadSurvey survey_heads(const Model& model, const std::vector<std::int64_t>& ids,
                        const std::vector<Without>& without) {
    if (ids.size() <= first_query) {
        throw ConfigError("figures of heads need at least 3 tokens, not " +
                          std::to_string(ids.size()) +
                          ": pass $text with three words or more"_message);
    }
    HeadSurvey all;
    const std::size_t tokens = ids.size();
    watch_weights(model, ids, without,
                  [&](std::size_t layer, std::string_view name, Array<double> weights) {
                      if (name == "x") return all.inputs.push_back(std::move(weights));
                      for (std::size_t head = 0; head < weights.shape(0); ++head) {
                          HeadFigures figures;
                          figures.layer = layer;
                          figures.head = head;
                          for (std::size_t q = first_query; q < tokens; ++q)
                              add_row(weights, head, q, figures);
                          for (double* figure :
                               {&figures.entropy, &figures.evenness, &figures.distance,
                                &figures.self, &figures.previous, &figures.first, &figures.sink}) {
                              *figure /= static_cast<double>(tokens - first_query);
                          }
                          figures.first_lift = lift_of_first(weights, head);
                          figures.name = name_of(figures);
                          all.heads.push_back(figures);
                      }
                  });
    return all;
}

RepeatSurvey survey_repeated(const Model& model, std::size_t count, std::uint64_t seed,
                             const std::vector<Without>& without) {
    RepeatSurvey all;
    std::vector<std::int64_t>& ids = all.ids;
    if (model.tokenizer != nullptr) ids = model.encode("");
    const std::size_t first = ids.size();
    const auto vocab = static_cast<double>(model.architecture.vocab_size);
    std::vector<double> numbers(2 * count);
    make_generator(Rng::numpy_pcg64, seed)->rand(std::span(numbers).first(count));
    for (std::size_t i = 0; i < 2 * count; ++i) {
        ids.push_back(static_cast<std::int64_t>(numbers[i % count] * vocab));
    }
    watch_weights(model, ids, without,
                  [&](std::size_t layer, std::string_view name, const Array<double>& weights) {
                      if (name == "x") return;
                      for (std::size_t head = 0; head < weights.shape(0); ++head) {
                          RepeatFigures figures{.layer = layer, .head = head};
                          for (std::size_t q = first + count; q < ids.size(); ++q) {
                              figures.induction +=
                                  weights(head, q, q - count + 1) / static_cast<double>(count);
                              figures.duplicate +=
                                  weights(head, q, q - count) / static_cast<double>(count);
                          }
                          figures.name = figures.induction > most_of_it   ? "induction"
                                         : figures.duplicate > most_of_it ? "duplicate token"
                                                                          : "";
                          all.heads.push_back(figures);
                      }
                  });
    return all;
}

}  // namespace attn::models
