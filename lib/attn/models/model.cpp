#include "attn/models/model.hpp"

#include <utility>

#include "attn/tensor/error.hpp"

namespace attn::models {

void Model::add(const std::string& name, Shape shape, Read read) {
    tensors_[name] = {std::move(shape), std::move(read)};
}

Tensor Model::read(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        throw InputError(label + ": there is no tensor " + name + ": give the whole model's file");
    }
    Tensor tensor = found->second.read();
    if (tensor.shape() != found->second.shape) {
        throw InputError(label + ": " + name + " has the shape " + shape_text(tensor.shape()) +
                         ", not " + shape_text(found->second.shape) +
                         " as the sizes say: check the configuration");
    }
    if (!tensor.is_floating()) {
        throw InputError(label + ": " + name + " holds " + std::string(dtype_name(tensor.dtype())) +
                         ", not floating-point numbers: convert it to float32");
    }
    return tensor;
}

std::vector<std::int64_t> Model::encode(std::string_view text) const {
    if (tokenizer == nullptr) {
        throw ConfigError(label + " comes without a tokenizer: pass --ids instead of --text");
    }
    return tokenizer->encode(text);
}

void Model::check_ids(const std::vector<std::int64_t>& ids) const {
    for (const std::int64_t id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= architecture.vocab_size) {
            throw ConfigError("--ids: " + std::to_string(id) + " is not one of the tokens 0 to " +
                              std::to_string(architecture.vocab_size - 1) + " of " + label);
        }
    }
    if (ids.size() > architecture.most_tokens) {
        throw ConfigError(std::to_string(ids.size()) + " tokens are more than " + label +
                          " was made for: pass at most " +
                          std::to_string(architecture.most_tokens));
    }
}

LayerKind rotating_layer(Pairing pairing, double theta, std::size_t rotary_dim,
                         const std::optional<RopeScaling>& scaling) {
    LayerKind kind;
    kind.pairing = pairing;
    kind.theta = theta;
    kind.scaling = scaling;
    Array<double> frequencies = loop::inverse_frequencies<double>(theta, rotary_dim);
    if (scaling) {
        frequencies = loop::scale_frequencies(frequencies, *scaling, theta);
        kind.rotation_factor = scaling->cosine_factor();
    }
    kind.inverse_frequencies.assign(frequencies.begin(), frequencies.end());
    return kind;
}

}  // namespace attn::models
