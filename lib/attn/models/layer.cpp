#include "attn/models/layer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/layer_walk.hpp"

namespace attn::models {
namespace {

template <class Real>
constexpr DType dtype_of = sizeof(Real) == 8 ? DType::float64 : DType::float32;

/// Number of rows to transpose at a time, so that they and their columns stay in the cache.
constexpr std::size_t rows_near = 32;

/// Copies rows of `length` numbers to columns of a matrix with rows of `stride` numbers.
template <class Number>
void lay_as_columns(const Number* rows, std::size_t count, std::size_t length, Number* columns,
                    std::size_t stride) {
    for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t o = 0; o < count; ++o) columns[i * stride + o] = rows[o * length + i];
    }
}

/// Errors  ShapeError if rows have another number of features.
void require_width(const Shape& rows, std::size_t features) {
    if (rows.size() == 2 && rows[1] == features) return;
    throw ShapeError("rows " + shape_text(rows) + " do not fit a layer of " +
                     std::to_string(features) + " features: give (tokens, features)");
}

}  // namespace

template <class Real>
Real activated(Activation kind, Real x) {
    if (kind == Activation::silu) return x / (1 + std::exp(-x));
    if (kind == Activation::gelu) {
        return x / 2 * (1 + std::erf(x * static_cast<Real>(std::numbers::sqrt2 / 2)));
    }
    constexpr double root = std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // sqrt(2 / pi)
    const Real inner = static_cast<Real>(root) * (x + static_cast<Real>(0.044715) * x * x * x);
    return x / 2 * (1 + std::tanh(inner));
}

template <class Real>
Array<Real> numbers_of(const Model& model, const std::string& name) {
    if (!model.has(name)) return {};
    return cast(model.read(name), dtype_of<Real>).template as<Real>();
}

template <class Real>
Array<Real> input_major(const Array<Real>& matrix) {
    const std::size_t rows = matrix.shape(0), columns = matrix.shape(1);
    Array<Real> result = empty_array<Real>({columns, rows});
    for (std::size_t first = 0; first < rows; first += rows_near) {
        lay_as_columns(matrix.data() + first * columns, std::min(rows_near, rows - first), columns,
                       result.data() + first, rows);
    }
    return result;
}

namespace {

/// Packs a float into 16 bits (bfloat16 or float16 layout), after dividing it by a power of 2.
std::uint16_t packed(float number, unsigned shift, float factor) {
    const auto bits = std::bit_cast<std::uint32_t>(number * (1 / factor));
    return static_cast<std::uint16_t>((bits >> shift & 0x7FFFU) | (bits >> 16U & 0x8000U));
}

}  // namespace

StoredMatrix::StoredMatrix(const Tensor& matrix) : shape_{matrix.shape()[1], matrix.shape()[0]} {
    if (matrix.dtype() == DType::float64) {
        numbers_ = input_major(matrix.as<double>());
        return;
    }
    const Array<float>& numbers = matrix.as<float>();
    constexpr float of_float16 = 0x1p112F;  // from the exponent bias of float to that of float16
    if (pack(numbers, 16, 1) || pack(numbers, 13, of_float16)) return;
    numbers_ = input_major(numbers);
}

StoredMatrix::StoredMatrix(const Model& model, const std::string& name)
    : blocks_(model.keep(name)) {
    if (!blocks_) {
        *this = StoredMatrix(model.read(name));
        return;
    }
    const Shape& shape = model.shape_of(name);
    shape_ = {shape[1], shape[0]};
}

void StoredMatrix::for_each_part(
    const std::function<void(const StoredMatrix&, std::size_t)>& each) const {
    if (!blocks_) return each(*this, 0);
    constexpr std::size_t at_once = 64;
    for (std::size_t first = 0; first < columns(); first += at_once) {
        std::vector<std::size_t> some(std::min(at_once, columns() - first));
        std::iota(some.begin(), some.end(), first);
        StoredMatrix part;
        part.shape_ = {rows(), some.size()};
        part.numbers_ = input_major(blocks_(some).as<float>());
        each(part, first);
    }
}

/// Packs the matrix if every value is representable; returns whether it did.
bool StoredMatrix::pack(const Array<float>& matrix, unsigned shift, float factor) {
    std::vector<std::uint16_t> kept(matrix.size()), some(rows_near * rows());
    std::vector<float> again(rows());
    for (std::size_t first = 0; first < columns(); first += rows_near) {
        const std::size_t count = std::min(rows_near, columns() - first);
        for (std::size_t o = 0; o < count; ++o) {
            const float* const numbers = matrix.data() + (first + o) * rows();
            std::uint16_t* const row = some.data() + o * rows();
            std::transform(numbers, numbers + rows(), row,
                           [&](float number) { return packed(number, shift, factor); });
            simd::kernels_for().float32.widen(row, shift, factor, again.data(), rows());
            if (std::memcmp(again.data(), numbers, rows() * sizeof(float)) != 0) return false;
        }
        lay_as_columns(some.data(), count, rows(), kept.data() + first, columns());
    }
    numbers_ = std::move(kept);
    shift_ = shift;
    factor_ = factor;
    return true;
}

