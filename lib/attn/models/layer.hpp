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

/// The function that an MLP applies to each number within.
template <class Real>
Real activated(Activation kind, Real x);

/// The numbers of a model's tensor as Real; none when the model has no such tensor.
template <class Real>
Array<Real> numbers_of(const Model& model, const std::string& name);

/// A matrix (out, in) as (in, out).
template <class Real>
Array<Real> input_major(const Array<Real>& matrix);

/// A matrix in as few bytes as its numbers take: blocks as their file has them, 2 bytes each if all
/// numbers are those of a bfloat16 or a float16, 4 if they are those of a float32. Rows are
/// widened, and blocks opened, for each product.
class StoredMatrix {
public:
    StoredMatrix() = default;
    /// Keeps (out, in) as (in, out).
    explicit StoredMatrix(const Tensor& matrix);
    /// The matrix of that name, its blocks kept as they are.  Errors  as Model::read.
    StoredMatrix(const Model& model, const std::string& name);

    std::size_t rows() const { return shape_[0]; }
    std::size_t columns() const { return shape_[1]; }
    /// `count` numbers of row i from column `first` on: the numbers themselves if they are kept as
    /// Real, otherwise in `room`. Requires a matrix that is not in blocks.
    template <class Real>
    const Real* row(std::size_t i, std::size_t first, std::size_t count,
                    std::vector<Real>& room) const;
    /// Calls `each` with a matrix that is not in blocks, and the column of this one at which it
    /// begins, until all columns have come: with this one itself, or with some of its blocks
    /// opened.
    void for_each_part(const std::function<void(const StoredMatrix&, std::size_t)>& each) const;

private:
    bool pack(const Array<float>& matrix, unsigned shift, float factor);

    Shape shape_{0, 0};
    Model::ReadRows blocks_{};  ///< opens columns; null if the matrix is not in blocks
    std::variant<Array<float>, Array<double>, std::vector<std::uint16_t>> numbers_;
    unsigned shift_ = 0;  ///< of 2 bytes: how far their digits are from those of a float
    float factor_ = 1;    ///< and what one then is multiplied by
};

/// y = x W^T + b for each row of x. The digits of a row do not depend on those beside it.
template <class Real>
struct Linear {
    StoredMatrix matrix;  ///< (in, out), so that a result is a sum of its rows
    Array<Real> bias;

    Linear() = default;
    Linear(const Model& model, const std::string& weight, const std::string& bias_name);
    bool present() const { return matrix.rows() > 0; }
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

/// Whether what was read of a model stays in memory for the next run, or one layer alone.
enum class Hold { all, nothing };

/// The numbers of a model that all its runs share, each read when it is first asked for; but for
/// the tables of tokens and positions, of which runs read the rows that they need.
template <class Real>
class Parameters {
public:
    /// Those of the first `layers` layers of a model, which must outlive this.
    Parameters(const Model& model, std::size_t layers, Hold hold = Hold::all);

    /// Layer n.  Errors  as Model::read.
    std::shared_ptr<const Layer<Real>> layer(std::size_t n) const;
    std::size_t layers() const { return layers_.size(); }
    bool keeps() const { return hold_ == Hold::all; }
    /// The map from the last x to logits, which takes those of some thousand tokens at a time where
    /// nothing is kept.  Errors  as Model::read.
    Array<Real> vocabulary(const Array<Real>& rows) const;
    /// The same for the tokens of these ids alone.
    Array<Real> vocabulary_of(const Array<Real>& rows, const std::vector<std::size_t>& ids) const;
    /// Holds logits below the model's cap, where it has one.
    void cap(Array<Real>& logits) const;
    /// The same map as a whole.
    const Linear<Real>& whole_vocabulary() const;

    const Model& model;
    Norm<Real> embedding_norm, final_norm;

private:
    Array<Real> scaled(Array<Real> logits) const;
    Hold hold_;
    mutable std::vector<std::shared_ptr<const Layer<Real>>> layers_;
    mutable Linear<Real> vocabulary_;
};

/// The MLP of a layer that holds many and asks a few of them for each token: a router scores all
/// experts, softmax over the scores of the best (or of all) gives their shares, and
///
///     y = sum over chosen e of  share_e * (w_down_e inner_e + b_down_e),
///     inner = up * silu(gate),   or in gpt-oss
///     inner = (up + 1) * gate * sigmoid(1.702 gate),   up held within +-7, gate below 7
///
/// Shapes  rows and result (tokens, embed_dim).
/// Range   a token gets the same bits whatever tokens are beside it.
/// Why     only the experts that are chosen are read, one at a time: a layer of gpt-oss-20b has 32
///         of 100 MB each.
/// Source  the modeling files of gpt-oss, Mixtral and Qwen 3 in transformers.
template <class Real>
Array<Real> mix_experts(const Model& model, std::size_t layer, const Array<Real>& rows);

}  // namespace attn::models
