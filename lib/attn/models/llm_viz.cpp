#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include <nlohmann/json.hpp>

#include "attn/io/json.hpp"
#include "attn/models/open_model.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_viz(const std::string& label, const std::string& what) {
    throw InputError(label + ": " + what + ": give the model file of llm-viz");
}

/// What each letter of base64 stands for, from 0 to 63; 64 for all that are none.
constexpr std::array<std::uint8_t, 256> values_of_letters = [] {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<std::uint8_t, 256> values{};
    values.fill(64);
    for (std::uint8_t i = 0; i < 64; ++i) values[static_cast<unsigned char>(letters[i])] = i;
    return values;
}();

/// The bytes that base64 text stands for.
std::string from_base64(std::string_view text, const std::string& label) {
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::string bytes(text.size() * 6 / 8, '\0');
    std::uint32_t bits = 0;
    std::uint32_t count = 0;
    std::size_t next = 0;
    for (const char letter : text) {
        const std::uint32_t value = values_of_letters[static_cast<unsigned char>(letter)];
        if (value == 64) refuse_viz(label, "'data' is no base64");
        bits = bits << 6U | value;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes[next++] = static_cast<char>(bits >> count & 0xFFU);
    }
    return bytes;
}

/// The tensor under `name`, which holds a shape and float32 numbers in base64.
Tensor tensor_in(const Json& file, const std::string& name, const Shape& shape,
                 const std::string& label) {
    const std::string where = label + ": " + name;
    const auto found = file.find(name);
    if (found == file.end() || !found->is_object() || !found->contains("data") ||
        !(*found)["data"].is_string()) {
        refuse_viz(label, "lacks the tensor " + name);
    }
    const std::string bytes = from_base64((*found)["data"].get_ref<const std::string&>(), where);
    if (bytes.size() != element_count(shape) * sizeof(float)) {
        refuse_viz(where, "holds " + std::to_string(bytes.size()) + " bytes, which are not " +
                              shape_text(shape) + " numbers");
    }
    Array<float> numbers = empty_array<float>(shape);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return {numbered_axes(shape.size()), std::move(numbers)};
}

/// Some rows of a tensor: one third of c_attn.
Tensor rows_from(const Tensor& tensor, std::size_t first, const Shape& shape) {
    std::vector<std::size_t> rows(shape[0]);
    std::iota(rows.begin(), rows.end(), first);
    return rows_of(tensor, rows);
}

std::size_t size_in(const Json& config, const char* key, const std::string& label) {
    constexpr std::size_t most = 10'000;
    const auto found = config.find(key);
    if (found == config.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() < 1 ||
        found->get<std::uint64_t>() > most) {
        refuse_viz(label, "'config' has no " + std::string(key) + " from 1 to 10000");
    }
    return found->get<std::size_t>();
}

Architecture architecture_in(const Json& file, const std::string& label) {
    if (!file.is_object() || !file.contains("config") || !file["config"].is_object()) {
        refuse_viz(label, "has no 'config'");
    }
    const Json& config = file["config"];
    Architecture made;
    made.family = "mingpt";
    made.embed_dim = size_in(config, "n_embd", label);
    made.mlp_dim = 4 * made.embed_dim;
    made.heads = size_in(config, "n_head", label);
    made.kv_heads = made.heads;
    if (made.embed_dim % made.heads != 0) refuse_viz(label, "n_head does not divide n_embd");
    made.head_dim = made.embed_dim / made.heads;
    made.vocab_size = size_in(config, "vocab_size", label);
    made.most_tokens = size_in(config, "block_size", label);
    made.layers.resize(size_in(config, "n_layer", label));
    made.norm = NormKind::layer;
    made.activation = Activation::gelu_tanh;
    made.scale = 1 / std::sqrt(static_cast<double>(made.head_dim));
    return made;
}

}  // namespace

Model read_llm_viz(std::string_view text, const std::string& label) {
    const auto file = std::make_shared<const Json>(parse_json(text, label));
    Model model;
    model.label = label;
    model.architecture = architecture_in(*file, label);
    const Architecture& a = model.architecture;
    const std::size_t c = a.embed_dim;
    const auto add = [&](const std::string& name, const std::string& theirs, const Shape& shape) {
        model.add(name, shape,
                  [file, theirs, shape, label] { return tensor_in(*file, theirs, shape, label); });
    };
    add("embedding", "transformer.wte.weight", {a.vocab_size, c});
    add("position_embedding", "transformer.wpe.weight", {a.most_tokens, c});
    add("g_final", "transformer.ln_f.weight", {c});
    add("b_final", "transformer.ln_f.bias", {c});
    add("w_vocab", "lm_head.weight", {a.vocab_size, c});
    for (std::size_t n = 0; n < a.layers.size(); ++n) {
        const std::string layer = "transformer.h." + std::to_string(n) + ".";
        const char* parts[] = {"query", "key", "value"};
        for (std::size_t part = 0; part < 3; ++part) {
            const std::string weight = layer + "attn.c_attn.weight";
            const std::string bias = layer + "attn.c_attn.bias";
            const std::size_t first = part * c;
            model.add(in_layer(n, std::string("w_") + parts[part]), {c, c},
                      [file, weight, first, c, label] {
                          const Tensor all = tensor_in(*file, weight, {3 * c, c}, label);
                          return rows_from(all, first, {c, c});
                      });
            model.add(in_layer(n, std::string("b_") + parts[part]), {c},
                      [file, bias, first, c, label] {
                          return rows_from(tensor_in(*file, bias, {3 * c}, label), first, {c});
                      });
        }
        const auto add_in_layer = [&](const char* name, const char* theirs, const Shape& shape) {
            add(in_layer(n, name), layer + theirs, shape);
        };
        add_in_layer("g_attention", "ln_1.weight", {c});
        add_in_layer("b_attention", "ln_1.bias", {c});
        add_in_layer("w_output", "attn.c_proj.weight", {c, c});
        add_in_layer("b_output", "attn.c_proj.bias", {c});
        add_in_layer("g_mlp", "ln_2.weight", {c});
        add_in_layer("b_mlp", "ln_2.bias", {c});
        add_in_layer("w_up", "mlp.c_fc.weight", {a.mlp_dim, c});
        add_in_layer("b_up", "mlp.c_fc.bias", {a.mlp_dim});
        add_in_layer("w_down", "mlp.c_proj.weight", {c, a.mlp_dim});
        add_in_layer("b_down", "mlp.c_proj.bias", {c});
    }
    if (a.vocab_size <= 26) model.tokenizer = letter_tokenizer(a.vocab_size);
    return model;
}

}  // namespace attn::models
