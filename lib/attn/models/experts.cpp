#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "attn/models/layer.hpp"

namespace attn::models {
namespace {

/// A token of an expert, and its factor.
struct Share {
    std::size_t token;
    double share;
};

/// Softmax over the highest scores of one token, or the highest results of a softmax over all;
/// among equal scores, the first ones.
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

/// Reads one of the experts of a layer.
template <class Real>
Linear<Real> linear_of(const Model& model, std::size_t layer, const std::string& part,
                       std::size_t expert) {
    const auto read = [&](const std::string& name) {
        return cast(model.read_rows(in_layer(layer, name + part), {expert}),
                    sizeof(Real) == 8 ? DType::float64 : DType::float32);
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
        // Its rows alternate between gate and up.
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
