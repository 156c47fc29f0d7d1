#include <cmath>
#include <cstdlib>
#include <numeric>

#include "attn/files/io/elements.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/open_model.hpp"

namespace attn::models {
namespace {

constexpr std::size_t header_size = 28;
constexpr std::string_view later_version = "24ka";

[[noreturn]] void refuse(const InputFile& file, const std::string& what) {
    throw InputError(file.label() + ": " + what +
                     ": give a model that llama2.c has written (version 0)");
}

/// Reads the sizes at the start of the file; `has_vocabulary`: it has an output matrix.
Architecture read_sizes(const InputFile& file, bool& has_vocabulary) {
    using A = Architecture;
    struct Size {
        const char* name;
        std::size_t A::*of;
    };
    constexpr Size sizes[] = {{"embed_dim", &A::embed_dim},
                              {"mlp_dim", &A::mlp_dim},
                              {"the number of layers", nullptr},
                              {"the number of heads", &A::heads},
                              {"the number of key/value heads", &A::kv_heads},
                              {"vocab_size", &A::vocab_size},
                              {"the longest sequence", &A::most_tokens}};
    constexpr std::int64_t most = 1 << 24;
    const std::string header = file.text(0, header_size);
    if (header.size() < header_size) refuse(file, "is too short for the sizes of a model");
    if (header.starts_with(later_version)) refuse(file, "is from a later version of llama2.c");
    Architecture result;
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
        const auto& [name, of] = sizes[i];
        const std::uint64_t bits = little_endian(std::string_view(header).substr(4 * i), 4);
        std::int64_t size = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
        if (of == &A::vocab_size) {
            has_vocabulary = size < 0;
            size = std::abs(size);
        }
        if (size < 1 || size > most) {
            refuse(file, std::string(name) + " cannot be " + std::to_string(size));
        }
        if (of != nullptr) {
            result.*of = static_cast<std::size_t>(size);
        } else {
            result.layers.resize(static_cast<std::size_t>(size));
        }
    }
    if (result.embed_dim % result.heads != 0 || result.embed_dim / result.heads % 2 != 0) {
        refuse(file, std::to_string(result.heads) + " heads do not share " +
                         std::to_string(result.embed_dim) + " features in pairs");
    }
    if (result.heads % result.kv_heads != 0) {
        refuse(file, std::to_string(result.kv_heads) + " key/value heads do not divide " +
                         std::to_string(result.heads) + " heads");
    }
    result.family = "llama2.c";
    result.head_dim = result.embed_dim / result.heads;
    result.scale = 1 / std::sqrt(static_cast<double>(result.head_dim));
    result.end_ids = {1, 2};
    result.begin_id = 1;
    for (LayerKind& kind : result.layers) {
        kind = {.pairing = Pairing::interleaved, .rotary_dim = result.head_dim};
    }
    return result;
}

/// Adds one tensor after another, in file order.
class Layout {
public:
    Layout(Model& model, std::shared_ptr<const InputFile> file)
        : model_(model), file_(std::move(file)) {}

    /// Adds a tensor under Model's name; `tensor` is the name without the layer.
    void add(const std::string& name, std::string_view tensor) {
        const Shape shape = model_.architecture.shape_of(tensor);
        const std::uint64_t place = place_;
        const std::size_t row = element_count(shape) / shape[0] * sizeof(float);
        const auto read_rows = [file = file_, place, row,
                                shape](const std::vector<std::size_t>& rows) {
            Shape part = shape;
            part[0] = rows.size();
            return read_elements({}, part, fetch_rows(*file, place, row, rows), file->label());
        };
        std::vector<std::size_t> all(shape[0]);
        std::iota(all.begin(), all.end(), std::size_t{0});
        model_.add(
            name, shape, [read_rows, all = std::move(all)] { return read_rows(all); }, read_rows);
        skip(element_count(shape));
    }
    void skip(std::size_t count) { place_ += count * sizeof(float); }
    std::uint64_t end() const { return place_; }

private:
    Model& model_;
    std::shared_ptr<const InputFile> file_;
    std::uint64_t place_ = header_size;
};

/// Estimates the bytes of a model of these sizes, close enough to detect wrong sizes.
double expected_bytes(const Architecture& a) {
    const auto embed = static_cast<double>(a.embed_dim);
    return 4.0 * static_cast<double>(a.layers.size()) * embed *
           (2 * embed + 3 * static_cast<double>(a.mlp_dim));
}

}  // namespace

Model read_llama2c(std::shared_ptr<const InputFile> file) {
    refuse_unless(file != nullptr, "a model is read from a file");
    bool has_vocabulary = false;
    Model model;
    model.label = file->label();
    model.architecture = read_sizes(*file, has_vocabulary);
    const Architecture& a = model.architecture;
    if (expected_bytes(a) > static_cast<double>(file->size())) {
        refuse(*file, "is too short for the sizes that it begins with");
    }
    Layout layout(model, file);
    layout.add("embedding", "embedding");
    for (const char* name : llama2c_layer) {
        for (std::size_t n = 0; n < a.layers.size(); ++n) layout.add(in_layer(n, name), name);
    }
    layout.add("g_final", "g_final");
    layout.skip(a.most_tokens * a.head_dim);  // cos and sin of the angles, which theta determines
    if (has_vocabulary) layout.add("w_vocab", "w_vocab");
    if (layout.end() != file->size()) {
        refuse(*file, "has " + std::to_string(file->size()) + " bytes, but its sizes need " +
                          std::to_string(layout.end()));
    }
    return model;
}

}  // namespace attn::models
