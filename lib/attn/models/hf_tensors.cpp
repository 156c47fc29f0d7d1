#include <map>
#include <span>
#include <utility>

#include "attn/models/hugging_face.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

/// The part of a tensor of theirs that is ours: all, or one of those that lie one behind another in
/// [query | key | value] and [gate | up].
enum class Part { all, query, key, value, gate, up };

/// How a parameter lies in a tensor of theirs.
struct Lies {
    Part part = Part::all;
    bool columns = false;  ///< theirs is (in, out): our rows are its columns
    bool by_head = false;  ///< its rows go head by head [q | k | v]
    bool experts = false;  ///< (expert, in, out), or in blocks of 32 numbers of 4 bits with a scale
};

/// Our name of a parameter, theirs behind the layer's number, and how it lies there.
struct Name {
    const char* ours;
    const char* theirs;
    Lies lies{};
    bool required = true;
    const char* plus = nullptr;  ///< a table of theirs whose first row is added to each row
};

/// The names of one family. Those without a layer stand by themselves.
struct Names {
    const char* layer;  ///< in front of the layer's number
    std::span<const Name> outside;
    std::vector<std::span<const Name>> inside;
};

constexpr bool optional = false;

constexpr Lies transposed{.columns = true};
constexpr Lies rows_in(Part part) { return {.part = part}; }
constexpr Lies columns_of(Part part) { return {.part = part, .columns = true}; }
constexpr Lies of_heads(Part part) { return {.part = part, .by_head = true}; }
constexpr Lies of_experts{.experts = true};

constexpr Name attention[] = {
    {"w_query", "self_attn.q_proj.weight"}, {"b_query", "self_attn.q_proj.bias", Lies{}, optional},
    {"w_key", "self_attn.k_proj.weight"},   {"b_key", "self_attn.k_proj.bias", Lies{}, optional},
    {"w_value", "self_attn.v_proj.weight"}, {"b_value", "self_attn.v_proj.bias", Lies{}, optional},
};
constexpr Name gated_mlp[] = {{"w_gate", "mlp.gate_proj.weight"},
                              {"w_up", "mlp.up_proj.weight"},
                              {"w_down", "mlp.down_proj.weight"}};
constexpr Name output_projection[] = {{"w_output", "self_attn.o_proj.weight"},
                                      {"b_output", "self_attn.o_proj.bias", Lies{}, optional}};
constexpr Name llama_norms[] = {{"g_attention", "input_layernorm.weight"},
                                {"g_mlp", "post_attention_layernorm.weight"}};
constexpr Name qk_norms[] = {{"g_query", "self_attn.q_norm.weight"},
                             {"g_key", "self_attn.k_norm.weight"}};
constexpr Name four_norms[] = {{"g_attention", "input_layernorm.weight"},
                               {"g_attention_output", "post_attention_layernorm.weight"},
                               {"g_mlp", "pre_feedforward_layernorm.weight"},
                               {"g_mlp_output", "post_feedforward_layernorm.weight"}};
constexpr Name post_norms[] = {four_norms[1], four_norms[3]};
constexpr Name sinks[] = {{"sink", "self_attn.sinks"}};
constexpr Name experts[] = {{"w_router", "mlp.router.weight"},
                            {"b_router", "mlp.router.bias"},
                            {"w_experts_up", "mlp.experts.gate_up_proj", of_experts},
                            {"b_experts_up", "mlp.experts.gate_up_proj_bias"},
                            {"w_experts_down", "mlp.experts.down_proj", of_experts},
                            {"b_experts_down", "mlp.experts.down_proj_bias"}};
constexpr Name llama_outside[] = {{"embedding", "embed_tokens.weight"},
                                  {"g_final", "norm.weight"},
                                  {"w_vocab", "lm_head.weight", Lies{}, optional}};

constexpr Name gpt2_outside[] = {{"embedding", "wte.weight"},
                                 {"position_embedding", "wpe.weight"},
                                 {"g_final", "ln_f.weight"},
                                 {"b_final", "ln_f.bias"},
                                 {"w_vocab", "lm_head.weight", Lies{}, optional}};
