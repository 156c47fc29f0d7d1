#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/core/plan/ledger.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/ground/random/generator.hpp"

namespace attn {

/// One axis of a drawn tensor: a size, repeated `times` times (head_dim once per head).
struct Extent {
    std::string axis;
    std::size_t size = 0;
    std::size_t times = 1;
    /// The setting that this axis of a given tensor determines; nullptr if there is none.
    std::optional<std::int64_t> WalkConfig::*setting = nullptr;

    std::size_t length() const { return size * times; }
};

/// One input of a walk: how its tensor is drawn, or where it is taken from.
struct DrawnTensor {
    std::string name;  ///< in the ledger; empty if it is drawn and discarded
    std::string step;  ///< the step whose code draws it
    std::vector<Extent> extents;
    Initialisation how = Initialisation::normal;
    /// The sizes of its layer, which may have more than one tensor.
    std::size_t in = 0, out = 0;
    bool bias = false;                      ///< a Linear's weight: its bias is drawn with it
    std::string member{};                   ///< its name in PyTorch's nn.MultiheadAttention
    std::optional<std::size_t> zero_row{};  ///< the padding row of an embedding table
    bool diagonal = false;                  ///< ones on the diagonal of each of its matrices
    std::size_t turns = 1;                  ///< number of heads, if each in turn draws its part
    std::size_t times = 1;                  ///< number of draws, of which the last one is used
    double shift = 0, spread = 1;           ///< shift + spread * the drawn number
    std::shared_ptr<const Tensor> value{};  ///< the tensor itself, if nothing is drawn
    const WalkConfig* seeds = nullptr;      ///< its own seeds come from these settings
    std::vector<std::string> words{};       ///< one per row of an embedding, with a seed each
    const Source* given_source = nullptr;   ///< ids and given tensors: nothing is drawn

    Axes axes() const;
    Shape shape() const;
    /// True for the dropout mask.
    bool is_mask() const { return seeds != nullptr && words.empty(); }
    /// True if it may be a given parameter: not a discarded draw, and not the source, which has its
    /// own setting.
    bool is_parameter() const;
};

/// Returns the rows in the order of the draws: initial discarded draws, embedding table (unless its
/// rows have separate seeds) or x, likewise for the memory, discarded draws, the projections in
/// draw order (each bias right after its weight), keys and values of the past, the sink, the output
/// projection, in the order in which the steps read them. The dropout mask comes last: it has a
/// separate seed.
///
/// Drawing, printed code, sizes and memory estimates are based on this list: a new input of the
/// walk needs one more row. The rows point into the plan.
using DrawList = std::vector<DrawnTensor>;
DrawList draw_list(const Plan& plan);

/// Returns the axis of a letter in an attention file: its own, or one that all rules share; nullopt
/// if there is none.
/// Errors  InputError for a length that is not a positive integer.
std::optional<Extent> axis_of(const std::string& letter, const AttentionFile& file,
                              const Plan& plan);
/// Adds the rows of the files' parameters, which come last.  Errors  InputError with file and line.
void list_attention_parameters(const Plan& plan, DrawList& list);

/// Returns the row with that name, or nullptr.
const DrawnTensor* find_drawn(const DrawList& list, std::string_view name);

/// Returns the rows of PyTorch's `nn.MultiheadAttention(embed_dim, heads, bias, kdim, vdim)`: the
/// output projection as a Linear whose bias is drawn and then zeroed, then the input projections,
/// as one matrix if all have the same width.
DrawList multihead_rows(std::size_t embed_dim, std::size_t key_dim, std::size_t value_dim,
                        bool bias);

/// Returns the tensor of a row that is not drawn: ids, or x and memory in this dtype, with a single
/// sequence repeated for the whole batch.
Tensor drawn_tensor(const DrawnTensor& row, DType dtype);

/// Returns the seed for a word's row: the CRC-32 of the walk's seed, a space and the word, in
/// UTF-8.
std::uint32_t word_seed(std::uint64_t seed, const std::string& word);

/// Returns the row of the dropout mask, if the walk has one.
std::optional<DrawnTensor> kept_row(const Plan& plan);
/// Draws that mask as the walk's library does with a new seed: 1 in each kept cell.
///
/// torch   u < 1 - p, with u of 53 bits per cell, whatever the type (bernoulli_ on a CPU
///             without MKL)
///     numpy   u >= p
template <class T>
void draw_kept(std::span<T> cells, const WalkConfig& config);

/// Draws all tensors of the list, floating-point ones in this dtype.
Ledger draw(const DrawList& list, DType dtype, Generator& generator);

/// Returns all inputs of a walk, drawn or given, in the plan's compute dtype, with a newly seeded
/// generator or a continued one. Given parameters replace drawn ones, so that the others are the
/// same with and without them.
///
/// Errors  ShapeError if a given parameter does not have the shape of the one that it replaces.
Ledger draw(const Plan& plan);
Ledger draw(const Plan& plan, Generator& generator);

}  // namespace attn
