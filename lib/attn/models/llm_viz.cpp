#include <algorithm>
#include <array>
#include <cstring>

#include "attn/files/io/json.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/hf_config.hpp"
#include "attn/models/open_model.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_viz(const std::string& label, const std::string& what) {
    throw InputError(label + ": " + what + ": give the model file of llm-viz");
}

/// The number of each letter of base64, from 0 to 63; 64 for all that are none.
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

/// A tensor of the file: its shape, and float32 numbers in base64.
Tensor tensor_in(const Json& stored, const std::string& label) {
    const auto& data = stored["data"].get_ref<const std::string&>();
    const std::string bytes = from_base64(data, label);
    Shape shape{bytes.size() / sizeof(float)};
    shape = sizes_in(stored.value("shape", Json())).value_or(shape);
    if (byte_count(shape, sizeof(float)) != bytes.size()) {
        refuse_viz(label, "holds " + std::to_string(bytes.size()) + " bytes, which are not " +
                              shape_text(shape) + " numbers");
    }
    Array<float> numbers = empty_array<float>(shape);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return {numbered_axes(shape.size()), std::move(numbers)};
}

}  // namespace

Model read_llm_viz(std::string_view text, const std::string& label) {
    const auto file = std::make_shared<const Json>(parse_json(text, label));
    if (!file->is_object() || !file->contains("config") || !(*file)["config"].is_object()) {
        refuse_viz(label, "has no 'config'");
    }
    Model model;
    model.label = label;
    const Family family = family_of_llm_viz();
    model.architecture =
        architecture_of(Config((*file)["config"], label, "give the model file of llm-viz"), family);
    const Architecture& a = model.architecture;
    if (a.embed_dim != a.heads * a.head_dim) refuse_viz(label, "n_head does not divide n_embd");
    std::vector<StoredArray> arrays;
    for (const auto& [name, stored] : file->items()) {
        if (!stored.is_object() || !stored.contains("data") || !stored["data"].is_string()) {
            continue;
        }
        arrays.push_back({name, [file, &stored = stored, where = label + ": " + name] {
                              return NamedTensor{"", tensor_in(stored, where)};
                          }});
    }
    add_tensors(model, family, arrays);
    if (a.vocab_size <= 26) model.tokenizer = letter_tokenizer(a.vocab_size);
    return model;
}

}  // namespace attn::models
