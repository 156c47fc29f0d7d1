#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

/// Shared by the C++ peers: the protocol that README.md states, the inputs, and the reference.
namespace peer {

/// Attention of `groups` heads over `length` tokens: query, key and value are (groups, length,
/// dim), the scale is 1 / sqrt(dim).
struct Problem {
    std::size_t groups, length, dim;
    bool causal;
    int threads;
    std::vector<float> query, key, value;
};

/// Computes the context, (groups, length, dim). May keep buffers between calls.
using Attend = std::function<void(const Problem&, float* context)>;

inline std::vector<float> normal(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> distribution;
    std::vector<float> values(count);
    for (float& value : values) value = distribution(generator);
    return values;
}

inline Problem problem(std::size_t groups, std::size_t length, std::size_t dim, bool causal,
                       int threads) {
    const std::size_t count = groups * length * dim;
    return {groups,           length,          dim, causal, threads, normal(count, 1),
            normal(count, 2), normal(count, 3)};
}

/// The largest difference from attention in double.
inline double largest_error(const Problem& p, const std::vector<float>& context) {
    double worst = 0;
    std::vector<double> weights(p.length);
    for (std::size_t g = 0; g < p.groups; ++g) {
        const std::size_t head = g * p.length * p.dim;
        for (std::size_t q = 0; q < p.length; ++q) {
            const std::size_t keys = p.causal ? q + 1 : p.length;
            double largest = -std::numeric_limits<double>::infinity();
            for (std::size_t k = 0; k < keys; ++k) {
                double score = 0;
                for (std::size_t d = 0; d < p.dim; ++d) {
                    score += static_cast<double>(p.query[head + q * p.dim + d]) *
                             p.key[head + k * p.dim + d];
                }
                weights[k] = score / std::sqrt(static_cast<double>(p.dim));
                largest = std::max(largest, weights[k]);
            }
            double sum = 0;
            for (std::size_t k = 0; k < keys; ++k)
                sum += weights[k] = std::exp(weights[k] - largest);
            for (std::size_t d = 0; d < p.dim; ++d) {
                double expected = 0;
                for (std::size_t k = 0; k < keys; ++k) {
                    expected += weights[k] / sum * p.value[head + k * p.dim + d];
                }
                const double error = std::abs(expected - context[head + q * p.dim + d]);
                worst = std::isnan(error) ? error : std::max(worst, error);
            }
        }
    }
    return worst;
}

/// Seconds of one call, averaged over enough calls to take two hundredths of a second.
inline double seconds_of_a_call(const Attend& attend, const Problem& p, float* context) {
    using Clock = std::chrono::steady_clock;
    int calls = 0;
    const auto start = Clock::now();
    double seconds = 0;
    do {
        attend(p, context);
        ++calls;
        seconds = std::chrono::duration<double>(Clock::now() - start).count();
    } while (seconds < 0.02);
    return seconds / calls;
}

/// The answer to one request. `known` is the problem of the previous request, and is replaced by
/// the current one.
inline std::string answer(const Attend& attend, const std::string& line, Problem& known,
                          std::vector<float>& context) {
    std::istringstream words(line);
    std::string request, mask;
    std::size_t groups = 0, length = 0, dim = 0;
    int threads = 1;
    words >> request >> groups >> length >> dim >> mask >> threads;
    const bool causal = mask == "causal";
    const bool same = known.groups == groups && known.length == length && known.dim == dim &&
                      known.causal == causal && known.threads == threads;
    if (!same) {
        known = problem(groups, length, dim, causal, threads);
        context.assign(groups * length * dim, 0);
        attend(known, context.data());  // the first call is not timed
    }
    char text[64];
    if (request == "check") {
        attend(known, context.data());
        std::snprintf(text, sizeof text, "error %.3g", largest_error(known, context));
    } else {
        std::snprintf(text, sizeof text, "seconds %.9g",
                      seconds_of_a_call(attend, known, context.data()));
    }
    return text;
}

/// Answers the requests on standard input until it ends.
inline int serve(const Attend& attend) {
    Problem known{};
    std::vector<float> context;
    std::string line;
    while (std::getline(std::cin, line)) {
        try {
            std::cout << answer(attend, line, known, context) << std::endl;
        } catch (const std::exception& error) {
            known = {};
            std::cout << "cannot " << error.what() << std::endl;
        }
    }
    return 0;
}

}  // namespace peer
