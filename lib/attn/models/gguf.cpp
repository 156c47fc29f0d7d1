#include "attn/models/gguf.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/hf_config.hpp"
#include "attn/models/open_model.hpp"

namespace attn::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Keys after the architecture's name that are read elsewhere, or do not change the numbers.
constexpr std::string_view other_keys[]{"attention.layer_norm_epsilon",
                                        "attention.layer_norm_rms_epsilon",
                                        "attention.sliding_window_pattern",
                                        "attention.value_length",
                                        "attention.max_alibi_bias",
                                        "rope.dimension_count",
                                        "rope.scaling.finetuned",
                                        "rope.scaling.yarn_log_multiplier",
                                        "tensor_data_layout"};

/// The parts of a GGUF file, in the form that the reader of Hugging Face folders takes.
class GgufReader {
public:
    explicit GgufReader(const InputFile& file) : label_(file.label()), file_(read_gguf(file)) {}

    const Json& metadata() const { return file_.metadata; }
    const std::vector<GgufTensor>& tensors() const { return file_.tensors; }

    Config config() {
        const Json& facts = facts_of_gguf();
        const Json parts = file_.metadata.value("split.count", Json(1));
        if (parts != 0 && parts != 1) {
            throw InputError(label_ + ": is one of " + parts.dump() +
                             " parts: merge them with llama-gguf-split");
        }
        const Json specified = file_.metadata.value("general.architecture", Json(""));
        word_ = specified.is_string() ? specified.get<std::string>() : "";
        const auto row = facts["architectures"].find(word_);
        if (row == facts["architectures"].end()) {
            std::vector<std::string> known;
            for (const auto& [each, ignored] : facts["architectures"].items())
                known.push_back(each);
            throw InputError(label_ + ": the architecture " + quoted_text(word_) +
                             " is not known here: give a model of " + joined(known));
        }
        row_ = *row;
        Json result = row_.value("config", Json::object());
        take_keys(result);
        const bool has_experts = result.contains("num_local_experts");
        result["model_type"] =
            has_experts ? row_.value("with_experts", row_["model_type"]) : row_["model_type"];
        take_shapes(result);
        take_factors_of_lists(result);
        std::map<std::string, std::string> original_names;
        const Json known_keys = keys();
        for (const auto& [theirs, ours] : known_keys.items())
            original_names[ours] = word_ + "." + theirs;
        return {result, label_, "give another model", original_names};
    }

    /// Returns the family, with the tensor names of GGUF.
    Family renamed(Family family) const {
        const Json& names = facts_of_gguf()["tensors"];
        family.layer = "blk.";
        family.beside = listed_beside();
        std::string first_norm;
        for (auto* all : {&family.outside, &family.inside}) {
            for (Name& name : *all) {
                // A family with a single norm for attention and MLP has a single name for it.
                const bool again = name.ours == "g_mlp" && name.theirs == first_norm;
                if (name.ours == "g_attention") first_norm = name.theirs;
                name.theirs = names[again ? "g_attention" : name.ours];
                const bool is_fused = !name.part.empty();
                if (is_fused)
                    name.theirs = name.part == "gate" || name.part == "up" ? "ffn_up" : "attn_qkv";
                if (!name.beside.empty()) name.beside = "ffn_up.#";
                name.columns = name.by_head = false;
                name.neighbours = row_.value("neighbours", false) &&
                                  (name.ours == "w_query" || name.ours == "w_key");
            }
        }
        return family;
    }

    /// Returns all arrays; those with the matrices of all experts are split into one per expert.
    std::vector<StoredArray> arrays() const {
        std::vector<StoredArray> all;
        for (const GgufTensor& tensor : file_.tensors) {
            const std::size_t end = tensor.name.rfind("_exps.weight");
            if (end == std::string::npos || tensor.shape.size() != 3) {
                all.push_back(tensor.array);
                continue;
            }
            for (std::size_t e = 0; e < tensor.shape[0]; ++e) {
                const std::string name =
                    tensor.name.substr(0, end) + "." + std::to_string(e) + ".weight";
                all.push_back(
                    {name, [name, array = tensor.array, e] {
                         Tensor rows = array.read_rows({e}).tensor;
                         return NamedTensor{name, Tensor(numbered_axes(2), without_first(rows))};
                     }});
            }
        }
        return all;
    }

