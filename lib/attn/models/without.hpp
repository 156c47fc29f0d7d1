#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/judge/mistakes/mistake.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// A part of a model that a run does without: what a head, the attention or the MLP of a layer adds
/// to x is 0, or for each token the mean over the tokens of the text.
struct Without {
    enum class Part { head, attention, mlp };

    std::size_t layer = 0;
    Part part = Part::head;
    std::size_t head = 0;
    bool mean = false;
    std::string word{};  ///< as it was said: `3.7`, `3.attn`, `3.mlp=mean`
};

/// What comes in the place of what such a part adds. Tokens that come one at a time after a text
/// get the mean over that text.
class Replacement {
public:
    explicit Replacement(bool mean) : takes_mean_(mean) {}

    /// Replaces rows of so many features, a token each.
    template <class Real>
    void operator()(Real* rows, std::size_t tokens, std::size_t features) {
        if (mean_.empty()) mean_.assign(features, 0);
        if (takes_mean_ && is_first_) {
            for (std::size_t i = 0; i < tokens * features; ++i) {
                mean_[i % features] += static_cast<double>(rows[i]) / static_cast<double>(tokens);
            }
        }
        is_first_ = false;
        for (std::size_t i = 0; i < tokens * features; ++i) {
            rows[i] = static_cast<Real>(mean_[i % features]);
        }
    }

private:
    bool takes_mean_;
    bool is_first_ = true;
    std::vector<double> mean_{};
};

/// Reads `3.7`, `3.attn` or `3.mlp`, with `=mean` after or not.  Errors  ConfigError for another
/// word, and for what a model does not have.
Without parse_without(std::string_view word);
void check_without(const Without& without, const Architecture& of);

/// The change of the step table of its layer: another rule for `context` or `output`.
Mistake as_mistake(const Without& without, std::size_t heads);

}  // namespace attn::models
