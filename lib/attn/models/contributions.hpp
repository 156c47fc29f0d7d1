#pragma once
#include <cstdint>
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

/// One token that may come next, and what each part of the model adds to its logit.
struct NextToken {
    std::int64_t id = 0;
    double logit = 0;
    double probability = 0;
    std::vector<Contribution> parts;  ///< they add up to the logit
};

/// Takes the logits behind a text apart. The last x is a sum of what the embedding, every head and
/// every MLP have added, and with the size of its row held fixed the final norm and the output
/// matrix are linear:
///
///     logit = sum over parts of (part / size of x * gain) . row of the output matrix
///
/// Range   float64; the parts add up to the logit but for rounding.
class NextTokens {
public:
    /// Runs the model, which must outlive this, on `ids`.
    /// Errors  ConfigError for models that take a norm of what a layer adds, or cap their logits:
    ///         there the logit is no such sum.
    NextTokens(const Model& model, const ModelMistake* mistake,
               const std::vector<std::int64_t>& ids);

    /// The ids of the `count` likeliest tokens.
    std::vector<std::int64_t> likeliest(std::size_t count) const;
    /// Errors  ConfigError for an id outside of the vocabulary.
    NextToken of(std::int64_t id) const;

private:
    const Model& model_;
    Array<double> x_, logits_;
    std::vector<double> embedding_;                  ///< of the last token
    std::vector<std::vector<double>> merged_, mlp_;  ///< its rows in each layer
};

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

/// A head is called by what more than half of its weights go to: `previous token`, `first token`,
/// `current token` or `sink`; `uniform` when its evenness is above 0.95. It is called `first token`
/// too when first_lift is 3 or more:
///
///     first_lift = mean over q >= 8 of  w(q, 0) * keys that q sees
///
/// Why     a share falls as a text grows, for it is divided among more keys; even attention has a
///         lift of 1 in any text, and the near tokens of early queries say nothing of the first.
/// Errors  ConfigError for fewer than three tokens; as Runtime.
HeadSurvey survey_heads(const Model& model, const std::vector<std::int64_t>& ids);

}  // namespace attn::models