template <class Real>
const Real* StoredMatrix::row(std::size_t i, std::size_t column, std::size_t count,
                              std::vector<Real>& room) const {
    const std::size_t first = i * columns() + column;
    if (const auto* same = std::get_if<Array<Real>>(&numbers_)) return same->data() + first;
    room.resize(count);
    if (const auto* packed = std::get_if<std::vector<std::uint16_t>>(&numbers_)) {
        simd::kernels_for().of<Real>().widen(packed->data() + first, shift_, factor_, room.data(),
                                             room.size());
        return room.data();
    }
    const auto widen = [&](const auto& numbers) {
        for (std::size_t o = 0; o < room.size(); ++o) {
            room[o] = static_cast<Real>(numbers.data()[first + o]);
        }
    };
    if (const auto* narrow = std::get_if<Array<float>>(&numbers_)) widen(*narrow);
    if (const auto* wide = std::get_if<Array<double>>(&numbers_)) widen(*wide);
    return room.data();
}

template <class Real>
Linear<Real>::Linear(const Model& model, const std::string& weight, const std::string& bias_name)
    : bias(numbers_of<Real>(model, bias_name)) {
    if (model.has(weight)) matrix = StoredMatrix(model, weight);
}

namespace {

/// Adds rows W^T to the columns of the result from `column` on. Requires a W that is not in blocks.
template <class Real>
void add_product(const Array<Real>& rows, const StoredMatrix& matrix, std::size_t column,
                 Array<Real>& result) {
    // A tile of the result stays in the cache while all rows of the matrix are added to it. For
    // several tiles, the columns of the matrix are widened once.
    constexpr std::size_t rows_at_once = 32, numbers_at_once = 4096;
    const RowOperations<Real>& operations = simd::kernels_for().of<Real>().rows;
    const std::size_t count = rows.shape(0), in = matrix.rows(), out = result.shape(1);
    const std::size_t wide = numbers_at_once / std::clamp<std::size_t>(count, 1, rows_at_once);
    std::vector<Real> room, strip;
    for (std::size_t first = 0; first < matrix.columns(); first += wide) {
        const std::size_t width = std::min(wide, matrix.columns() - first);
        strip.resize(count > rows_at_once ? in * width : 0);
        for (std::size_t i = 0; i < in && !strip.empty(); ++i) {
            std::copy_n(matrix.row(i, first, width, room), width, &strip[i * width]);
        }
        for (std::size_t top = 0; top < count; top += rows_at_once) {
            const std::size_t end = std::min(top + rows_at_once, count);
            for (std::size_t i = 0; i < in; ++i) {
                const Real* const row =
                    strip.empty() ? matrix.row(i, first, width, room) : &strip[i * width];
                const Real* x = rows.data() + top * in + i;
                Real* sums = result.data() + top * out + column + first;
                for (std::size_t r = top; r < end; ++r, x += in, sums += out) {
                    operations.add_exact_multiple(row, *x, sums, width);
                }
            }
        }
    }
}

}  // namespace

template <class Real>
Array<Real> Linear<Real>::operator()(const Array<Real>& rows) const {
    require_width(rows.shape(), matrix.rows());
    const std::size_t count = rows.shape(0);
    const std::size_t out = matrix.columns();
    Array<Real> result = Array<Real>::filled({count, out}, 0);
    matrix.for_each_part([&](const StoredMatrix& part, std::size_t column) {
        add_product(rows, part, column, result);
    });
    for (std::size_t r = 0; r < count && bias.size() > 0; ++r) {
        for (std::size_t o = 0; o < out; ++o) result(r, o) += bias(o);
    }
    return result;
}

template <class Real>
Norm<Real>::Norm(const Model& model, const std::string& gain_name, const std::string& bias_name)
    : kind(model.architecture.norm),
      eps(model.architecture.norm_eps),
      gain(numbers_of<Real>(model, gain_name)),
      bias(numbers_of<Real>(model, bias_name)) {
    if (!model.architecture.norm_adds_one) return;
    for (Real& number : gain) number += 1;
}

template <class Real>
Array<Real> Norm<Real>::operator()(const Array<Real>& rows) const {
    if (gain.size() == 0) return rows;
    return attn::norm(rows, gain, bias, kind, eps);
}

