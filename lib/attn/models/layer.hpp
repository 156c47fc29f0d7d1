#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attn/core/plan/config.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// The activation function of an MLP.
template <class Real>
Real activated(Activation kind, Real x);

/// Returns the numbers of a model's tensor as Real; empty if the model has no such tensor.
template <class Real>
Array<Real> numbers_of(const Model& model, const std::string& name);

/// Transposes (out, in) to (in, out).
template <class Real>
Array<Real> input_major(const Array<Real>& matrix);

/// A matrix in the smallest type that represents its numbers: blocks as in their file, 2 bytes if
/// all numbers are bfloat16 or float16, 4 bytes for float32. Rows are widened, and blocks unpacked,
/// for each product.
class StoredMatrix {
public:
    StoredMatrix() = default;
    /// Stores (out, in) as (in, out).
    explicit StoredMatrix(const Tensor& matrix);
    /// Reads the matrix with that name, and keeps its blocks packed.  Errors  as Model::read.
    StoredMatrix(const Model& model, const std::string& name);

    std::size_t rows() const { return shape_[0]; }
    std::size_t columns() const { return shape_[1]; }
    /// Returns `count` numbers of row i from column `first` on: the stored ones if their type is
    /// Real, otherwise a copy in `room`. Requires a matrix that is not in blocks.
    template <class Real>
    const Real* row(std::size_t i, std::size_t first, std::size_t count,
                    std::vector<Real>& room) const;
    /// Calls `each` with matrices that are not in blocks and cover this one, and the first column
    /// of each in it: with this matrix itself, or with unpacked blocks.
    void for_each_part(const std::function<void(const StoredMatrix&, std::size_t)>& each) const;

private:
    bool pack(const Array<float>& matrix, unsigned shift, float factor);

    Shape shape_{0, 0};
    Model::ReadRows blocks_{};  ///< unpacks columns; null if the matrix is not in blocks
    std::variant<Array<float>, Array<double>, std::vector<std::uint16_t>> numbers_;
    unsigned shift_ = 0;  ///< for 2 bytes: distance of their bits from those of a float
    float factor_ = 1;    ///< factor of the unpacked number
};

/// Computes y = x W^T + b for each row of x. A row's bits do not depend on the other rows.
template <class Real>
struct Linear {
    StoredMatrix matrix;  ///< (in, out), so that a result is a sum of its rows
    Array<Real> bias;

    Linear() = default;
    Linear(const Model& model, const std::string& weight, const std::string& bias_name);
    bool present() const { return matrix.rows() > 0; }
    Array<Real> operator()(const Array<Real>& rows) const;
};

/// Normalizes each row.
template <class Real>
struct Norm {
    NormKind kind = NormKind::rms;
    double eps = 0;
    Array<Real> gain;  ///< empty: rows are unchanged
    Array<Real> bias;

    Norm() = default;
    Norm(const Model& model, const std::string& gain_name, const std::string& bias_name);
    Array<Real> operator()(const Array<Real>& rows) const;
};

/// A layer of a model in memory.
template <class Real>
struct Layer {
    WalkConfig attention;  ///< the walk through it, with its parameters
    Norm<Real> attention_output_norm, mlp_norm, mlp_output_norm;
    Linear<Real> gate, up, down;

    Layer(const Model& model, std::size_t n);
};

/// Whether the parameters of all layers stay in memory for the next run, or only one layer at a
/// time.
enum class KeepWeights { all, nothing };

/// The parameters of a model, shared by all its runs, each read on first use; except for the tables
/// of tokens and positions, of which runs read only the rows that they need.
template <class Real>
class Parameters {
public:
    /// Uses the first `layers` layers of a model, which must outlive this.
    Parameters(const Model& model, std::size_t layers, KeepWeights hold = KeepWeights::all);

    /// Returns layer n.  Errors  as Model::read.
    std::shared_ptr<const Layer<Real>> layer(std::size_t n) const;
    std::size_t layers() const { return layers_.size(); }
    bool keeps() const { return hold_ == KeepWeights::all; }
    /// Maps the last x to logits; with Hold::nothing, for some thousand tokens of the vocabulary at
    /// a time.  Errors  as Model::read.
    Array<Real> vocabulary(const Array<Real>& rows) const;
    /// Maps x to the logits of these ids alone.
    Array<Real> vocabulary_of(const Array<Real>& rows, const std::vector<std::size_t>& ids) const;
    /// Applies the model's cap to logits, if it has one.
    void cap(Array<Real>& logits) const;
    /// Returns the same map as one matrix.
    const Linear<Real>& whole_vocabulary() const;

    const Model& model;
    Norm<Real> embedding_norm, final_norm;

private:
    Array<Real> scaled(Array<Real> logits) const;
    KeepWeights hold_;
    mutable std::vector<std::shared_ptr<const Layer<Real>>> layers_;
    mutable Linear<Real> vocabulary_;
};

/// Computes an MLP with several experts, of which each token uses a few: a router scores all
/// experts, softmax over the best scores (or over all) gives their shares, and
///
///     y = sum over chosen e of  share_e * (w_down_e inner_e + b_down_e),
///     inner = up * silu(gate),   or in gpt-oss
///     inner = (up + 1) * gate * sigmoid(1.702 gate),   up clamped to +-7, gate to at most 7
///
/// Shapes  rows and result (tokens, embed_dim).
/// Range   a token gets the same bits whatever the other tokens are.
/// Why     only the chosen experts are read, one at a time: a layer of gpt-oss-20b has 32 of 100 MB
///         each.
/// Source  the modeling files of gpt-oss, Mixtral and Qwen 3 in transformers.
template <class Real>
Array<Real> mix_experts(const Model& model, std::size_t layer, const Array<Real>& rows);

}  // namespace attn::models
