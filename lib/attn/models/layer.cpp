#include "attn/models/layer.hpp"

#include <algorithm>

#include "attn/simd/kernels.hpp"
#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

template <class Real>
constexpr DType dtype_of = sizeof(Real) == 8 ? DType::float64 : DType::float32;

/// Errors  ShapeError when rows are not made of groups of so many features, or of so many groups.
void require_width(const Shape& rows, std::size_t features, std::size_t most_groups = 1) {
    if (rows.size() == 2 && features != 0 && rows[1] % features == 0 &&
        rows[1] / features <= most_groups) {
        return;
    }
    throw ShapeError("rows " + shape_text(rows) + " do not fit a layer of " +
                     std::to_string(features) + " features: give (tokens, features)");
}

}  // namespace

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
    require_width(rows.shape(), gain.size(), rows.size());
    if (gain.size() == rows.shape(1)) return loop::norm(rows, gain, bias, kind, eps);
    Array<Real> groups = rows;
    groups.reshape({rows.size() / gain.size(), gain.size()});
    Array<Real> result = loop::norm(groups, gain, bias, kind, eps);
    result.reshape(rows.shape());
    return result;
}

template <class Real>
void KeyValueCache<Real>::reserve(std::size_t tokens) {
    if (tokens <= capacity_) return;
    const std::size_t larger = std::max<std::size_t>({64, 2 * capacity_, tokens});
    std::vector<Real> keys(kv_heads_ * head_dim_ * larger);
    for (std::size_t row = 0; row < kv_heads_ * head_dim_; ++row) {
        std::copy_n(keys_.data() + row * capacity_, tokens_, keys.data() + row * larger);
    }
    keys_ = std::move(keys);
    capacity_ = larger;
}

template <class Real>
void KeyValueCache<Real>::append(const Array<Real>& key, const Array<Real>& value) {
    const std::size_t count = key.shape(0);
    const std::size_t features = kv_heads_ * head_dim_;
    require_width(key.shape(), features);
    require_width(value.shape(), features);
    reserve(tokens_ + count);
    for (std::size_t t = 0; t < count; ++t) {
        for (std::size_t f = 0; f < features; ++f) {
            keys_[f * capacity_ + tokens_ + t] = key(t, f);
        }
    }
    values_.insert(values_.end(), value.begin(), value.end());
    tokens_ += count;
}

template <class Real>
Layer<Real>::Layer(const Model& model, std::size_t n) {
    const auto norm = [&](const char* part) {
        const std::string name(part);
        return Norm<Real>(model, in_layer(n, "g_" + name), in_layer(n, "b_" + name));
    };
    const auto linear = [&](const char* part) {
        const std::string name(part);
        return Linear<Real>(model, in_layer(n, "w_" + name), in_layer(n, "b_" + name));
    };
    attention_norm = norm("attention");
    // b_query and b_key are biases of the projections: these norms have none.
    query_norm = Norm<Real>(model, in_layer(n, "g_query"), "");
    key_norm = Norm<Real>(model, in_layer(n, "g_key"), "");
    attention_output_norm = norm("attention_output");
    query = linear("query");
    key = linear("key");
    value = linear("value");
    output = linear("output");
    sink = numbers_of<Real>(model, in_layer(n, "sink"));
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

template Array<float> numbers_of(const Model&, const std::string&);
template Array<double> numbers_of(const Model&, const std::string&);
template Array<float> input_major(const Array<float>&);
template Array<double> input_major(const Array<double>&);
template struct Linear<float>;
template struct Linear<double>;
template struct Norm<float>;
template struct Norm<double>;
template class KeyValueCache<float>;
template class KeyValueCache<double>;
template struct Layer<float>;
template struct Layer<double>;
template class Parameters<float>;
template class Parameters<double>;

}  // namespace attn::models
