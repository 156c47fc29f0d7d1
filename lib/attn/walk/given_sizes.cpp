#include "attn/walk/given_sizes.hpp"

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

using Size = std::optional<std::int64_t>;

std::int64_t signed_size(std::size_t size) { return static_cast<std::int64_t>(size); }

void settle(Size& size, std::size_t told) {
    if (!size) size = signed_size(told);
}

/// The lengths of a matrix by meaning; a head axis before them is passed over.
struct Matrix {
    std::size_t in = 0;
    std::size_t out = 0;
    bool per_head = false;
};

class Sizes {
public:
    explicit Sizes(WalkConfig& config) : config_(config) {
        const bool out_in_usual = config.rng == Rng::torch || config.projection == Projection::mha;
        in_out_ = config.weight_layout.value_or(out_in_usual
                                                    ? WeightLayout::out_in
                                                    : WeightLayout::in_out) == WeightLayout::in_out;
    }

    void take() {
        if (const Tensor* table = find("embedding", 2)) {
            settle(config_.embed_dim, table->shape()[1]);
            if (auto* tokens = std::get_if<Tokens>(&config_.input)) {
                take_rows(*tokens, table->shape()[0]);
            }
        }
        if (const auto w = matrix("w_query")) {
            settle(config_.embed_dim, w->in);
            settle(config_.head_dim, each_head("w_query", *w));
        }
        if (const auto w = matrix("w_key")) settle(config_.head_dim, each_head("w_key", *w));
        if (const auto w = matrix("w_value")) settle(config_.value_dim, each_head("w_value", *w));
        if (const auto w = matrix("w_qkv")) take_fused(*w);
        if (const auto w = matrix("w_output")) {
            settle(config_.value_dim, split("w_output", w->in));
            settle(config_.output_dim, w->out);
        }
        if (config_.projection == Projection::none) take_direct();
    }

private:
    const Tensor* find(std::string_view name, std::size_t axes) const {
        const Tensor* tensor = config_.parameters.find(name);
        return tensor != nullptr && tensor->dimension() >= axes ? tensor : nullptr;
    }

    std::optional<Matrix> matrix(std::string_view name) const {
        const Tensor* tensor = find(name, 2);
        if (tensor == nullptr) return std::nullopt;
        const Shape shape = tensor->shape();
        const std::size_t first = shape[shape.size() - 2];
        const std::size_t last = shape.back();
        return Matrix{in_out_ ? first : last, in_out_ ? last : first, shape.size() > 2};
    }

    /// `features` shared out among the heads.
    std::size_t split(const std::string& name, std::size_t features) const {
        const auto heads = static_cast<std::size_t>(std::max<std::int64_t>(config_.heads, 1));
        if (features % heads != 0) {
            throw ShapeError("the given " + name + " has " + std::to_string(features) +
                             " features for the heads, which do not divide into " +
                             std::to_string(heads) + ": pass another --heads or --weight-layout");
        }
        return features / heads;
    }

    std::size_t each_head(const std::string& name, const Matrix& w) const {
        return w.per_head ? w.out : split(name, w.out);
    }

    void take_fused(const Matrix& w) {
        settle(config_.embed_dim, w.in);
        if (config_.head_dim || config_.value_dim) return;
        const std::size_t parts =
            3 * static_cast<std::size_t>(std::max<std::int64_t>(config_.heads, 1));
        if (w.out % parts != 0) {
            throw ShapeError("the given w_qkv has " + std::to_string(w.out) +
                             " output features, which do not divide into query, key and value of " +
                             std::to_string(config_.heads) + " heads: pass another --heads");
        }
        config_.head_dim = signed_size(w.out / parts);
    }

    /// A text's vocabulary may be smaller than the table it is looked up in.
    static void take_rows(Tokens& tokens, std::size_t rows) {
        const bool by_text = !tokens.vocabulary.empty() &&
                             tokens.vocab_size == signed_size(tokens.vocabulary.size());
        if (!tokens.vocab_size || (by_text && signed_size(rows) > *tokens.vocab_size)) {
            tokens.vocab_size = signed_size(rows);
        }
    }

    void take_direct() {
        if (!std::holds_alternative<RandomInput>(config_.input)) return;
        const Tensor* key = find("key", 2);
        const Tensor* value = find("value", 2);
        if (const Tensor* query = find("query", 2)) {
            settle(config_.query_len, query->shape()[query->dimension() - 2]);
            settle(config_.head_dim, query->shape().back());
        }
        if (key != nullptr) settle(config_.head_dim, key->shape().back());
        if (value != nullptr) settle(config_.value_dim, value->shape().back());
        const Tensor* keys = key != nullptr ? key : value;
        if (keys == nullptr) return;
        const std::int64_t key_len = signed_size(keys->shape()[keys->dimension() - 2]);
        // Without a memory there are as many keys as queries.
        if (!config_.memory && config_.query_len.value_or(key_len) != key_len) {
            config_.memory = config_.input;
        }
        settle(config_.memory ? config_.key_len : config_.query_len,
               static_cast<std::size_t>(key_len));
    }

    WalkConfig& config_;
    bool in_out_ = false;
};

}  // namespace

void take_given_sizes(WalkConfig& config) {
    if (!config.parameters.entries().empty()) Sizes(config).take();
}

}  // namespace attn