    /// Applies the differences of the format to an architecture.
    void change(Architecture& a) const {
        a.norm_adds_one = false;  // gains are stored as 1 + g
        const GgufTensor* const factors = find("rope_freqs.weight");
        if (factors == nullptr) return;
        RopeScaling divided;
        divided.kind = RopeScaling::Kind::longrope;
        divided.length = static_cast<double>(a.most_tokens);
        divided.attention_factor = 1;
        divided.short_factors = divided.long_factors = numbers_of(*factors);
        for (LayerKind& kind : a.layers) {
            if (!kind.pairing) continue;
            if (divided.short_factors.size() != kind.rotary_dim / 2) {
                throw InputError(label_ +
                                 ": rope_freqs.weight lacks a factor for each pair: convert "
                                 "the model again");
            }
            kind.scaling = divided;
        }
    }

    const GgufTensor* find(const std::string& name) const {
        const auto found = std::ranges::find(file_.tensors, name, &GgufTensor::name);
        return found == file_.tensors.end() ? nullptr : &*found;
    }

private:
    static std::vector<std::string> listed_beside() { return facts_of_gguf()["beside"]; }

    static Array<float> without_first(const Tensor& tensor) {
        Array<float> rows = cast(tensor, DType::float32).as<float>();
        rows.reshape({rows.shape(1), rows.shape(2)});
        return rows;
    }
    std::vector<double> numbers_of(const GgufTensor& tensor) const {
        const Tensor numbers = tensor.array.read().tensor;
        std::vector<double> all;
        for (std::size_t i = 0; i < numbers.size(); ++i) all.push_back(numbers.at(i));
        return all;
    }

    /// Returns the names in config.json for the keys after the architecture's name.
    Json keys() const {
        Json all = facts_of_gguf()["keys"];
        all.update(row_.value("keys", Json::object()));
        return all;
    }

    /// Copies the settings under their names in config.json.
    void take_keys(Json& result) const {
        const Json known_keys = keys();
        for (const auto& [key, value] : file_.metadata.items()) {
            if (!key.starts_with(word_ + ".")) continue;
            const std::string name = key.substr(word_.size() + 1);
            const auto known = known_keys.find(name);
            if (known == known_keys.end() &&
                std::ranges::find(other_keys, name) == std::end(other_keys)) {
                throw InputError(label_ + ": says " + quoted_text(key) +
                                 ", which is not known here and " +
                                 "may change the numbers: give another model");
            }
            const bool is_none = value == "none" || (name.starts_with("expert_") && value == 0);
            if (known == known_keys.end() || is_none) continue;
            const std::string ours = *known;
            const std::size_t blank = ours.find(' ');
            Json& place = blank == ours.npos ? result : result[ours.substr(0, blank)];
            place[ours.substr(blank == ours.npos ? 0 : blank + 1)] = value;
        }
        const Json slides =
            file_.metadata.value(word_ + ".attention.sliding_window_pattern", Json());
        if (slides.is_number()) result["sliding_window_pattern"] = slides;
        for (const Json& each : slides.is_array() ? slides : Json::array()) {
            result["layer_types"].push_back(each == true ? "sliding_attention" : "full_attention");
        }
        for (const char* eps :
             {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}) {
            const Json value = file_.metadata.value(word_ + "." + eps, Json());
            if (!value.is_null()) {
                for (const char* name :
                     {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"}) {
                    result[name] = value;
                }
            }
        }
        for (const std::string id : {"eos_token_id", "bos_token_id"}) {
            const Json value = file_.metadata.value("tokenizer.ggml." + id, Json());
            if (!value.is_null()) result[id] = value;
        }
    }

    /// Infers settings from shapes and names of tensors.
    void take_shapes(Json& result) const {
        const GgufTensor* const embedding = find("token_embd.weight");
        if (embedding != nullptr && embedding->shape.size() == 2) {
            result["vocab_size"] = embedding->shape[0];
        }
        result["tie_word_embeddings"] = find("output.weight") == nullptr;
        const auto has_any = [this](std::initializer_list<const char*> names) {
            return std::ranges::any_of(names,
                                       [this](const char* name) { return find(name) != nullptr; });
        };
        result["attention_bias"] = has_any({"blk.0.attn_q.bias", "blk.0.attn_qkv.bias"});
        result["mlp_bias"] = has_any({"blk.0.ffn_up.bias"});
        const auto size = [&](const char* key) {
            const Json value = result.value(key, Json());
            return value.is_number() ? value.get<double>() : 0;
        };
        const double heads = size("num_attention_heads");
        const double width = heads > 0 ? size("hidden_size") / heads : 0;
        const double head_dim = result.contains("head_dim") ? size("head_dim") : width;
        const Json turning = file_.metadata.value(word_ + ".rope.dimension_count", Json());
        if (turning.is_number() && head_dim > 0) {
            result["partial_rotary_factor"] = turning.get<double>() / head_dim;
        }
        if (row_.contains("layers_of_27b")) {
            // The largest model of each family has another divisor of the scores.
            const bool is_largest =
                result.value("num_hidden_layers", Json()) == row_["layers_of_27b"];
            result["query_pre_attn_scalar"] = is_largest ? width : head_dim;
        }
    }

    /// For Phi 3: the divisors of frequencies, one tensor for short inputs and one for long ones.
    void take_factors_of_lists(Json& result) const {
        const GgufTensor* const few = find("rope_factors_short.weight");
        const GgufTensor* const many = find("rope_factors_long.weight");
        if (few == nullptr || many == nullptr) return;
        Json& scaling = result["rope_scaling"];
        scaling["rope_type"] = "longrope";
        scaling["short_factor"] = numbers_of(*few);
        scaling["long_factor"] = numbers_of(*many);
    }

    std::string label_, word_;
    Gguf file_;
    Json row_;
};

}  // namespace

