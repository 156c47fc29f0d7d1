#include "attn/models/layer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "attn/models/layer_walk.hpp"
#include "attn/simd/kernels.hpp"
#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

template <class Real>
constexpr DType dtype_of = sizeof(Real) == 8 ? DType::float64 : DType::float32;

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
    Array<Real> result = empty_array<Real>({matrix.shape(1), matrix.shape(0)});
    for (std::size_t o = 0; o < matrix.shape(0); ++o) {
        for (std::size_t i = 0; i < matrix.shape(1); ++i) result(i, o) = matrix(o, i);
    }
    return result;
}

template <class Real>
Linear<Real>::Linear(const Model& model, const std::string& weight, const std::string& bias_name)
    : bias(numbers_of<Real>(model, bias_name)) {
    if (!model.has(weight)) return;
    matrix = input_major(numbers_of<Real>(model, weight));
}

template <class Real>
Array<Real> Linear<Real>::operator()(const Array<Real>& rows) const {
    require_width(rows.shape(), matrix.shape(0));
    const std::size_t count = rows.shape(0);
    const std::size_t out = matrix.shape(1);
    const RowOperations<Real>& operations = simd::kernels_for().of<Real>().rows;
    Array<Real> result = Array<Real>::filled({count, out}, 0);
    // A row of the matrix is read once for all rows of x.
    for (std::size_t i = 0; i < matrix.shape(0); ++i) {
        for (std::size_t r = 0; r < count; ++r) {
            operations.add_exact_multiple(&matrix(i, 0), rows(r, i), &result(r, 0), out);
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
    WalkConfig stored;
    set_layer(model, n, stored);
    give_parameters(model, n, stored);
    WalkConfig config = stored;
    config.dtype = dtype_of<Real>;
    config.weight_layout = WeightLayout::in_out;
    for (const auto& [name, tensor] : stored.parameters.entries()) {
        Tensor numbers = cast(tensor, dtype_of<Real>);
        if (numbers.dimension() == 2) numbers = {{"in", "out"}, input_major(numbers.as<Real>())};
        config.parameters.record(name, numbers);
    }
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
Parameters<Real>::Parameters(const Model& read, std::size_t count)
    : model(read),
      embedding_norm(model, "g_embedding", "b_embedding"),
      final_norm(model, "g_final", "b_final") {
    layers.reserve(count);
    for (std::size_t n = 0; n < count; ++n) layers.emplace_back(model, n);
}

template <class Real>
const Linear<Real>& Parameters<Real>::vocabulary() const {
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

/// Softmax over the highest scores of one token; of equal scores, the first.
std::map<std::size_t, double> chosen(std::span<const double> scores, std::size_t count) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    order.resize(count);
    std::map<std::size_t, double> shares;
    double sum = 0;
    for (const std::size_t e : order) sum += shares[e] = std::exp(scores[e] - scores[order[0]]);
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
    linear.matrix = input_major(matrix);
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
        for (const auto& [expert, share] : chosen(of_token, a.experts_per_token)) {
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
            const Real gate = std::min(both.data()[2 * i], limit);
            const Real up = std::clamp(both.data()[2 * i + 1], -limit, limit);
            inner.data()[i] = (up + 1) * gate / (1 + std::exp(-steepness * gate));
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
