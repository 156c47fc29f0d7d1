#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/models/model.hpp"
#include "attn/plan/config.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn::models {

/// The function that an MLP applies to each number within.
template <class Real>
Real activated(Activation kind, Real x);

/// The numbers of a model's tensor as Real; none when the model has no such tensor.
template <class Real>
Array<Real> numbers_of(const Model& model, const std::string& name);

/// A matrix (out, in) as (in, out).
template <class Real>
Array<Real> input_major(const Array<Real>& matrix);

/// y = x W^T + b for each row of x. The digits of a row do not depend on those beside it.
template <class Real>
struct Linear {
    Array<Real> matrix;  ///< (in, out), so that a result is a sum of its rows
    Array<Real> bias;

    Linear() = default;
    Linear(const Model& model, const std::string& weight, const std::string& bias_name);
    bool present() const { return matrix.size() > 0; }
    Array<Real> operator()(const Array<Real>& rows) const;
};

/// norm of each row.
template <class Real>
struct Norm {
    NormKind kind = NormKind::rms;
    double eps = 0;
    Array<Real> gain;  ///< empty: rows stay as they are
    Array<Real> bias;

    Norm() = default;
    Norm(const Model& model, const std::string& gain_name, const std::string& bias_name);
    Array<Real> operator()(const Array<Real>& rows) const;
};

/// One layer of a model, read.
template <class Real>
struct Layer {
    WalkConfig attention;  ///< the walk through it, with its parameters
    Norm<Real> attention_output_norm, mlp_norm, mlp_output_norm;
    Linear<Real> gate, up, down;

    Layer(const Model& model, std::size_t n);
};

/// The numbers of a model that all its runs share, read once; but for the tables of
/// tokens and positions, of which runs read the rows that they need.
template <class Real>
class Parameters {
public:
    /// Reads the first `layers` layers of a model, which must outlive this.
    ///
    /// Errors  as Model::read.
    Parameters(const Model& model, std::size_t layers);

    /// The map from the last x to logits, read when it is first asked for.
    const Linear<Real>& vocabulary() const;

    const Model& model;
    std::vector<Layer<Real>> layers;
    Norm<Real> embedding_norm, final_norm;

private:
    mutable Linear<Real> vocabulary_;
};

/// The MLP of a layer that holds many and asks a few of them for each token, as in gpt-oss: a
/// router scores all experts, softmax over the scores of the best gives their shares, and
///
///     y = sum over chosen e of  share_e * (w_down_e inner_e + b_down_e),
///     inner = (up + 1) * gate * sigmoid(1.702 gate),   up held within +-7, gate below 7
///
/// Shapes  rows and result (tokens, embed_dim).
/// Range   a token gets the same bits whatever tokens stand beside it.
/// Why     only the experts that are chosen are read, one at a time: a layer of gpt-oss-20b has 32
///         of 100 MB each.
/// Source  the modeling file of gpt-oss in transformers.
template <class Real>
Array<Real> mix_experts(const Model& model, std::size_t layer, const Array<Real>& rows);

}  // namespace attn::models
