#include <algorithm>
#include <map>
#include <utility>

#include "attn/models/hugging_face.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

/// How a parameter lies in a tensor of theirs.
enum class Lies {
    whole,       ///< as it is
    transposed,  ///< (in, out)
    query,
    key,
    value,  ///< rows of one tensor [query | key | value]
    query_columns,
    key_columns,
    value_columns,  ///< the same, columns of (in, out)
    query_of_heads,
    key_of_heads,
    value_of_heads,  ///< rows that go head by head [q | k | v]
    gate,
    up,    ///< halves of the rows
    each,  ///< (expert, in, out), or in blocks of 32 numbers of 4 bits with a scale
};

/// Our name of a parameter, theirs behind the layer's number, and how it lies there.
struct Name {
    const char* ours;
    const char* theirs;
    Lies lies = Lies::whole;
    bool required = true;
};

/// The names of one family. Those without a layer stand by themselves.
struct Names {
    const char* layer;  ///< in front of the layer's number
    std::vector<Name> outside;
    std::vector<Name> inside;
};

constexpr bool optional = false;

std::vector<Name> attention_names(std::vector<Name> more) {
    std::vector<Name> names{
        {"w_query", "self_attn.q_proj.weight"},
        {"b_query", "self_attn.q_proj.bias", Lies::whole, optional},
        {"w_key", "self_attn.k_proj.weight"},
        {"b_key", "self_attn.k_proj.bias", Lies::whole, optional},
        {"w_value", "self_attn.v_proj.weight"},
        {"b_value", "self_attn.v_proj.bias", Lies::whole, optional},
    };
    names.insert(names.end(), more.begin(), more.end());
    return names;
}

const std::vector<Name> gated_mlp{{"w_gate", "mlp.gate_proj.weight"},
                                  {"w_up", "mlp.up_proj.weight"},
                                  {"w_down", "mlp.down_proj.weight"}};
const std::vector<Name> output_projection{
    {"w_output", "self_attn.o_proj.weight"},
    {"b_output", "self_attn.o_proj.bias", Lies::whole, optional}};
const std::vector<Name> llama_norms{{"g_attention", "input_layernorm.weight"},
                                    {"g_mlp", "post_attention_layernorm.weight"}};
const std::vector<Name> qk_norms{{"g_query", "self_attn.q_norm.weight"},
                                 {"g_key", "self_attn.k_norm.weight"}};
const std::vector<Name> four_norms{{"g_attention", "input_layernorm.weight"},
                                   {"g_attention_output", "post_attention_layernorm.weight"},
                                   {"g_mlp", "pre_feedforward_layernorm.weight"},
                                   {"g_mlp_output", "post_feedforward_layernorm.weight"}};

const std::vector<Name> experts{{"w_router", "mlp.router.weight"},
                                {"b_router", "mlp.router.bias"},
                                {"w_experts_up", "mlp.experts.gate_up_proj", Lies::each},
                                {"b_experts_up", "mlp.experts.gate_up_proj_bias"},
                                {"w_experts_down", "mlp.experts.down_proj", Lies::each},
                                {"b_experts_down", "mlp.experts.down_proj_bias"}};

