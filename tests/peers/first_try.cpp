// Attention with xtensor and xtensor-blas, as a first version would be written.
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "tests/peers/peer.hpp"

// xtensor-blas declares BLAS itself; OpenBLAS's own header would contradict it.
extern "C" void openblas_set_num_threads(int);

namespace {

void attend(const peer::Problem& p, float* context) {
    openblas_set_num_threads(p.threads);
    const std::vector<std::size_t> shape{p.groups, p.length, p.dim};
    const xt::xarray<float> query = xt::adapt(p.query, shape);
    const xt::xarray<float> key = xt::adapt(p.key, shape);
    const xt::xarray<float> value = xt::adapt(p.value, shape);
    xt::xarray<float> result = xt::zeros<float>(shape);
    const auto size = static_cast<std::ptrdiff_t>(p.length);
    const xt::xarray<bool> hidden = xt::triu(xt::ones<bool>({size, size}), 1);
    for (std::size_t g = 0; g < p.groups; ++g) {
        const xt::xarray<float> head_query = xt::view(query, g, xt::all(), xt::all());
        const xt::xarray<float> head_key = xt::view(key, g, xt::all(), xt::all());
        const xt::xarray<float> head_value = xt::view(value, g, xt::all(), xt::all());
        xt::xarray<float> scores = xt::linalg::dot(head_query, xt::transpose(head_key));
        scores = scores / std::sqrt(static_cast<float>(p.dim));
        if (p.causal) {
            scores = xt::where(hidden, -std::numeric_limits<float>::infinity(), scores);
        }
        const xt::xarray<float> largest = xt::amax(scores, {1});
        const xt::xarray<float> exponentials =
            xt::exp(scores - xt::view(largest, xt::all(), xt::newaxis()));
        const xt::xarray<float> sums = xt::sum(exponentials, {1});
        const xt::xarray<float> weights = exponentials / xt::view(sums, xt::all(), xt::newaxis());
        xt::view(result, g, xt::all(), xt::all()) = xt::linalg::dot(weights, head_value);
    }
    std::copy(result.begin(), result.end(), context);
}

}  // namespace

int main() { return peer::serve(attend); }
