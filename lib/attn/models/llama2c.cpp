#include <array>
#include <cmath>
#include <numeric>

#include "attn/io/elements.hpp"
#include "attn/models/open_model.hpp"
#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

constexpr std::size_t header_size = 28;
constexpr std::string_view later_version = "24ka";

struct Sizes {
    std::int64_t embed_dim, mlp_dim, layers, heads, kv_heads, vocab_size, most_tokens;
};

[[noreturn]] void refuse(const InputFile& file, const std::string& what) {
    throw InputError(file.label() + ": " + what +
                     ": give a model that llama2.c has written (version 0)");
}

Sizes read_sizes(const InputFile& file) {
    const std::string header = file.text(0, header_size);
    if (header.size() < header_size) refuse(file, "is too short for the sizes of a model");
    if (header.starts_with(later_version)) refuse(file, "is of a later version of llama2.c");
    std::array<std::int64_t, 7> number{};
    for (std::size_t i = 0; i < number.size(); ++i) {
        const auto bits =
            static_cast<std::uint32_t>(little_endian(std::string_view(header).substr(4 * i), 4));
        number[i] = static_cast<std::int32_t>(bits);
    }
    return {number[0], number[1], number[2], number[3], number[4], number[5], number[6]};
}

void check_sizes(const InputFile& file, const Sizes& sizes) {
    constexpr std::int64_t most = 1 << 24;
    const auto check = [&](const char* name, std::int64_t size) {
        if (size >= 1 && size <= most) return;
        refuse(file, std::string(name) + " cannot be " + std::to_string(size));
    };
    check("embed_dim", sizes.embed_dim);
    check("mlp_dim", sizes.mlp_dim);
    check("the number of layers", sizes.layers);
    check("the number of heads", sizes.heads);
    check("the number of key/value heads", sizes.kv_heads);
    check("vocab_size", std::abs(sizes.vocab_size));
    check("the longest sequence", sizes.most_tokens);
    if (sizes.embed_dim % sizes.heads != 0 || sizes.embed_dim / sizes.heads % 2 != 0) {
        refuse(file, std::to_string(sizes.heads) + " heads do not share " +
                         std::to_string(sizes.embed_dim) + " features in pairs");
    }
    if (sizes.heads % sizes.kv_heads != 0) {
        refuse(file, std::to_string(sizes.kv_heads) + " key/value heads do not divide " +
                         std::to_string(sizes.heads) + " heads");
    }
}

Architecture architecture_of(const Sizes& sizes) {
    Architecture made;
    made.family = "llama2.c";
    made.embed_dim = static_cast<std::size_t>(sizes.embed_dim);
    made.mlp_dim = static_cast<std::size_t>(sizes.mlp_dim);
    made.heads = static_cast<std::size_t>(sizes.heads);
    made.kv_heads = static_cast<std::size_t>(sizes.kv_heads);
    made.head_dim = made.embed_dim / made.heads;
    made.vocab_size = static_cast<std::size_t>(std::abs(sizes.vocab_size));
    made.most_tokens = static_cast<std::size_t>(sizes.most_tokens);
    made.scale = 1 / std::sqrt(static_cast<double>(made.head_dim));
    made.end_ids = {1, 2};
    made.layers.assign(static_cast<std::size_t>(sizes.layers),
                       LayerKind{.pairing = Pairing::interleaved, .rotary_dim = made.head_dim});
    return made;
}

/// States one tensor behind another, in the order in which they lie in the file.
class Layout {
public:
    Layout(Model& model, std::shared_ptr<const InputFile> file)
        : model_(model), file_(std::move(file)) {}

    void add(const std::string& name, const Shape& shape) {
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
    void add_to_layers(const std::string& name, const Shape& shape) {
        for (std::size_t n = 0; n < model_.architecture.layers.size(); ++n) {
            add(in_layer(n, name), shape);
        }
    }
    void skip(std::size_t count) { place_ += count * sizeof(float); }
    std::uint64_t end() const { return place_; }

private:
    Model& model_;
    std::shared_ptr<const InputFile> file_;
    std::uint64_t place_ = header_size;
};

/// How many bytes a model of these sizes takes, near enough to tell a lie about them.
double expected_bytes(const Sizes& s) {
    const auto embed = static_cast<double>(s.embed_dim);
    return 4.0 * static_cast<double>(s.layers) * embed *
           (2 * embed + 3 * static_cast<double>(s.mlp_dim));
}

}  // namespace

Model read_llama2c(std::shared_ptr<const InputFile> file) {
    const Sizes sizes = read_sizes(*file);
    check_sizes(*file, sizes);
    if (expected_bytes(sizes) > static_cast<double>(file->size())) {
        refuse(*file, "is too short for the sizes that it begins with");
    }
    Model model;
    model.label = file->label();
    model.architecture = architecture_of(sizes);
    const Architecture& a = model.architecture;
    const std::size_t kv_dim = a.kv_heads * a.head_dim;
    Layout layout(model, file);
    layout.add("embedding", {a.vocab_size, a.embed_dim});
    layout.add_to_layers("g_attention", {a.embed_dim});
    layout.add_to_layers("w_query", {a.embed_dim, a.embed_dim});
    layout.add_to_layers("w_key", {kv_dim, a.embed_dim});
    layout.add_to_layers("w_value", {kv_dim, a.embed_dim});
    layout.add_to_layers("w_output", {a.embed_dim, a.embed_dim});
    layout.add_to_layers("g_mlp", {a.embed_dim});
    layout.add_to_layers("w_gate", {a.mlp_dim, a.embed_dim});
    layout.add_to_layers("w_down", {a.embed_dim, a.mlp_dim});
    layout.add_to_layers("w_up", {a.mlp_dim, a.embed_dim});
    layout.add("g_final", {a.embed_dim});
    layout.skip(a.most_tokens * a.head_dim);  // cos and sin of the angles, which follow from theta
    if (sizes.vocab_size < 0) layout.add("w_vocab", {a.vocab_size, a.embed_dim});
    if (layout.end() != file->size()) {
        refuse(*file, "has " + std::to_string(file->size()) + " bytes where its sizes ask for " +
                          std::to_string(layout.end()));
    }
    return model;
}

}  // namespace attn::models