std::vector<Name> together(std::initializer_list<std::vector<Name>> parts) {
    std::vector<Name> all;
    for (const std::vector<Name>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

const std::vector<Name> llama_outside{{"embedding", "embed_tokens.weight"},
                                      {"g_final", "norm.weight"},
                                      {"w_vocab", "lm_head.weight", Lies::whole, optional}};

Names gpt2_names() {
    return {"h.",
            {{"embedding", "wte.weight"},
             {"position_embedding", "wpe.weight"},
             {"g_final", "ln_f.weight"},
             {"b_final", "ln_f.bias"},
             {"w_vocab", "lm_head.weight", Lies::whole, optional}},
            {{"g_attention", "ln_1.weight"},
             {"b_attention", "ln_1.bias"},
             {"w_query", "attn.c_attn.weight", Lies::query_columns},
             {"b_query", "attn.c_attn.bias", Lies::query},
             {"w_key", "attn.c_attn.weight", Lies::key_columns},
             {"b_key", "attn.c_attn.bias", Lies::key},
             {"w_value", "attn.c_attn.weight", Lies::value_columns},
             {"b_value", "attn.c_attn.bias", Lies::value},
             {"w_output", "attn.c_proj.weight", Lies::transposed},
             {"b_output", "attn.c_proj.bias"},
             {"g_mlp", "ln_2.weight"},
             {"b_mlp", "ln_2.bias"},
             {"w_up", "mlp.c_fc.weight", Lies::transposed},
             {"b_up", "mlp.c_fc.bias"},
             {"w_down", "mlp.c_proj.weight", Lies::transposed},
             {"b_down", "mlp.c_proj.bias"}}};
}

Names bert_names() {
    return {"encoder.layer.",
            {{"embedding", "embeddings.word_embeddings.weight"},
             {"position_embedding", "embeddings.position_embeddings.weight"},
             {"g_embedding", "embeddings.LayerNorm.weight"},
             {"b_embedding", "embeddings.LayerNorm.bias"}},
            {{"w_query", "attention.self.query.weight"},
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
             {"b_mlp_output", "output.LayerNorm.bias"}}};
}

Names neox_names() {
    const char* qkv = "attention.query_key_value.weight";
    const char* bias = "attention.query_key_value.bias";
    return {"layers.",
            {{"embedding", "embed_in.weight"},
             {"g_final", "final_layer_norm.weight"},
             {"b_final", "final_layer_norm.bias"},
             {"w_vocab", "embed_out.weight", Lies::whole, optional}},
            {{"g_attention", "input_layernorm.weight"},
             {"b_attention", "input_layernorm.bias"},
             {"w_query", qkv, Lies::query_of_heads},
             {"b_query", bias, Lies::query_of_heads, optional},
             {"w_key", qkv, Lies::key_of_heads},
             {"b_key", bias, Lies::key_of_heads, optional},
             {"w_value", qkv, Lies::value_of_heads},
             {"b_value", bias, Lies::value_of_heads, optional},
             {"w_output", "attention.dense.weight"},
             {"b_output", "attention.dense.bias", Lies::whole, optional},
             {"g_mlp", "post_attention_layernorm.weight"},
             {"b_mlp", "post_attention_layernorm.bias"},
             {"w_up", "mlp.dense_h_to_4h.weight"},
             {"b_up", "mlp.dense_h_to_4h.bias"},
             {"w_down", "mlp.dense_4h_to_h.weight"},
             {"b_down", "mlp.dense_4h_to_h.bias"}}};
}

Names phi_names() {
    return {"layers.",
            {{"embedding", "embed_tokens.weight"},
             {"g_final", "final_layernorm.weight"},
             {"b_final", "final_layernorm.bias"},
             {"w_vocab", "lm_head.weight", Lies::whole, optional},
             {"b_vocab", "lm_head.bias", Lies::whole, optional}},
            attention_names({{"w_output", "self_attn.dense.weight"},
                             {"b_output", "self_attn.dense.bias"},
                             {"g_attention", "input_layernorm.weight"},
                             {"b_attention", "input_layernorm.bias"},
                             {"g_mlp", "input_layernorm.weight"},
                             {"b_mlp", "input_layernorm.bias"},
                             {"w_up", "mlp.fc1.weight"},
                             {"b_up", "mlp.fc1.bias"},
                             {"w_down", "mlp.fc2.weight"},
                             {"b_down", "mlp.fc2.bias"}})};
}

Names phi3_names() {
    return {"layers.", llama_outside,
            together({{{"w_query", "self_attn.qkv_proj.weight", Lies::query},
                       {"w_key", "self_attn.qkv_proj.weight", Lies::key},
                       {"w_value", "self_attn.qkv_proj.weight", Lies::value},
                       {"w_gate", "mlp.gate_up_proj.weight", Lies::gate},
                       {"w_up", "mlp.gate_up_proj.weight", Lies::up},
                       {"w_down", "mlp.down_proj.weight"}},
                      output_projection,
                      llama_norms})};
}

Names names_of(Family family) {
    const std::vector<Name> post_norms{four_norms[1], four_norms[3]};
    switch (family) {
        case Family::llama:
        case Family::qwen2:
            return {"layers.", llama_outside,
                    attention_names(together({output_projection, llama_norms, gated_mlp}))};
        case Family::qwen3:
            return {
                "layers.", llama_outside,
                attention_names(together({output_projection, llama_norms, qk_norms, gated_mlp}))};
        case Family::gemma2:
            return {"layers.", llama_outside,
                    attention_names(together({output_projection, four_norms, gated_mlp}))};
        case Family::gemma3:
            return {
                "layers.", llama_outside,
                attention_names(together({output_projection, four_norms, qk_norms, gated_mlp}))};
        case Family::olmo2:
            return {
                "layers.", llama_outside,
                attention_names(together({output_projection, post_norms, qk_norms, gated_mlp}))};
        case Family::gpt_oss:
            return {"layers.", llama_outside,
                    attention_names(together(
                        {output_projection, llama_norms, experts, {{"sink", "self_attn.sinks"}}}))};
        case Family::phi:
            return phi_names();
        case Family::phi3:
            return phi3_names();
        case Family::neox:
            return neox_names();
        case Family::gpt2:
            return gpt2_names();
        case Family::bert:
            break;
    }
    return bert_names();
}

/// The rows (or columns) of their tensor that are ours; empty where all are.
std::vector<std::size_t> picked(Lies lies, const Architecture& a) {
    const std::size_t d = a.head_dim;
    const std::size_t queries = a.heads * d;
    const std::size_t keys = a.kv_heads * d;
    std::vector<std::size_t> rows;
    const auto range = [&rows](std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) rows.push_back(first + i);
    };
    const auto of_heads = [&](std::size_t part) {
        for (std::size_t head = 0; head < a.heads; ++head) range((3 * head + part) * d, d);
    };
    switch (lies) {
        case Lies::whole:
        case Lies::transposed:
        case Lies::each:
            break;
        case Lies::query:
        case Lies::query_columns:
            range(0, queries);
            break;
        case Lies::key:
        case Lies::key_columns:
            range(queries, keys);
            break;
        case Lies::value:
        case Lies::value_columns:
            range(queries + keys, keys);
            break;
        case Lies::query_of_heads:
            of_heads(0);
            break;
        case Lies::key_of_heads:
            of_heads(1);
            break;
        case Lies::value_of_heads:
            of_heads(2);
            break;
        case Lies::gate:
            range(0, a.mlp_dim);
            break;
        case Lies::up:
            range(a.mlp_dim, a.mlp_dim);
            break;
    }
    return rows;
}

/// Their tensor as ours, or as it is where it has another shape, which reading it then refuses.
Tensor taken_from(const Tensor& theirs, Lies lies, const Architecture& a) {
    Tensor tensor = theirs;
    const bool columns = lies == Lies::transposed || lies == Lies::query_columns ||
                         lies == Lies::key_columns || lies == Lies::value_columns;
    if (columns && tensor.dimension() == 2) {
        const Shape shape = tensor.shape();
        tensor = strided(tensor, {shape[1], shape[0]}, {1, shape[1]});
    }
    const std::vector<std::size_t> rows = picked(lies, a);
    if (rows.empty() || tensor.dimension() == 0 ||
        *std::max_element(rows.begin(), rows.end()) >= tensor.shape()[0] || !tensor.is_floating()) {
        return tensor;
    }
    return rows_of(tensor, rows);
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

/// BERT adds the row of token type 0 to the row of every position.
Model::Read with_token_type(const StoredArray& positions, const StoredArray* types) {
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

void add_tensors(Model& model, Family family, const std::vector<StoredArray>& all) {
    const Architecture& a = model.architecture;
    Arrays arrays;
    for (const StoredArray& each : all) arrays[each.name] = &each;
    const auto add = [&](const Name& name, const std::string& ours, const std::string& theirs) {
        const Shape shape = a.shape_of(name.ours);
        std::optional<StoredArray> found;
        if (const StoredArray* const array = find_array(arrays, theirs)) found = *array;
        if (name.lies == Lies::each) {
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
        const bool sums = family == Family::bert && ours == "position_embedding";
        const bool whole = (name.lies == Lies::whole && !sums) || name.lies == Lies::each;
        Model::Read read = [array = *found, lies = name.lies, a] {
            return taken_from(array.read().tensor, lies, a);
        };
        if (sums) {
            read = with_token_type(*found,
                                   find_array(arrays, "embeddings.token_type_embeddings.weight"));
        }
        Model::ReadRows read_rows;
        if (whole && found->read_rows && found->shape == shape) {
            read_rows = [array = *found](const std::vector<std::size_t>& rows) {
                return array.read_rows(rows).tensor;
            };
        }
        model.add(ours, shape, std::move(read), std::move(read_rows));
    };
    const Names names = names_of(family);
    for (const Name& name : names.outside) add(name, name.ours, name.theirs);
    for (std::size_t n = 0; n < a.layers.size(); ++n) {
        for (const Name& name : names.inside) {
            add(name, in_layer(n, name.ours), names.layer + std::to_string(n) + "." + name.theirs);
        }
    }
}

}  // namespace attn::models