constexpr Name gpt2_inside[] = {{"g_attention", "ln_1.weight"},
                                {"b_attention", "ln_1.bias"},
                                {"w_query", "attn.c_attn.weight", columns_of(Part::query)},
                                {"b_query", "attn.c_attn.bias", rows_in(Part::query)},
                                {"w_key", "attn.c_attn.weight", columns_of(Part::key)},
                                {"b_key", "attn.c_attn.bias", rows_in(Part::key)},
                                {"w_value", "attn.c_attn.weight", columns_of(Part::value)},
                                {"b_value", "attn.c_attn.bias", rows_in(Part::value)},
                                {"w_output", "attn.c_proj.weight", transposed},
                                {"b_output", "attn.c_proj.bias"},
                                {"g_mlp", "ln_2.weight"},
                                {"b_mlp", "ln_2.bias"},
                                {"w_up", "mlp.c_fc.weight", transposed},
                                {"b_up", "mlp.c_fc.bias"},
                                {"w_down", "mlp.c_proj.weight", transposed},
                                {"b_down", "mlp.c_proj.bias"}};

// BERT adds the row of token type 0 to the row of every position.
constexpr Name bert_outside[] = {{"embedding", "embeddings.word_embeddings.weight"},
                                 {"position_embedding", "embeddings.position_embeddings.weight",
                                  Lies{}, true, "embeddings.token_type_embeddings.weight"},
                                 {"g_embedding", "embeddings.LayerNorm.weight"},
                                 {"b_embedding", "embeddings.LayerNorm.bias"}};
constexpr Name bert_inside[] = {{"w_query", "attention.self.query.weight"},
                                {"b_query", "attention.self.query.bias"},
                                {"w_key", "attention.self.key.weight"},
                                {"b_key", "attention.self.key.bias"},
                                {"w_value", "attention.self.value.weight"},
                                {"b_value", "attention.self.value.bias"},
                                {"w_output", "attention.output.dense.weight"},
                                {"b_output", "attention.output.dense.bias"},
                                {"g_attention_output", "attention.output.LayerNorm.weight"},
                                {"b_attention_output", "attention.output.LayerNorm.bias"},
                                {"w_up", "intermediate.dense.weight"},
                                {"b_up", "intermediate.dense.bias"},
                                {"w_down", "output.dense.weight"},
                                {"b_down", "output.dense.bias"},
                                {"g_mlp_output", "output.LayerNorm.weight"},
                                {"b_mlp_output", "output.LayerNorm.bias"}};

constexpr const char* neox_qkv = "attention.query_key_value.weight";
constexpr const char* neox_qkv_bias = "attention.query_key_value.bias";
constexpr Name neox_outside[] = {{"embedding", "embed_in.weight"},
                                 {"g_final", "final_layer_norm.weight"},
                                 {"b_final", "final_layer_norm.bias"},
                                 {"w_vocab", "embed_out.weight", Lies{}, optional}};
constexpr Name neox_inside[] = {{"g_attention", "input_layernorm.weight"},
                                {"b_attention", "input_layernorm.bias"},
                                {"w_query", neox_qkv, of_heads(Part::query)},
                                {"b_query", neox_qkv_bias, of_heads(Part::query), optional},
                                {"w_key", neox_qkv, of_heads(Part::key)},
                                {"b_key", neox_qkv_bias, of_heads(Part::key), optional},
                                {"w_value", neox_qkv, of_heads(Part::value)},
                                {"b_value", neox_qkv_bias, of_heads(Part::value), optional},
                                {"w_output", "attention.dense.weight"},
                                {"b_output", "attention.dense.bias", Lies{}, optional},
                                {"g_mlp", "post_attention_layernorm.weight"},
                                {"b_mlp", "post_attention_layernorm.bias"},
                                {"w_up", "mlp.dense_h_to_4h.weight"},
                                {"b_up", "mlp.dense_h_to_4h.bias"},
                                {"w_down", "mlp.dense_4h_to_h.weight"},
                                {"b_down", "mlp.dense_4h_to_h.bias"}};

