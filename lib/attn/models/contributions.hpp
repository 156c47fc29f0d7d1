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

/// Errors  ConfigError for a model that does not say what comes next.
void require_next_token(const Model& model);

/// A place between the parts of a model: after so many layers, or after the attention of the next
/// one too.
struct Place {
    std::size_t layers = 0;
    bool attention = false;

    std::string text() const;  ///< `embedding`, `layer 3`, `layer 3, attention`
    bool operator==(const Place&) const = default;
};
/// The place after the last layer.
inline Place end_of(const Model& model) { return {model.architecture.layers.size(), false}; }
/// The text in `lens[...]`: `embedding`, `3`, `3.attn`.  Errors  ConfigError.
Place parse_place(std::string_view word, const Model& model);

/// One token that may come next, or one in the place of another, and what each part of the model
/// adds to its logit, or to the difference of the two.
struct NextToken {
    std::int64_t id = 0;
    double logit = 0;
    double probability = 0;
    double sum = 0;  ///< of the parts: the logit, where it is capped before that
    std::vector<Contribution> parts;
};

/// Takes the logits after a text apart. The last x is a sum of what the embedding, every head and
/// every MLP have added, and with the size of its row held fixed the final norm and the output
/// matrix are linear:
///
///     logit = sum over parts of (part / size of x * gain) . row of the output matrix
///
/// A norm of what a layer adds is held in the same way. At an earlier place, x is that of there.
///
/// Range   float64; the parts add up to the logit but for rounding.
class NextTokens {
public:
    /// Runs the model, which must outlive this, on `ids`, up to a place.
    /// Errors  ConfigError for models that do not say what comes next.
    NextTokens(const Model& model, const ModelMistake* mistake,
               const std::vector<std::int64_t>& ids, const std::optional<Place>& place = {},
               const std::vector<Without>& without = {});

    /// The ids of the `count` likeliest tokens.
    std::vector<std::int64_t> likeliest(std::size_t count) const;
    /// Its probability is that of logits divided by the temperature.
    /// Errors  ConfigError for an id outside of the vocabulary.
    NextToken of(std::int64_t id, double temperature = 1) const {
        return apart(id, {}, temperature);
    }
    /// What is for a token and not for another: the difference of their logits.
    NextToken difference(std::int64_t id, std::int64_t other) const { return apart(id, other, 1); }

private:
    NextToken apart(std::int64_t id, std::optional<std::int64_t> other, double temperature) const;

    using Row = std::vector<double>;
    const Model& model_;
    Place place_;
    std::vector<Without> without_;
    Array<double> x_, sums_, logits_;         ///< of the last token, and its logits before the cap
    Row embedding_;                           ///< of the last token
    std::vector<Row> merged_, output_, mlp_;  ///< its rows in each layer
};

/// What a model would say after a part of it, for one token of the text.
struct Reading {
    std::int64_t said = 0;   ///< the likeliest token
    double probability = 0;  ///< its own
    double of_chosen = 0;    ///< that of the chosen token
    std::size_t rank = 0;    ///< of the chosen token: 1 is the likeliest
};
/// The readings of each place, for the last token or for all; with `x` itself (token, feature).
struct Lens {
    std::vector<Place> places;
    std::vector<std::vector<Reading>> readings;
    std::vector<Array<double>> x;
    std::int64_t chosen = 0;
};

/// Reads x after every layer as if it were the last one: through the last norm and the matrix of
/// the logits. `chosen` is the token that the model says at the end where none is named.
///
/// Range   float64; the last place is what the model says.
/// Errors  ConfigError for models that do not say what comes next.
/// Source  nostalgebraist 2020, "interpreting GPT: the logit lens".
Lens lens_of(const Model& model, const ModelMistake* mistake, const std::vector<std::int64_t>& ids,
             bool by_part, bool all_tokens, std::optional<std::int64_t> chosen,
             const std::vector<Without>& without = {});

/// The behaviour of one head on a text: figures of its attention weights, each the mean over the
/// queries from the third token on, for which itself, the previous and the first token are three
/// keys.
struct HeadFigures {
    std::size_t layer = 0;
    std::size_t head = 0;
    double entropy = 0;   ///< in bits: 0, all on one key; log2(n), the same on n keys
    double evenness = 0;  ///< entropy / log2(keys that the query sees): 1 is the same on all
    double distance = 0;  ///< in tokens, between the query and the keys that it attends to
    double self = 0;      ///< share of the weights on the token itself
    double previous = 0;  ///< on the token before it
    double first = 0;     ///< on the first token of the text
    /// How many times an even share the first token gets, over the queries from the ninth on; 0 in
    /// a text of less than 16 tokens, or where another of the first nine tokens gets more.
    double first_lift = 0;
    double sink = 0;   ///< on no token: 1 - sum of the row, in models with sinks
    std::string name;  ///< empty when no plain name is borne out by the figures
};

/// All heads of a model in one text, and what its layers made them of.
struct HeadSurvey {
    std::vector<HeadFigures> heads;
    std::vector<Array<double>> inputs;  ///< x of each layer, (tokens, embed_dim)
};

/// What a head does in a text that is a random one twice.
struct RepeatFigures {
    std::size_t layer = 0;
    std::size_t head = 0;
    double induction = 0;  ///< share on the token after the same one of the first half
    double duplicate = 0;  ///< share on that same one
    std::string name{};    ///< `induction` or `duplicate token`: more than half of it
};
struct RepeatSurvey {
    std::vector<std::int64_t> ids;  ///< what begins a text, and the tokens twice
    std::vector<RepeatFigures> heads;
};
/// Means over the second half of `count` random tokens, drawn by a seed, twice.
///
///     induction = mean over q of w(q, q - count + 1),   duplicate = mean over q of w(q, q - count)
///
/// Source  Olsson et al. 2022, arXiv 2209.11895.
/// Errors  ConfigError for more tokens than the model was made for.
RepeatSurvey survey_repeated(const Model& model, std::size_t count, std::uint64_t seed,
                             const std::vector<Without>& without = {});

/// A head is called by what more than half of its weights go to: `previous token`, `first token`,
/// `current token` or `sink`; `uniform` when its evenness is above 0.95. It is called `first token`
/// too when first_lift is 3 or more:
///
///     first_lift = mean over q >= 8 of  w(q, 0) * keys that q sees
///
/// Why     a share falls as a text grows, for it is divided among more keys; even attention has a
///         lift of 1 in any text, and the near tokens of early queries say nothing of the first.
/// Errors  ConfigError for fewer than three tokens; as Runtime.
HeadSurvey survey_heads(const Model& model, const std::vector<std::int64_t>& ids,
                        const std::vector<Without>& without = {});

}  // namespace attn::models
