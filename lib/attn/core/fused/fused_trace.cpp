#include "attn/core/fused/fused_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attn/ground/tensor/error.hpp"

namespace attn {

namespace {

/// The running state of one query after the keys read so far.
template <class Real>
struct Running {
    Real maximum = minus_infinity<Real>;
    Real sum = 0;
    std::vector<Real> context;
};

template <class Real>
class Tracer {
public:
    Tracer(const Real* query, const Real* key, const Real* value, const AttentionShape& shape,
           const FusedOptions& options, const BiasView<Real>& bias, const Real* keep)
        : query_(query),
          key_(key),
          value_(value),
          shape_(shape),
          options_(options),
          bias_(bias),
          keep_(keep) {}

    FusedTrace trace(std::size_t query_block, std::size_t key_block) const {
        FusedTrace result;
        for (std::size_t first = 0; first < shape_.query_len; first += query_block) {
            const std::size_t queries = std::min(query_block, shape_.query_len - first);
            Running<Real> unseen;
            unseen.context.assign(shape_.value_dim, 0);
            if (!options_.sink.empty() && options_.sink[0] != minus_infinity<double>) {
                unseen.maximum = static_cast<Real>(options_.sink[0]);
                unseen.sum = 1;
            }
            std::vector<Running<Real>> running(queries, unseen);
            for (std::size_t key = 0; key < shape_.key_len; key += key_block) {
                const std::size_t keys = std::min(key_block, shape_.key_len - key);
                result.blocks.push_back(meet(first, key, keys, running));
            }
            for (const Running<Real>& row : running) finish(row, result.context);
        }
        return result;
    }

private:
    /// Processes one block of keys for the queries that start at `first_query`.
    FusedBlock meet(std::size_t first_query, std::size_t first_key, std::size_t keys,
                    std::vector<Running<Real>>& running) const {
        FusedBlock block{};
        block.first_query = first_query;
        block.queries = running.size();
        block.first_key = first_key;
        block.keys = keys;
        block.skipped = hides_all(block);
        for (std::size_t q = 0; q < running.size(); ++q) {
            Running<Real>& row = running[q];
            block.maximum_before.push_back(row.maximum);
            block.correction.push_back(block.skipped ? 1 : update(row, first_query + q, block));
            block.maximum.push_back(row.maximum);
            block.sum.push_back(row.sum);
            block.context.insert(block.context.end(), row.context.begin(), row.context.end());
        }
        return block;
    }

    bool hides_all(const FusedBlock& block) const {
        for (std::size_t q = 0; q < block.queries; ++q) {
            for (std::size_t k = 0; k < block.keys; ++k) {
                if (!options_.mask.hides(0, 0, block.first_query + q, block.first_key + k))
                    return false;
            }
        }
        return true;
    }

    /// Processes the block's keys for one query. Returns the correction.
    Real update(Running<Real>& row, std::size_t q, FusedBlock& block) const {
        // Score the keys and raise the maximum.
        std::vector<Real> scores;
        for (std::size_t k = block.first_key; k < block.first_key + block.keys; ++k) {
            scores.push_back(options_.mask.hides(0, 0, q, k) ? minus_infinity<Real> : score(q, k));
        }
        const Real before = row.maximum;
        for (const Real s : scores) row.maximum = std::fmax(row.maximum, s);
        // Correct the earlier results; before the first visible key there are none.
        const Real shift = row.maximum == minus_infinity<Real> ? 0 : row.maximum;
        const Real correction = std::exp(before - shift);
        row.sum *= correction;
        for (Real& number : row.context) number *= correction;
        // Add the block's exponentials, and its values weighted by them.
        for (std::size_t k = 0; k < block.keys; ++k) {
            const Real exponential = std::exp(scores[k] - shift);
            row.sum += exponential;
            const std::size_t key = block.first_key + k;
            const Real* value = value_ + key * shape_.value_dim;
            const Real kept = keep_ ? exponential * keep_[q * shape_.key_len + key] : exponential;
            for (std::size_t j = 0; j < shape_.value_dim; ++j) row.context[j] += kept * value[j];
            block.scores.push_back(scores[k]);
            block.exponentials.push_back(exponential);
        }
        return correction;
    }

    Real score(std::size_t q, std::size_t k) const {
        Real sum = 0;
        for (std::size_t d = 0; d < shape_.head_dim; ++d) {
            sum += query_[q * shape_.head_dim + d] * key_[k * shape_.head_dim + d];
        }
        Real result = sum * static_cast<Real>(options_.scale);
        const Real cap = static_cast<Real>(options_.softcap);
        if (cap != 0) result = cap * std::tanh(result / cap);
        return bias_.numbers ? result + bias_.at(0, q, k) : result;
    }

    void finish(const Running<Real>& row, std::vector<double>& context) const {
        const double empty =
            options_.empty_row == EmptyRow::nan ? std::numeric_limits<double>::quiet_NaN() : 0;
        for (const Real number : row.context) {
            context.push_back(row.sum == 0 ? empty : static_cast<double>(number / row.sum));
        }
    }

    const Real* query_;
    const Real* key_;
    const Real* value_;
    AttentionShape shape_;
    FusedOptions options_;
    BiasView<Real> bias_;
    const Real* keep_;
};

template <class Real>
FusedTrace traced(const Real* query, const Real* key, const Real* value,
                  const AttentionShape& shape, const FusedOptions& options, std::size_t query_block,
                  std::size_t key_block, const BiasView<Real>& bias, const Real* keep) {
    if (shape.batch != 1 || shape.heads != 1) {
        throw ShapeError("a trace shows one head, not batch " + std::to_string(shape.batch) +
                         " x head " + std::to_string(shape.heads) + ": pass one head");
    }
    if (query_block == 0 || key_block == 0) {
        throw ConfigError("blocks of " + std::to_string(query_block) + " queries x " +
                          std::to_string(key_block) + " keys: each needs at least 1");
    }
    return Tracer<Real>(query, key, value, shape, options, bias, keep)
        .trace(query_block, key_block);
}

}  // namespace

FusedTrace fused_trace(const float* query, const float* key, const float* value,
                       const AttentionShape& shape, const FusedOptions& options,
                       std::size_t query_block, std::size_t key_block, const BiasView<float>& bias,
                       const float* keep) {
    return traced(query, key, value, shape, options, query_block, key_block, bias, keep);
}

FusedTrace fused_trace(const double* query, const double* key, const double* value,
                       const AttentionShape& shape, const FusedOptions& options,
                       std::size_t query_block, std::size_t key_block, const BiasView<double>& bias,
                       const double* keep) {
    return traced(query, key, value, shape, options, query_block, key_block, bias, keep);
}

}  // namespace attn
