#include <algorithm>
#include <array>

#include "attn/cards/step_table.hpp"
#include "attn/diagnose/readings.hpp"

// What other code calls the steps and the parameters.

namespace attn {
namespace {

/// What people call the steps, where a name may stand for several: the first that fits is meant.
/// Names of one step alone may stand on its card.
struct Names {
    std::vector<std::string> steps;
    std::string names;  ///< in small letters, parted by blanks
};

const std::vector<Names>& known_names() {
    static const std::vector<Names> all{
        {{"x"}, "input inputs inp embeddings embedded hidden_states hidden_state src tokens_x"},
        {{"memory"},
         "enc encoder encoder_out encoder_output encoder_outputs enc_out enc_output "
         "encoder_hidden_states source"},
        // Many programs give the rotated ones the name of those before.
        {{"query", "rotated_query", "normed_query", "x"},
         "query q queries querys qs qh q_heads query_heads query_layer q_split xq qq query_states"},
        {{"key", "rotated_key", "normed_key", "repeated_key", "present_key", "x"},
         "key k keys ks kh k_heads key_heads key_layer k_split xk kk key_states"},
        {{"value", "repeated_value", "present_value", "x"},
         "value v values vs vh v_heads value_heads value_layer v_split xv vv vals value_states"},
        {{"rotated_query"},
         "q_rot q_rotated rotated_q q_rope q_roped q_embed query_rot query_rope query_embed xq_out "
         "q_out roped_q rope_q"},
        {{"rotated_key", "repeated_key"},
         "k_rot k_rotated rotated_k k_rope k_roped k_embed key_rot key_rope key_embed xk_out k_out "
         "roped_k rope_k"},
        {{"normed_query"}, "q_norm q_normed normed_q query_norm query_normed norm_q qn"},
        {{"normed_key"}, "k_norm k_normed normed_k key_norm key_normed norm_k kn"},
        {{"repeated_key"}, "k_rep k_repeated repeated_k key_repeated k_expanded keys_repeated"},
        {{"repeated_value"},
         "v_rep v_repeated repeated_v value_repeated v_expanded values_repeated"},
        {{"present_key"}, "k_cache key_cache cache_k present_k k_all keys_all k_full"},
        {{"present_value"}, "v_cache value_cache cache_v present_v v_all values_all v_full"},
        {{"past_key"}, "past_k k_past past_keys past_key_states"},
        {{"past_value"}, "past_v v_past past_values past_value_states"},
        {{"positions"}, "position_ids pos_ids pos position input_pos"},
        {{"inverse_frequencies"}, "inv_freq inv_freqs inverse_freq inverse_frequency freqs thetas"},
        {{"angles", "inverse_frequencies"}, "freqs angle freq m_theta pos_freqs rope_angles"},
        {{"cos"}, "cosine cosines freqs_cos cos_cached rope_cos"},
        {{"sin"}, "sine sines freqs_sin sin_cached rope_sin"},
        {{"slopes"}, "slope alibi_slopes head_slopes m"},
        {{"buckets"}, "bucket rel_buckets relative_buckets relative_position_bucket rp_bucket"},
        {{"position_bias"},
         "alibi alibi_bias rel_bias relative_bias relative_position_bias rel_pos_bias pos_bias "
         "position_biases bias attn_bias"},
        {{"capped_scores"},
         "capped softcapped soft_capped scores_capped capped_logits capped_attn_scores"},
        {{"biased_scores", "masked_scores"},
         "biased scores_biased scores_with_bias biased_logits combined_logits"},
        {{"x", "context", "merged", "output"}, "x"},
        {{"projected_query", "query"}, "q_proj projected_queries q_lin query_projected"},
        {{"projected_key", "key"}, "k_proj projected_keys k_lin key_projected"},
        {{"projected_value", "value"}, "v_proj projected_values v_lin value_projected"},
        {{"scores", "scaled_scores", "capped_scores", "biased_scores", "masked_scores", "weights"},
         "s score scores attn_scores attention_scores raw_scores attn_score attention_score qk qkt "
         "qk_t q_k dots dot dot_products dot_product products sim sims similarity similarities "
         "energy energies logits attn_logits attention_logits e raw scores_raw unscaled"},
        {{"scaled_scores", "capped_scores", "biased_scores", "masked_scores", "scores"},
         "scaled scores_scaled scaled_logits scaled_attn_scores scaled_attention_scores "
         "scaled_dots scaled_energy scaled_attention_logits scaled_dot_product scaled_qk s_scaled"},
        {{"masked_scores", "scaled_scores"},
         "masked scores_masked masked_logits masked_attn_scores masked_attention_scores "
         "masked_energy masked_dots masked_scaled scaled_masked s_masked masked_wei padded_logits"},
        {{"mask"},
         "masks attn_mask attention_mask causal_mask causal tril triu tri key_padding_mask "
         "pad_mask padding_mask src_mask tgt_mask src_key_padding_mask keep keep_mask hidden hide "
         "allow allowed visible valid additive_mask attn_bias mask_2d"},
        {{"row_max"}, "m m_i max maxes row_maxes row_maxima rowmax"},
        {{"exponentials"}, "exp exps exp_scores e_x numerator numerators exponential"},
        {{"row_sum"}, "denominator denom row_sums normalizer rowsum l l_i"},
        {{"weights", "masked_scores", "scaled_scores", "scores", "merged", "context", "output"},
         "a att attn attention attentions"},
        {{"weights", "masked_scores", "scaled_scores", "scores"},
         "a w p att attn attention attentions attn_weights attention_weights attn_weight weight "
         "probs prob probabilities attn_probs attn_prob attention_probs attention_probabilities "
         "p_attn wei alpha alphas softmax softmaxed scores_softmax attn_matrix attention_matrix "
         "attn_map attention_map attention_scores_softmax attn_scores_softmax omega score_weights "
         "attn_output_weights att_weights pattern"},
        {{"context", "merged", "output"},
         "ctx context_layer context_vector context_vectors context_vec contexts attended "
         "attention_value head_out head_output head_outputs heads_out out_heads o_heads "
         "attn_context weighted_values weighted_sum weighted z zs values_out heads head acc"},
        {{"merged", "context"},
         "concat concatenated concat_heads cat joined heads_concat combined multi_head "
         "merged_heads z_concat ctx_merged context_merged encoded"},
    };
    return all;
}

/// What attention returns in the end.
constexpr const char* names_of_the_result =
    "output outputs out y o attn_out attn_output result res final mha_out mha_output "
    "attention_output ret final_output final_out proj_out projected y_hat outs z_out outp "
    "out_proj o_proj c_proj wo_out proj attn_proj dense to_out";

/// `self.attn.Q` becomes `q`, `my_scores` `scores`.
std::string plain_name(std::string name) {
    // A module's weight is a parameter, whatever the module is called.
    if (name.ends_with(".weight") || name.ends_with(".bias")) return name;
    const std::size_t dot = name.find_last_of("./:");
    if (dot != std::string::npos && dot + 1 < name.size()) name = name.substr(dot + 1);
    for (char& letter : name) {
        if (letter == '-' || letter == ' ') letter = '_';
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    while (!name.empty() && name.front() == '_') name.erase(0, 1);
    while (!name.empty() && name.back() == '_') name.pop_back();
    for (const std::string prefix : {"my_", "the_", "hook_"}) {
        if (name.starts_with(prefix)) name = name.substr(prefix.size());
    }
    for (const std::string suffix : {"_np", "_mine", "_new", "_cur", "_t", "_tensor"}) {
        if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    }
    return name;
}

bool is_among(const std::string& name, const std::string& names) {
    return !name.empty() && (" " + names + " ").find(" " + name + " ") != std::string::npos;
}

/// What people call the projections, and the matrices and biases of these.
const std::vector<Names>& projection_names() {
    static const std::vector<Names> all{
        {{"query"}, "query q queries query_proj proj_q query_layer query_linear"},
        {{"key"}, "key k keys key_proj proj_k key_layer key_linear"},
        {{"value"}, "value v values value_proj proj_v value_layer value_linear"},
        {{"qkv"}, "qkv c_attn in_proj kqv attn_qkv wqkv query_key_value"},
        {{"query_latent"}, "q_a wq_a q_a_proj"},
        {{"latent"}, "kv_a wkv_a kv_a_proj_with_mqa"},
        {{"key_value"}, "kv_b wkv_b"},
        {{"output"}, "output o out c_proj proj dense fc fc_out final output_proj proj_o proj_out"},
    };
    return all;
}

/// The parameter that a name with a word of its kind stands for: `self.q_proj.weight`, `W_q`, `Wq`,
/// `bq`, `in_proj_bias` and `c_attn.weight`; empty where it names none.
std::string parameter_called(std::string name) {
    for (char& letter : name) {
        if (letter == '-' || letter == ' ' || letter == '/') letter = letter == '/' ? '.' : '_';
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    std::string kind;
    const auto takes_off = [&](const std::string& word, const char* of_kind, bool in_front) {
        if (!kind.empty() || name.size() <= word.size()) return;
        if (in_front ? !name.starts_with(word) : !name.ends_with(word)) return;
        name.erase(in_front ? 0 : name.size() - word.size(), word.size());
        kind = of_kind;
    };
    for (const char* word : {".weight", "_weight", ".kernel", "_kernel", ".w", "_w"}) {
        takes_off(word, "w_", false);
    }
    for (const char* word : {".bias", "_bias", ".b", "_b"}) takes_off(word, "b_", false);
    name = name.substr(name.find_last_of('.') + 1);
    for (const char* word : {"weight_", "w_", "w"}) takes_off(word, "w_", true);
    for (const char* word : {"bias_", "b_", "b"}) takes_off(word, "b_", true);
    if (kind.empty()) return "";
    for (const std::string word : {"to_", "w_", "linear_", "lin_", "w"}) {
        if (name.size() > word.size() && name.starts_with(word)) name.erase(0, word.size());
    }
    for (const std::string word : {"_proj", "_linear", "_lin", "_layer"}) {
        const bool fused = name == "in_proj" || name == "c_proj";
        if (!fused && name.size() > word.size() && name.ends_with(word)) {
            name.resize(name.size() - word.size());
        }
    }
    for (const Names& known : projection_names()) {
        if (is_among(name, known.names)) return kind + known.steps.front();
    }
    return "";
}

}  // namespace

/// `attn_scores_scaled`: scores, and what was done to them last.
std::vector<std::string> treated_scores(std::string name) {
    static const std::array<std::pair<std::string, const char*>, 7> treatments{
        {{"masked", "masked_scores"},
         {"mask", "masked_scores"},
         {"scaled", "scaled_scores"},
         {"capped", "capped_scores"},
         {"softcapped", "capped_scores"},
         {"biased", "biased_scores"},
         {"raw", "scores"}}};
    for (const auto& [word, step] : treatments) {
        for (const std::string& part : {"_" + word, word + "_"}) {
            const std::size_t at = name.find(part);
            if (at == name.npos) continue;
            name.erase(at, part.size());
            const std::vector<std::string> rest = known_steps(name);
            const bool are_scores =
                !rest.empty() && (rest.front() == "scores" || rest.front() == "weights");
            if (are_scores) return {step};
        }
    }
    return {};
}

std::vector<std::string> known_steps(const std::string& name) {
    std::vector<std::string> steps;
    const auto add = [&](const std::string& step) {
        if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
    };
    const std::string plain = plain_name(name);
    for (const Step& step : step_table()) {
        if (step.name == name || step.name == plain) add(step.name);
    }
    if (const std::string parameter = parameter_called(name); !parameter.empty()) add(parameter);
    if (is_among(plain, names_of_the_result)) {
        for (const char* step : {"output", "merged", "context"}) add(step);
    }
    for (const Names& known : known_names()) {
        if (!is_among(plain, known.names)) continue;
        for (const std::string& step : known.steps) add(step);
    }
    for (const Step& step : step_table()) {
        if (is_among(plain, step.called)) add(step.name);
    }
    return steps.empty() ? treated_scores(plain) : steps;
}

bool names_a_result(const std::string& name) {
    const std::vector<std::string> steps = known_steps(name);
    return !steps.empty() && steps.front() == "output";
}

std::vector<std::string> steps_called(const std::string& name, const Plan& plan) {
    std::vector<std::string> steps = known_steps(name);
    std::erase_if(steps, [&](const std::string& step) {
        return !find_step(step_table(), step).applies(plan);
    });
    return steps;
}

}  // namespace attn