constexpr Name phi_outside[] = {{"embedding", "embed_tokens.weight"},
                                {"g_final", "final_layernorm.weight"},
                                {"b_final", "final_layernorm.bias"},
                                {"w_vocab", "lm_head.weight", Lies{}, optional},
                                {"b_vocab", "lm_head.bias", Lies{}, optional}};
constexpr Name phi_inside[] = {{"w_output", "self_attn.dense.weight"},
                               {"b_output", "self_attn.dense.bias"},
                               {"g_attention", "input_layernorm.weight"},
                               {"b_attention", "input_layernorm.bias"},
                               {"g_mlp", "input_layernorm.weight"},
                               {"b_mlp", "input_layernorm.bias"},
                               {"w_up", "mlp.fc1.weight"},
                               {"b_up", "mlp.fc1.bias"},
                               {"w_down", "mlp.fc2.weight"},
                               {"b_down", "mlp.fc2.bias"}};

constexpr Name phi3_inside[] = {{"w_query", "self_attn.qkv_proj.weight", rows_in(Part::query)},
                                {"w_key", "self_attn.qkv_proj.weight", rows_in(Part::key)},
                                {"w_value", "self_attn.qkv_proj.weight", rows_in(Part::value)},
                                {"w_gate", "mlp.gate_up_proj.weight", rows_in(Part::gate)},
                                {"w_up", "mlp.gate_up_proj.weight", rows_in(Part::up)},
                                {"w_down", "mlp.down_proj.weight"}};

Names names_of(Family family) {
    const auto like_llama = [](std::vector<std::span<const Name>> more) -> Names {
        more.insert(more.begin(), {attention, output_projection});
        return {"layers.", llama_outside, std::move(more)};
    };
    switch (family) {
        case Family::llama:
        case Family::qwen2:
            return like_llama({llama_norms, gated_mlp});
        case Family::qwen3:
            return like_llama({llama_norms, qk_norms, gated_mlp});
        case Family::gemma2:
            return like_llama({four_norms, gated_mlp});
        case Family::gemma3:
            return like_llama({four_norms, qk_norms, gated_mlp});
        case Family::olmo2:
            return like_llama({post_norms, qk_norms, gated_mlp});
        case Family::gpt_oss:
            return like_llama({llama_norms, experts, sinks});
        case Family::phi:
            return {"layers.", phi_outside, {attention, phi_inside}};
        case Family::phi3:
            return {"layers.", llama_outside, {phi3_inside, output_projection, llama_norms}};
        case Family::neox:
            return {"layers.", neox_outside, {neox_inside}};
        case Family::gpt2:
            return {"h.", gpt2_outside, {gpt2_inside}};
        case Family::bert:
            break;
    }
    return {"encoder.layer.", bert_outside, {bert_inside}};
}

/// The rows of their tensor that are ours, or its columns: `runs` of `count` neighbours, each run
/// `stride` behind the last. None: all.
struct Picked {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t runs = 1;
    std::size_t stride = 0;

    std::size_t end() const { return first + (runs - 1) * stride + count; }
};

Picked picked(Lies lies, const Architecture& a) {
    const std::size_t d = a.head_dim;
    const std::size_t queries = a.heads * d;
    const std::size_t keys = a.kv_heads * d;
    const auto of_each_head = [&](std::size_t part) { return Picked{part * d, d, a.heads, 3 * d}; };
    switch (lies.part) {
        case Part::all:
            break;
        case Part::query:
            return lies.by_head ? of_each_head(0) : Picked{0, queries};
        case Part::key:
            return lies.by_head ? of_each_head(1) : Picked{queries, keys};
        case Part::value:
            return lies.by_head ? of_each_head(2) : Picked{queries + keys, keys};
        case Part::gate:
            return {0, a.mlp_dim};
        case Part::up:
            return {a.mlp_dim, a.mlp_dim};
    }
    return {};
}

