#include "attn/models/model.hpp"

#include <utility>

#include "attn/files/io/elements.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::models {

Shape Architecture::shape_of(std::string_view name) const {
    const std::size_t c = embed_dim;
    const std::size_t queries = heads * head_dim;
    const std::size_t keys = kv_heads * head_dim;
    const bool all = qk_norm == NormOver::all;
    const std::map<std::string_view, Shape> shapes{
        {"embedding", {vocab_size, c}},
        {"position_embedding", {most_tokens + first_position, c}},
        {"w_vocab", {vocab_size, c}},
        {"b_vocab", {vocab_size}},
        {"w_query", {queries, c}},
        {"b_query", {queries}},
        {"w_key", {keys, c}},
        {"b_key", {keys}},
        {"w_value", {keys, c}},
        {"b_value", {keys}},
        {"w_output", {c, queries}},
        {"w_gate", {mlp_dim, c}},
        {"b_gate", {mlp_dim}},
        {"w_up", {mlp_dim, c}},
        {"b_up", {mlp_dim}},
        {"w_down", {c, mlp_dim}},
        {"sink", {heads}},
        {"w_router", {experts, c}},
        {"b_router", {experts}},
        {"w_experts_up", {experts, 2 * mlp_dim, c}},
        {"b_experts_up", {experts, 2 * mlp_dim}},
        {"w_experts_down", {experts, c, mlp_dim}},
        {"b_experts_down", {experts, c}},
        {"g_query", {all ? queries : head_dim}},
        {"g_key", {all ? keys : head_dim}},
    };
    const auto found = shapes.find(name);
    return found != shapes.end() ? found->second : Shape{c};  // gains and biases of norms
}

void Model::add(const std::string& name, Shape shape, Read read, ReadRows read_rows,
                const std::string& in_file, std::vector<std::size_t> rows) {
    const bool other = !in_file.empty() && in_file != name;
    tensors_[name] = {std::move(shape),
                      std::move(read),
                      std::move(read_rows),
                      in_file,
                      other ? visible(in_file) + " as " + name : name,
                      std::move(rows)};
}

void Model::store_as(const std::string& name, double width, Keep keep) {
    Stored& found = tensors_.at(name);
    found.width = width;
    found.keep = std::move(keep);
}

void Model::for_each_size(const std::function<void(std::string_view name, double numbers,
                                                   double bytes, bool in_blocks)>& each) const {
    for (const auto& [name, stored] : tensors_) {
        const auto numbers = static_cast<double>(element_count(stored.shape));
        each(name, numbers, numbers * stored.width, stored.keep != nullptr);
    }
}

Model::ReadRows Model::keep(const std::string& name) const {
    const Stored& found = stored(name);
    return found.keep ? found.keep() : nullptr;
}

const Model::Stored& Model::stored(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        throw InputError(label + ": there is no tensor " + name + ": give the whole model's file");
    }
    return found->second;
}

Tensor Model::checked(const Stored& stored, Tensor tensor, const Shape& shape) const {
    if (tensor.shape() != shape) {
        throw InputError(label + ": " + stored.label + " has the shape " +
                         shape_text(tensor.shape()) + ", not " + shape_text(shape) +
                         " as the sizes say: check the configuration");
    }
    if (!tensor.is_floating()) {
        throw InputError(label + ": " + stored.label + " holds " +
                         std::string(dtype_name(tensor.dtype())) +
                         ", not floating-point numbers: convert it to float32");
    }
    return tensor;
}

const char* Model::vocabulary() const {
    if (has("w_vocab")) return "w_vocab";
    if (architecture.tied) return "embedding";
    throw InputError(label +
                     ": has no matrix for its logits (lm_head.weight), and tie_word_embeddings is "
                     "false: give the model with its head, or ask for a walk or heads");
}

Tensor Model::read(const std::string& name) const {
    const Stored& found = stored(name);
    return checked(found, found.read(), found.shape);
}

Tensor Model::read_rows(const std::string& name, const std::vector<std::size_t>& rows) const {
    const Stored& found = stored(name);
    Shape shape = found.shape;
    for (const std::size_t row : rows) {
        refuse_unless(row < shape[0], name + " has no row " + std::to_string(row));
    }
    shape[0] = rows.size();
    return found.read_rows ? checked(found, found.read_rows(rows), shape)
                           : rows_of(read(name), rows);
}

std::string Model::origin(const std::string& name, std::size_t row, std::size_t column) const {
    const Stored& found = stored(name);
    if (!notify || found.shape.size() != 2) return {};
    return notify(found.in_file, found.rows.empty() ? row : found.rows[row], column);
}

std::vector<std::int64_t> Model::encode(std::string_view text) const {
    if (!tokenizer_trouble.empty()) throw InputError(tokenizer_trouble);
    if (tokenizer == nullptr) {
        throw ConfigError(label +
                          " comes without a tokenizer: name its file with $tokenizer, or pass "
                          "$ids instead of $text"_message);
    }
    return tokenizer->encode(text);
}

void Model::check_ids(const std::vector<std::int64_t>& ids) const {
    for (const std::int64_t id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= architecture.vocab_size) {
            throw ConfigError("$ids: "_message + std::to_string(id) +
                              " is not one of the tokens 0 to " +
                              std::to_string(architecture.vocab_size - 1) + " of " + label);
        }
    }
    if (ids.size() > architecture.most_tokens) {
        throw ConfigError(std::to_string(ids.size()) + " tokens are more than " + label +
                          " was made for: pass at most " +
                          std::to_string(architecture.most_tokens));
    }
}

}  // namespace attn::models
