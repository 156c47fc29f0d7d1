#include "attn/models/layer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <numeric>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/layer_walk.hpp"

namespace attn::models {
namespace {

template <class Real>
constexpr DType dtype_of = sizeof(Real) == 8 ? DType::float64 : DType::float32;

/// A matrix is transposed by so many rows at a time, so that both they and their columns stay near
/// in memory.
constexpr std::size_t rows_near = 32;

/// Lays rows of `length` numbers as columns into a matrix whose own rows are `stride` long.
template <class Number>
void lay_as_columns(const Number* rows, std::size_t count, std::size_t length, Number* columns,
                    std::size_t stride) {
    for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t o = 0; o < count; ++o) columns[i * stride + o] = rows[o * length + i];
    }
}

/// Errors  ShapeError when rows have another number of features.
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

/// The number in 2 bytes whose digits are those of a float, divided by a power of 2 and moved.
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
    constexpr float of_float16 = 0x1p112F;  // from the exponents of a float to those of a float16
    if (pack(numbers, 16, 1) || pack(numbers, 13, of_float16)) return;
    numbers_ = input_major(numbers);
}

/// Whether all numbers are of this kind, which are kept then.
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
const Real* StoredMatrix::row(std::size_t i, std::vector<Real>& room) const {
    const std::size_t first = i * columns();
    if (const auto* same = std::get_if<Array<Real>>(&numbers_)) return same->data() + first;
    room.resize(columns());
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
    if (model.has(weight)) matrix = StoredMatrix(model.read(weight));
}

template <class Real>
Array<Real> Linear<Real>::operator()(const Array<Real>& rows) const {
    require_width(rows.shape(), matrix.rows());
    const std::size_t count = rows.shape(0);
    const std::size_t out = matrix.columns();
    const RowOperations<Real>& operations = simd::kernels_for().of<Real>().rows;
    Array<Real> result = Array<Real>::filled({count, out}, 0);
    std::vector<Real> room;
    // A row of the matrix is read once for all rows of x.
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
        const Real* const row = matrix.row(i, room);
        for (std::size_t r = 0; r < count; ++r) {
            operations.add_exact_multiple(row, rows(r, i), &result(r, 0), out);
        }
    }
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

/// The walk through a layer, in one type. Its matrices are stored (in, out): then a row of a
/// product is a sum of their rows.
template <class Real>
WalkConfig walk_through(const Model& model, std::size_t n) {
    WalkConfig config;
    set_layer(model, n, config);
    config.dtype = dtype_of<Real>;
    config.weight_layout = WeightLayout::in_out;
    give_parameters(model, n, config, [](const Tensor& stored) -> Tensor {
        if (stored.dimension() != 2) return cast(stored, dtype_of<Real>);
        const Tensor turned = with_floating(stored.dtype(), [&]<class T>(T) -> Tensor {
            return {{"in", "out"}, input_major(stored.as<T>())};
        });
        return cast(turned, dtype_of<Real>);
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
Parameters<Real>::Parameters(const Model& read, std::size_t count, Hold hold)
    : model(read),
      embedding_norm(model, "g_embedding", "b_embedding"),
      final_norm(model, "g_final", "b_final"),
      hold_(hold),
      layers_(count) {}

template <class Real>
std::shared_ptr<const Layer<Real>> Parameters<Real>::layer(std::size_t n) const {
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
template struct Linear<float>;
template struct Linear<double>;
template struct Norm<float>;
template struct Norm<double>;
template struct Layer<float>;
template struct Layer<double>;
template class Parameters<float>;
template class Parameters<double>;

namespace {

/// A token that an expert works on, and the share of what it makes.
struct Share {
    std::size_t token;
    double share;
};

/// Softmax over the highest scores of one token, or its highest ones over all; of equal scores, the
/// first.
std::map<std::size_t, double> chosen(std::span<const double> scores, const Architecture& a) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        return scores[one] > scores[other];
    });
    std::map<std::size_t, double> shares;
    double sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double share = std::exp(scores[order[i]] - scores[order[0]]);
        if (i < a.experts_per_token) shares[order[i]] = share;
        if (i < a.experts_per_token || !a.shares_of_chosen) sum += share;
    }
    for (auto& [expert, share] : shares) share /= sum;
    return shares;
}

/// One of the experts of a layer.
template <class Real>
Linear<Real> linear_of(const Model& model, std::size_t layer, const std::string& part,
                       std::size_t expert) {
    const auto read = [&](const std::string& name) {
        return cast(model.read_rows(in_layer(layer, name + part), {expert}), dtype_of<Real>);
    };
    Linear<Real> linear;
    Array<Real> matrix = read("w_experts_").template as<Real>();
    matrix.reshape({matrix.shape(1), matrix.shape(2)});
    linear.matrix = StoredMatrix(Tensor({"out", "in"}, std::move(matrix)));
    if (!model.has(in_layer(layer, "b_experts_" + part))) return linear;
    linear.bias = read("b_experts_").template as<Real>();
    linear.bias.reshape({linear.bias.size()});
    return linear;
}

}  // namespace

template <class Real>
Array<Real> mix_experts(const Model& model, std::size_t layer, const Array<Real>& rows) {
    constexpr Real steepness = static_cast<Real>(1.702);
    const Architecture& a = model.architecture;
    const auto limit = static_cast<Real>(a.experts_limit);
    const Linear<Real> router(model, in_layer(layer, "w_router"), in_layer(layer, "b_router"));
    const Array<Real> scores = router(rows);
    std::map<std::size_t, std::vector<Share>> work;
    for (std::size_t t = 0; t < rows.shape(0); ++t) {
        const std::vector<double> of_token(&scores(t, 0), &scores(t, 0) + a.experts);
        for (const auto& [expert, share] : chosen(of_token, a)) {
            work[expert].push_back({t, share});
        }
    }
    Array<Real> sum = Array<Real>::filled({rows.shape(0), a.embed_dim}, 0);
    for (const auto& [expert, shares] : work) {
        Array<Real> own = empty_array<Real>({shares.size(), a.embed_dim});
        for (std::size_t i = 0; i < shares.size(); ++i) {
            std::copy_n(&rows(shares[i].token, 0), a.embed_dim, &own(i, 0));
        }
        // Its rows are gate and up by turns.
        const Array<Real> both = linear_of<Real>(model, layer, "up", expert)(own);
        Array<Real> inner = empty_array<Real>({shares.size(), a.mlp_dim});
        for (std::size_t i = 0; i < inner.size(); ++i) {
            Real gate = both.data()[2 * i];
            Real up = both.data()[2 * i + 1];
            if (limit > 0) {
                gate = std::min(gate, limit);
                up = std::clamp(up, -limit, limit) + 1;
                inner.data()[i] = up * gate / (1 + std::exp(-steepness * gate));
            } else {
                inner.data()[i] = up * activated(a.activation, gate);
            }
        }
        const Array<Real> made = linear_of<Real>(model, layer, "down", expert)(inner);
        for (std::size_t i = 0; i < shares.size(); ++i) {
            for (std::size_t f = 0; f < a.embed_dim; ++f) {
                sum(shares[i].token, f) += static_cast<Real>(shares[i].share) * made(i, f);
            }
        }
    }
    return sum;
}

template Array<float> mix_experts(const Model&, std::size_t, const Array<float>&);
template Array<double> mix_experts(const Model&, std::size_t, const Array<double>&);

}  // namespace attn::models