namespace {

/// Returns the walk through a layer, in one type. Its matrices are stored (in, out), so that a row
/// of a product is a sum of their rows.
template <class Real>
WalkConfig walk_through(const Model& model, std::size_t n) {
    WalkConfig config;
    set_layer(model, n, config);
    config.dtype = dtype_of<Real>;
    config.weight_layout = WeightLayout::in_out;
    give_parameters(model, n, config, [](const Tensor& stored) -> Tensor {
        if (stored.dimension() != 2) return cast(stored, dtype_of<Real>);
        const Tensor transposed_copy = with_floating(stored.dtype(), [&]<class T>(T) -> Tensor {
            return {{"in", "out"}, input_major(stored.as<T>())};
        });
        return cast(transposed_copy, dtype_of<Real>);
    });
    return config;
}

}  // namespace

template <class Real>
Layer<Real>::Layer(const Model& model, std::size_t n) : attention(walk_through<Real>(model, n)) {
    const auto norm = [&](const char* part) {
        const std::string name(part);
        return Norm<Real>(model, in_layer(n, "g_" + name), in_layer(n, "b_" + name));
    };
    const auto linear = [&](const char* part) {
        const std::string name(part);
        return Linear<Real>(model, in_layer(n, "w_" + name), in_layer(n, "b_" + name));
    };
    attention_output_norm = norm("attention_output");
    mlp_norm = norm("mlp");
    mlp_output_norm = norm("mlp_output");
    gate = linear("gate");
    up = linear("up");
    down = linear("down");
}

template <class Real>
Parameters<Real>::Parameters(const Model& read, std::size_t count, KeepWeights hold)
    : model(read),
      embedding_norm(model, "g_embedding", "b_embedding"),
      final_norm(model, "g_final", "b_final"),
      hold_(hold),
      layers_(count) {}

template <class Real>
std::shared_ptr<const Layer<Real>> Parameters<Real>::layer(std::size_t n) const {
    refuse_unless(n < layers_.size(), model.label + " has no layer " + std::to_string(n));
    if (layers_[n] != nullptr) return layers_[n];
    if (!keeps()) std::ranges::fill(layers_, nullptr);
    if (model.begins_layer) model.begins_layer(n);
    return layers_[n] = std::make_shared<const Layer<Real>>(model, n);
}

template <class Real>
Array<Real> Parameters<Real>::vocabulary(const Array<Real>& rows) const {
    constexpr std::size_t block = 4096;
    if (keeps()) return scaled(whole_vocabulary()(rows));
    const std::size_t all = model.architecture.vocab_size;
    Array<Real> logits = empty_array<Real>({rows.shape(0), all});
    for (std::size_t first = 0; first < all; first += block) {
        std::vector<std::size_t> ids(std::min(block, all - first));
        std::iota(ids.begin(), ids.end(), first);
        const Array<Real> some = vocabulary_of(rows, ids);
        for (std::size_t r = 0; r < rows.shape(0); ++r) {
            std::copy_n(&some(r, 0), ids.size(), &logits(r, first));
        }
    }
    return logits;
}

template <class Real>
Array<Real> Parameters<Real>::vocabulary_of(const Array<Real>& rows,
                                            const std::vector<std::size_t>& ids) const {
    Linear<Real> part;
    part.matrix = StoredMatrix(model.read_rows(model.vocabulary(), ids));
    const Array<Real> bias = numbers_of<Real>(model, "b_vocab");
    if (bias.size() > 0) {
        part.bias = empty_array<Real>({ids.size()});
        for (std::size_t i = 0; i < ids.size(); ++i) part.bias(i) = bias(ids[i]);
    }
    return scaled(part(rows));
}

template <class Real>
Array<Real> Parameters<Real>::scaled(Array<Real> logits) const {
    const auto scale = static_cast<Real>(model.architecture.logit_scale);
    if (scale == 1) return logits;
    for (Real& logit : logits) logit *= scale;
    return logits;
}

template <class Real>
void Parameters<Real>::cap(Array<Real>& logits) const {
    const auto cap = static_cast<Real>(model.architecture.logit_softcap);
    for (std::size_t i = 0; i < logits.size() && cap > 0; ++i) {
        logits.data()[i] = cap * std::tanh(logits.data()[i] / cap);
    }
}

template <class Real>
const Linear<Real>& Parameters<Real>::whole_vocabulary() const {
    if (!vocabulary_.present()) {
        vocabulary_ = Linear<Real>(model, model.vocabulary(), "b_vocab");
    }
    return vocabulary_;
}

template float activated(Activation, float);
template double activated(Activation, double);
template Array<float> numbers_of(const Model&, const std::string&);
template Array<double> numbers_of(const Model&, const std::string&);
template Array<float> input_major(const Array<float>&);
template Array<double> input_major(const Array<double>&);
template const float* StoredMatrix::row(std::size_t, std::size_t, std::size_t,
                                        std::vector<float>&) const;
template const double* StoredMatrix::row(std::size_t, std::size_t, std::size_t,
                                         std::vector<double>&) const;
template struct Linear<float>;
template struct Linear<double>;
template struct Norm<float>;
template struct Norm<double>;
template struct Layer<float>;
template struct Layer<double>;
template class Parameters<float>;
template class Parameters<double>;

}  // namespace attn::models
