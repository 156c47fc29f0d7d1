// Attention in plain loops, as in a textbook, at -O2.
#include "tests/peers/peer.hpp"

namespace {

void attend(const peer::Problem& p, float* context) {
    std::vector<float> weights(p.length);
    const float scale = 1 / std::sqrt(static_cast<float>(p.dim));
    for (std::size_t g = 0; g < p.groups; ++g) {
        const std::size_t head = g * p.length * p.dim;
        for (std::size_t q = 0; q < p.length; ++q) {
            const std::size_t keys = p.causal ? q + 1 : p.length;
            float largest = -std::numeric_limits<float>::infinity();
            for (std::size_t k = 0; k < keys; ++k) {
                float score = 0;
                for (std::size_t d = 0; d < p.dim; ++d) {
                    score += p.query[head + q * p.dim + d] * p.key[head + k * p.dim + d];
                }
                weights[k] = score * scale;
                largest = std::max(largest, weights[k]);
            }
            float sum = 0;
            for (std::size_t k = 0; k < keys; ++k)
                sum += weights[k] = std::exp(weights[k] - largest);
            float* row = context + head + q * p.dim;
            std::fill(row, row + p.dim, 0.0F);
            for (std::size_t k = 0; k < keys; ++k) {
                const float weight = weights[k] / sum;
                for (std::size_t d = 0; d < p.dim; ++d) {
                    row[d] += weight * p.value[head + k * p.dim + d];
                }
            }
        }
    }
}

}  // namespace

int main() { return peer::serve(attend); }
