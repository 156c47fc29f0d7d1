#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/core/plan/ledger.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/ground/random/generator.hpp"

namespace attn {

/// One axis of a drawn tensor: a size, `times` of it side by side (head_dim once for each head).
struct Extent {
    std::string axis;
    std::size_t size = 0;
    std::size_t times = 1;
    /// The setting that a given tensor with this axis tells; nullptr where it tells none.
    std::optional<std::int64_t> WalkConfig::*setting = nullptr;

    std::size_t length() const { return size * times; }
};

/// One row of the list of all that a walk starts from: how a tensor is drawn, or where it is taken
/// from.
struct DrawnTensor {
    std::string name;  ///< in the ledger; empty when it is drawn and thrown away
    std::string step;  ///< the step whose lines of code draw it
    std::vector<Extent> extents;
    Initialisation how = Initialisation::normal;
    /// The layer that it is a part of, which may hold more than one tensor.
    std::size_t in = 0, out = 0;
    bool bias = false;                      ///< of a Linear's weight: its bias is drawn with it
    std::string member{};                   ///< its name in PyTorch's nn.MultiheadAttention
    std::optional<std::size_t> zero_row{};  ///< the padding row of an embedding table
    bool diagonal = false;                  ///< ones on the diagonal of each of its matrices
    std::size_t turns = 1;                  ///< the heads, where each in turn draws its part
    std::size_t times = 1;                  ///< drawn so often: the last one stays
    double shift = 0, spread = 1;           ///< shift + spread * what is drawn
    std::shared_ptr<const Tensor> value{};  ///< nothing is drawn: this is it
    const WalkConfig* seeds = nullptr;      ///< drawn from other seeds, made of these settings
    std::vector<std::string> words{};       ///< one per row of an embedding: each has its seed
    const Source* taken = nullptr;          ///< ids and given tensors: nothing is drawn

    Axes axes() const;
    Shape shape() const;
    /// True for the mask of dropout.
    bool is_mask() const { return seeds != nullptr && words.empty(); }
    /// Whether it may be given by its name among the parameters: not what is thrown away, and not
    /// the source, which has a place of its own.
    bool is_parameter() const;
};

/// The rows in the order of the draws: draws burnt before all others, embedding table (unless its
/// rows have seeds of their own) or x, the same of the memory, burnt draws, the projections in draw
/// order (each bias right after its weight), keys and values of the past, the sink, the output
/// projection: as the steps read them. The mask of dropout comes last: its draws have a seed of
/// their own.
///
/// Draws are made from it, code is printed from it, and sizes and memory are reckoned by it: what
/// else a walk starts from needs one more row. The rows point into the plan.
using DrawList = std::vector<DrawnTensor>;
DrawList draw_list(const Plan& plan);

/// The axis of a letter in an attention file: its own, or one that all rules know; or nothing.
/// Errors  InputError for a length that is no whole number from 1 on.
std::optional<Extent> axis_of(const std::string& letter, const AttentionFile& file,
                              const Plan& plan);
/// Adds the rows of their parameters, which come last.  Errors  InputError with file and line.
void list_attention_parameters(const Plan& plan, DrawList& list);

/// The row of that name, or nullptr.
const DrawnTensor* find_drawn(const DrawList& list, std::string_view name);

/// The rows of PyTorch's `nn.MultiheadAttention(embed_dim, heads, bias, kdim, vdim)`: the output
/// projection as a Linear whose bias is drawn and then zeroed, then the input projections, as one
/// matrix if all have the same width.
DrawList multihead_rows(std::size_t embed_dim, std::size_t key_dim, std::size_t value_dim,
                        bool bias);

/// The tensor of a row that is taken: ids, or x and memory in this dtype, a lone sequence repeated
/// for every one of the batch.
Tensor taken_tensor(const DrawnTensor& row, DType dtype);

/// The seed of the row of a word: the CRC-32 of the walk's seed, a space and the word, in UTF-8.
std::uint32_t word_seed(std::uint64_t seed, const std::string& word);

/// The row of the mask of dropout, if the walk has one.
std::optional<DrawnTensor> kept_row(const Plan& plan);
/// Draws that mask as the library of the walk does from a fresh seed: 1 in each cell that is kept.
///
///     torch   u < 1 - p, with u of 53 bits for each cell, whatever the type (bernoulli_ on a CPU
///             without MKL)
///     numpy   u >= p
template <class T>
void draw_kept(std::span<T> cells, const WalkConfig& config);

/// Makes every tensor of the list, floating ones in this dtype.
Ledger draw(const DrawList& list, DType dtype, Generator& generator);

/// Draws, or takes as given, all that a walk starts from, in the plan's compute dtype, with a
/// generator freshly seeded or with one that goes on. Given parameters replace drawn ones, so that
/// the rest is the same with and without them.
///
/// Errors  ShapeError when a given parameter does not have the shape of the one it replaces.
Ledger draw(const Plan& plan);
Ledger draw(const Plan& plan, Generator& generator);

}  // namespace attn