/// Their tensor as ours, or as it is where it has another shape, which reading it then refuses.
Tensor taken_from(const Tensor& theirs, bool columns, const Picked& ours) {
    const Shape shape = theirs.shape();
    const bool turned = columns && shape.size() == 2;
    if (shape.empty() || (!turned && !theirs.is_floating())) return theirs;
    const std::size_t all = turned ? shape[1] : shape[0];
    const bool takes_all = ours.count == 0 || ours.end() > all;
    if (turned) {
        return strided(theirs, {takes_all ? all : ours.count, shape[0]}, {1, shape[1]},
                       takes_all ? 0 : ours.first);
    }
    if (takes_all) return theirs;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < ours.runs * ours.count; ++i) {
        rows.push_back(ours.first + i / ours.count * ours.stride + i % ours.count);
    }
    return rows_of(theirs, rows);
}

using Arrays = std::map<std::string, const StoredArray*, std::less<>>;

/// The array of that name, behind one of the prefixes that models have.
const StoredArray* find_array(const Arrays& arrays, const std::string& name) {
    for (const char* prefix :
         {"", "model.", "transformer.", "gpt_neox.", "bert.", "language_model.model.",
          "model.language_model.", "language_model."}) {
        const auto found = arrays.find(prefix + name);
        if (found != arrays.end()) return found->second;
    }
    return nullptr;
}

/// Each row of a table with the first row of another, where there is one.
Model::Read with_first_row(const StoredArray& positions, const StoredArray* types) {
    return [positions, types = types ? std::optional(*types) : std::nullopt] {
        const Tensor rows = cast(positions.read().tensor, DType::float32);
        if (!types) return rows;
        const Tensor type = cast(types->read().tensor, DType::float32);
        if (rows.dimension() != 2 || type.dimension() != 2 || type.shape()[1] != rows.shape()[1] ||
            !rows.is_floating() || !type.is_floating() || type.size() == 0) {
            return rows;
        }
        Array<float> sum = rows.as<float>();
        const std::size_t width = rows.shape()[1];
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum.data()[i] += type.as<float>().data()[i % width];
        }
        return Tensor(rows.axes(), std::move(sum));
    };
}

}  // namespace

std::string name_in(Family family, std::string_view ours) {
    Names names = names_of(family);
    names.inside.push_back(names.outside);
    for (const std::span<const Name> part : names.inside) {
        for (const Name& name : part) {
            if (name.ours == ours) return name.theirs;
        }
    }
    return {};
}

void add_tensors(Model& model, Family family, const std::vector<StoredArray>& all) {
    const Architecture& a = model.architecture;
    Arrays arrays;
    for (const StoredArray& each : all) arrays[each.name] = &each;
    const auto add = [&](const Name& name, const std::string& ours, const std::string& theirs) {
        const Shape shape = a.shape_of(name.ours);
        std::optional<StoredArray> found;
        if (const StoredArray* const array = find_array(arrays, theirs)) found = *array;
        if (name.lies.experts) {
            found =
                stored_experts(find_array(arrays, theirs), find_array(arrays, theirs + "_blocks"),
                               find_array(arrays, theirs + "_scales"));
        }
        if (!found) {
            if (!name.required) return;
            throw InputError(model.label + ": lacks " + theirs + " (" + a.family +
                             "), which makes " + name.ours + " " + shape_text(shape) +
                             ": give all files of the model");
        }
        Model::Read read = [array = *found, columns = name.lies.columns,
                            rows = picked(name.lies, a)] {
            return taken_from(array.read().tensor, columns, rows);
        };
        if (name.plus != nullptr) read = with_first_row(*found, find_array(arrays, name.plus));
        const bool as_it_is =
            name.lies.part == Part::all && !name.lies.columns && name.plus == nullptr;
        Model::ReadRows read_rows;
        if (as_it_is && found->read_rows && found->shape == shape) {
            read_rows = [array = *found](const std::vector<std::size_t>& rows) {
                return array.read_rows(rows).tensor;
            };
        }
        model.add(ours, shape, std::move(read), std::move(read_rows));
    };
    const Names names = names_of(family);
    for (const Name& name : names.outside) add(name, name.ours, name.theirs);
    for (std::size_t n = 0; n < a.layers.size(); ++n) {
        const std::string before = names.layer + std::to_string(n) + ".";
        for (const std::span<const Name> part : names.inside) {
            for (const Name& name : part) add(name, in_layer(n, name.ours), before + name.theirs);
        }
    }
}

}  // namespace attn::models