Model open_gguf(std::shared_ptr<const InputFile> file, const std::string& path,
                const std::string& tokenizer) {
    refuse_unless(file != nullptr, "a model is read from a file");
    GgufReader reader(*file);
    const Config config = reader.config();
    const Family family = family_in(config);
    Model model;
    model.label = file->label();
    model.architecture = architecture_of(config, family);
    reader.change(model.architecture);
    std::vector<StoredArray> arrays = reader.arrays();
    for (StoredArray& array : arrays) {
        // Keep the file open as long as the array.
        array.read = [file, read = std::move(array.read)] { return read(); };
        if (!array.read_rows) continue;
        array.read_rows = [file, read = std::move(array.read_rows)](
                              const std::vector<std::size_t>& rows) { return read(rows); };
        if (!array.keep) continue;
        array.keep = [file, keep = std::move(array.keep)](const std::vector<std::size_t>& rows) {
            return keep(rows);
        };
    }
    add_tensors(model, reader.renamed(family), arrays);
    model.notify = [file, all = reader.tensors()](const std::string& name, std::size_t row,
                                                  std::size_t column) {
        const auto found = std::ranges::find(all, name, &GgufTensor::name);
        if (found == all.end() || found->shape.size() != 2) return std::string();
        const std::string derivation_text =
            found->derivation(*file, row * found->shape[1] + column);
        return derivation_text.empty()
                   ? derivation_text
                   : fmt::format("{}[{},{}], {}", name, row, column, derivation_text);
    };
    const std::size_t vocab = model.architecture.vocab_size;
    const auto read_json = [vocab](const std::string& name) {
        const std::shared_ptr<InputFile> json = open_model_file(name);
        return read_json_tokenizer(json->all(), json->label(), vocab, {.as_json = [name] {
                                       return std::string(open_model_file(name)->all());
                                   }});
    };
    if (!tokenizer.empty()) {
        model.tokenizer = read_json(tokenizer);
        return model;
    }
    try {
        const Json json = tokenizer_of_gguf(reader.metadata(), model.label);
        const auto of_tokenizer = [file] {
            Json metadata = read_gguf(*file).metadata;
            std::erase_if(metadata.get_ref<Json::object_t&>(),
                          [](const auto& entry) { return !entry.first.starts_with("tokenizer."); });
            return metadata;
        };
        model.tokenizer = tokenizer_of_json(json, model.label, vocab, {.as_gguf = of_tokenizer});
        const fs::path beside = fs::path(path).parent_path() / "tokenizer.json";
        std::error_code ignored;
        if (fs::is_regular_file(beside, ignored)) {
            model.other_tokenizer = read_json(beside.string());
            model.other_tokenizer_label = file_label(beside.string());
        }
    } catch (const InputError& error) {
        if (model.tokenizer != nullptr) return model;  // the tokenizer next to it is not needed
        model.tokenizer_trouble =
            std::string(error.what()) + ", or pass $ids instead of $text"_message;
    }
    return model;
}

}  // namespace attn::models
