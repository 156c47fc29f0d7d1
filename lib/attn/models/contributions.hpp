#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/models/model.hpp"
#include "attn/models/runtime.hpp"

namespace attn::models {

/// The contribution of one part of a model to the logit of a token.
struct Contribution {
    std::string part;  ///< `embedding`, `layer 2, head 3`, `layer 2, MLP`, `biases`
    double logit = 0;
};

/// Errors  ConfigError for a model that does not predict the next token.
void require_next_token(const Model& model);

/// A place between the parts of a model: after a number of layers, or also after the attention of
/// the next one.
struct Place {
    std::size_t layers = 0;
    bool attention = false;

    std::string text() const;  ///< `embedding`, `layer 3`, `layer 3, attention`
    bool operator==(const Place&) const = default;
};
/// Returns the place after the last layer.
inline Place end_of(const Model& model) { return {model.architecture.layers.size(), false}; }
/// Parses the text in `lens[...]`: `embedding`, `3`, `3.attn`.  Errors  ConfigError.
Place parse_place(std::string_view word, const Model& model);

/// A candidate for the next token, or its difference to another one, and the contribution of each
/// part of the model to the logit.
struct NextToken {
    std::int64_t id = 0;
    double logit = 0;
    double probability = 0;
    double sum = 0;  ///< of the parts: the logit before its cap
    std::vector<Contribution> parts;
};

/// Decomposes the logits after a text. The last x is the sum of the contributions of the embedding,
/// every head and every MLP; with the norm of its row held fixed, the final norm and the output
/// matrix are linear:
///
///     logit = sum over parts of (part / size of x * gain) . row of the output matrix
///
/// The norm of a layer's contribution is held fixed, too. At an earlier place, x is the one there.
///
/// Range   float64; the parts add up to the logit, except for rounding.
class NextTokens {
public:
    /// Runs the model, which must outlive this, on `ids`, up to a place.
    /// Errors  ConfigError for models that do not predict the next token.
    NextTokens(const Model& model, const ModelMistake* mistake,
               const std::vector<std::int64_t>& ids, const std::optional<Place>& place = {},
               const std::vector<Without>& without = {});

    /// Returns the ids of the `count` likeliest tokens.
    std::vector<std::int64_t> likeliest(std::size_t count) const;
    /// The probability is that of the logits divided by the temperature.
    /// Errors  ConfigError for an id outside of the vocabulary.
    NextToken of(std::int64_t id, double temperature = 1) const {
        return sum_of_parts(id, {}, temperature);
    }
    /// Returns the evidence for one token over another: the difference of their logits.
    NextToken difference(std::int64_t id, std::int64_t other) const {
        return sum_of_parts(id, other, 1);
    }

private:
    NextToken sum_of_parts(std::int64_t id, std::optional<std::int64_t> other,
                           double temperature) const;

    using Row = std::vector<double>;
    const Model& model_;
    Place place_;
    std::vector<Without> without_;
    Array<double> x_, sums_, logits_;         ///< for the last token, and its logits before the cap
    Row embedding_;                           ///< for the last token
    std::vector<Row> merged_, output_, mlp_;  ///< its rows in each layer
};

/// The prediction of a model after one of its parts, for one token of the text.
struct Reading {
    std::int64_t predicted = 0;  ///< the likeliest token
    double probability = 0;      ///< of `predicted`
    double of_chosen = 0;        ///< of the chosen token
    std::size_t rank = 0;        ///< of the chosen token: 1 is the likeliest
};
/// The readings at each place, for the last token or for all; with `x` itself (token, feature).
struct Lens {
    std::vector<Place> places;
    std::vector<std::vector<Reading>> readings;
    std::vector<Array<double>> x;
    std::int64_t chosen = 0;
};

/// Reads x after every layer as if it were the last one: through the last norm and the output
/// matrix. `chosen` is by default the token that the model predicts at the end.
///
/// Range   float64; the last place is the model's own prediction.
/// Errors  ConfigError for models that do not predict the next token.
/// Source  nostalgebraist 2020, "interpreting GPT: the logit lens".
Lens lens_of(const Model& model, const ModelMistake* mistake, const std::vector<std::int64_t>& ids,
             bool by_part, bool all_tokens, std::optional<std::int64_t> chosen,
             const std::vector<Without>& without = {});

/// The behaviour of one head on a text: statistics of its attention weights, each the mean over the
/// queries from the third token on, for which the current, the previous and the first token are
/// three different keys.
struct HeadFigures {
    std::size_t layer = 0;
    std::size_t head = 0;
    double entropy = 0;   ///< in bits: 0 if all is on one key; log2(n) if equal on n keys
    double evenness = 0;  ///< entropy / log2(number of visible keys): 1 if all weights are equal
    double distance = 0;  ///< in tokens, between the query and the keys that it attends to
    double self = 0;      ///< share of the weights on the current token
    double previous = 0;  ///< on the previous token
    double first = 0;     ///< on the first token of the text
    /// Weight of the first token as a multiple of an even share, for queries from the ninth on; 0
    /// in a text of less than 16 tokens, or if another of the first nine tokens gets more.
    double first_lift = 0;
    double sink = 0;   ///< on no token: 1 - sum of the row, in models with sinks
    std::string name;  ///< empty if the figures support no simple name
};

/// All heads of a model on one text, and the inputs of its layers.
struct HeadSurvey {
    std::vector<HeadFigures> heads;
    std::vector<Array<double>> inputs;  ///< x of each layer, (tokens, embed_dim)
};

/// The behaviour of a head on random tokens that are repeated once.
struct RepeatFigures {
    std::size_t layer = 0;
    std::size_t head = 0;
    double induction = 0;  ///< share on the token that followed this one in the first half
    double duplicate = 0;  ///< share on the same token in the first half
    std::string name{};    ///< `induction` or `duplicate token` if its share is more than half
};
struct RepeatSurvey {
    std::vector<std::int64_t> ids;  ///< the first tokens of every text, and the random ones twice
    std::vector<RepeatFigures> heads;
};
/// Computes means over the second half of `count` random tokens, drawn by a seed and repeated once.
///
///     induction = mean over q of w(q, q - count + 1),   duplicate = mean over q of w(q, q - count)
///
/// Source  Olsson et al. 2022, arXiv 2209.11895.
/// Errors  ConfigError for more tokens than the model supports.
RepeatSurvey survey_repeated(const Model& model, std::size_t count, std::uint64_t seed,
                             const std::vector<Without>& without = {});

/// Names a head by the place of more than half of its weights: `previous token`, `first token`,
/// `current token` or `sink`; `uniform` if its evenness is above 0.95. `first token` is also its
/// name if first_lift is at least 3:
///
///     first_lift = mean over q >= 8 of  w(q, 0) * keys that q sees
///
/// Why     A share falls as a text grows, because more keys divide the sum; an even distribution
///         has a lift of 1 in any text. Early queries are left out: they have only near tokens.
/// Errors  ConfigError for fewer than three tokens; as Runtime.
HeadSurvey survey_heads(const Model& model, const std::vector<std::int64_t>& ids,
                        const std::vector<Without>& without = {});

}  // namespace attn::models
