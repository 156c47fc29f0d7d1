#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/models/runtime.hpp"
#include "attn/models/sampler.hpp"

namespace attn::models {

/// One token of a text that a model has written.
struct WrittenToken {
    std::int64_t id = 0;
    double probability = 0;
    std::vector<Candidate> likeliest;  ///< the first of candidates()
};

/// Continues `prompt` by up to `count` tokens, and calls `written` with each as soon as it is
/// chosen; `likeliest` candidates are kept of each. Ends early at a token that ends a text, which
/// is not written, and where the model was made for no more tokens.
template <class Real>
void generate(Runtime<Real>& runtime, std::vector<std::int64_t> prompt, std::size_t count,
              Sampler& sampler, std::size_t likeliest,
              const std::function<void(const WrittenToken&)>& written);

/// The first place where the numbers of a model with a mistake part from the right ones.
struct Parting {
    std::size_t token = 0;  ///< position of the token
    std::size_t layer = 0;
    std::string step;
    std::optional<std::size_t> head;
    double right = 0;
    double wrong = 0;
};

/// Runs a model right and with a mistake on the same tokens, the first `prompt` of them in one
/// piece as a text is written, and compares the tensors of every layer, in float64; nothing when
/// all are equal.
std::optional<Parting> first_parting(const std::shared_ptr<const Parameters<double>>& parameters,
                                     const ModelMistake* mistake,
                                     const std::vector<std::int64_t>& ids, std::size_t prompt = 1);

}  // namespace attn::models
