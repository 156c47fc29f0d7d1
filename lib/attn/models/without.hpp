#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/judge/mistakes/mistake.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// An ablated part of a model: the contribution of a head, or of a layer's attention or MLP, to x
/// is replaced by 0 or by its mean over the tokens of the text.
struct Without {
    enum class Part { head, attention, mlp };

    std::size_t layer = 0;
    Part part = Part::head;
    std::size_t head = 0;
    bool mean = false;
    std::string word{};  ///< as typed: `3.7`, `3.attn`, `3.mlp=mean`
};

/// The replacement of such a contribution. Tokens that come one at a time after a text get the mean
/// over that text.
class Replacement {
public:
    explicit Replacement(bool mean) : takes_mean_(mean) {}

    /// Replaces rows of `features` numbers, one per token.
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

/// Parses `3.7`, `3.attn` or `3.mlp`, optionally with `=mean`.  Errors  ConfigError for another
/// word, and for parts that a model does not have.
Without parse_without(std::string_view word);
void check_without(const Without& without, const Architecture& of);

/// Returns the change of its layer's step table: another rule for `context` or `output`.
Mistake as_mistake(const Without& without, std::size_t heads);

}  // namespace attn::models
