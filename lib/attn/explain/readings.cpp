#include "attn/explain/readings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "attn/cards/step_table.hpp"

namespace attn {
namespace {

/// What people call the steps. A name may stand for several; the first that fits is meant.
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
        {{"query", "x"}, "query q queries qs qh q_heads query_heads query_layer q_split xq qq"},
        {{"key", "x"}, "key k keys ks kh k_heads key_heads key_layer k_split xk kk"},
        {{"value", "x"}, "value v values vs vh v_heads value_heads value_layer v_split xv vv vals"},
        {{"projected_query", "query"}, "q_proj projected_queries q_lin query_projected"},
        {{"projected_key", "key"}, "k_proj projected_keys k_lin key_projected"},
        {{"projected_value", "value"}, "v_proj projected_values v_lin value_projected"},
        {{"scores", "scaled_scores", "masked_scores"},
         "s score scores attn_scores attention_scores raw_scores attn_score attention_score qk qkt "
         "qk_t q_k dots dot dot_products dot_product products sim sims similarity similarities "
         "energy energies logits attn_logits attention_logits e raw scores_raw unscaled"},
        {{"scaled_scores", "masked_scores", "scores"},
         "scaled scores_scaled scaled_logits scaled_attn_scores scaled_attention_scores "
         "scaled_dots scaled_energy scaled_attention_logits scaled_dot_product scaled_qk s_scaled"},
        {{"masked_scores", "scaled_scores"},
         "masked scores_masked masked_logits masked_attn_scores masked_attention_scores "
         "masked_energy masked_dots masked_scaled scaled_masked s_masked masked_wei"},
        {{"mask"},
         "masks attn_mask attention_mask causal_mask causal tril triu tri key_padding_mask "
         "pad_mask padding_mask src_mask tgt_mask src_key_padding_mask keep keep_mask hidden hide "
         "allow allowed visible valid additive_mask attn_bias mask_2d"},
        {{"row_max"}, "m max maxes row_maxes row_maxima rowmax"},
        {{"exponentials"}, "exp exps exp_scores e_x numerator numerators exponential"},
        {{"row_sum"}, "denominator denom row_sums normalizer rowsum l"},
        {{"weights", "masked_scores", "scaled_scores", "scores", "merged", "context", "output"},
         "att attn attention attentions"},
        {{"weights", "masked_scores", "scaled_scores", "scores"},
         "a w p att attn attention attentions attn_weights attention_weights attn_weight weight "
         "probs prob probabilities attn_probs attn_prob attention_probs attention_probabilities "
         "p_attn wei alpha alphas softmax softmaxed scores_softmax attn_matrix attention_matrix "
         "attn_map attention_map attention_scores_softmax omega score_weights"},
        {{"context", "merged", "output"},
         "ctx context_layer context_vector context_vectors context_vec contexts attended "
         "attention_value head_out head_output head_outputs heads_out out_heads o_heads "
         "attn_context weighted_values weighted_sum weighted z zs values_out heads head"},
        {{"merged", "context"},
         "concat concatenated concat_heads cat joined heads_concat combined multi_head "
         "merged_heads z_concat ctx_merged context_merged"},
    };
    return all;
}

const std::set<std::string>& names_of_the_result() {
    static const std::set<std::string> all{"output",
                                           "outputs",
                                           "out",
                                           "y",
                                           "o",
                                           "attn_out",
                                           "attn_output",
                                           "result",
                                           "res",
                                           "final",
                                           "mha_out",
                                           "mha_output",
                                           "attention_output",
                                           "ret",
                                           "final_output",
                                           "final_out",
                                           "proj_out",
                                           "projected",
                                           "y_hat",
                                           "outs",
                                           "z_out",
                                           "outp"};
    return all;
}

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
    for (const std::string prefix : {"my_", "the_"}) {
        if (name.starts_with(prefix)) name = name.substr(prefix.size());
    }
    for (const std::string suffix : {"_np", "_mine"}) {
        if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    }
    return name;
}

bool is_among(const std::string& name, const std::string& names) {
    return (" " + names + " ").find(" " + name + " ") != std::string::npos;
}

/// A flat copy of `theirs` in another order of axes: `order[i]` is the place in `from` of axis i of
/// the result.
std::vector<std::size_t> places(const Shape& from, const std::vector<std::size_t>& order) {
    std::vector<std::size_t> stride(from.size(), 1);
    for (std::size_t i = from.size(); i-- > 1;) stride[i - 1] = stride[i] * from[i];
    std::vector<std::size_t> result(element_count(from));
    std::vector<std::size_t> index(from.size(), 0);
    for (std::size_t& place : result) {
        place = 0;
        for (std::size_t i = 0; i < order.size(); ++i) place += index[i] * stride[order[i]];
        for (std::size_t i = order.size(); i-- > 0;) {
            if (++index[i] < from[order[i]]) break;
            index[i] = 0;
        }
    }
    return result;
}

template <class T>
Tensor with_type(const Tensor& theirs, const Axes& axes, const Shape& shape,
                 const std::vector<std::size_t>* order) {
    Array<T> cells = empty_array<T>(shape);
    std::visit(
        [&](const auto& array) {
            for (std::size_t i = 0; i < cells.size(); ++i) {
                cells.data()[i] = static_cast<T>(array.data()[order == nullptr ? i : (*order)[i]]);
            }
        },
        theirs.values());
    return {axes, std::move(cells)};
}

Tensor laid_out(const Tensor& theirs, const Axes& axes, const Shape& shape, DType dtype,
                const std::vector<std::size_t>* order = nullptr) {
    switch (dtype) {
        case DType::float64:
            return with_type<double>(theirs, axes, shape, order);
        case DType::int64:
            return with_type<std::int64_t>(theirs, axes, shape, order);
        case DType::boolean:
            return with_type<bool>(theirs, axes, shape, order);
        case DType::float32:
            break;
    }
    return with_type<float>(theirs, axes, shape, order);
}

bool is_position(const std::string& axis) {
    return axis == "query" || axis == "key" || axis == "token";
}

/// Whether neighbouring axes are ever saved as one: samples with heads or tokens, heads with
/// features.
bool may_join(const Axes& group) {
    const auto positions = std::count_if(group.begin(), group.end(), is_position);
    const bool feature = std::find(group.begin(), group.end(), "feature") != group.end();
    return positions + (feature ? 1 : 0) <= 1;
}

/// How the axes `order` (numbers into `shape`) are joined to give `lengths`, as words; empty where
/// they cannot be.
std::string joined_axes(const std::vector<std::size_t>& order, const Axes& axes, const Shape& shape,
                        const Shape& lengths) {
    std::string words;
    std::size_t next = 0;
    for (const std::size_t length : lengths) {
        if (length == 1) {
            words += words.empty() ? "1" : ", 1";
            continue;
        }
        Axes group;
        std::size_t product = 1;
        while (product < length && next < order.size()) {
            product *= shape[order[next]];
            group.push_back(axes[order[next++]]);
        }
        if (product != length || !may_join(group)) return "";
        if (!words.empty()) words += ", ";
        for (std::size_t i = 0; i < group.size(); ++i) words += (i == 0 ? "" : " * ") + group[i];
    }
    return next == order.size() ? "(" + words + ")" : "";
}

bool exchanges_queries_and_keys(const std::vector<std::size_t>& order, const Axes& axes) {
    const auto place = [&](const char* axis) {
        return std::find_if(order.begin(), order.end(),
                            [&](std::size_t i) { return axes[i] == axis; }) -
               order.begin();
    };
    const auto end = static_cast<std::ptrdiff_t>(order.size());
    return place("query") < end && place("key") < end && place("key") < place("query");
}

}  // namespace

std::vector<std::string> known_steps(const std::string& name) {
    std::vector<std::string> steps;
    const auto add = [&](const std::string& step) {
        if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
    };
    const std::string plain = plain_name(name);
    for (const Step& step : step_table()) {
        if (step.name == name || step.name == plain) add(step.name);
    }
    if (names_of_the_result().contains(plain)) {
        for (const char* step : {"output", "merged", "context"}) add(step);
    }
    for (const Names& known : known_names()) {
        if (!is_among(plain, known.names)) continue;
        for (const std::string& step : known.steps) add(step);
    }
    return steps;
}

std::vector<std::string> steps_called(const std::string& name, const Plan& plan) {
    std::vector<std::string> steps = known_steps(name);
    std::erase_if(steps, [&](const std::string& step) {
        return !find_step(step_table(), step).applies(plan);
    });
    return steps;
}

std::vector<Reading> readings(const Tensor& theirs, const Axes& axes, const Shape& shape,
                              DType dtype) {
    std::vector<Reading> result;
    const Shape lengths = theirs.shape();
    if (lengths == shape) result.push_back({laid_out(theirs, axes, shape, dtype), ""});
    if (theirs.size() != element_count(shape) || theirs.size() == 0) return result;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] != 1) order.push_back(i);
    }
    const std::vector<std::size_t> ours = order;
    do {
        if (order == ours && lengths == shape) continue;
        if (exchanges_queries_and_keys(order, axes)) continue;
        const std::string layout = joined_axes(order, axes, shape, lengths);
        if (layout.empty()) continue;
        if (order == ours) {
            result.push_back({laid_out(theirs, axes, shape, dtype), layout});
            continue;
        }
        // Their memory holds our axes in this order; ours are found in it by their numbers.
        Shape from;
        for (const std::size_t axis : order) from.push_back(shape[axis]);
        std::vector<std::size_t> back(order.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            back[i] = static_cast<std::size_t>(std::find(order.begin(), order.end(), ours[i]) -
                                               order.begin());
        }
        const std::vector<std::size_t> cells = places(from, back);
        result.push_back({laid_out(theirs, axes, shape, dtype, &cells), layout});
    } while (std::next_permutation(order.begin(), order.end()));
    return result;
}

namespace {

/// What the two values of a mask are: the one that is nearer to hidden in code that adds it, or the
/// larger one of 0 and 1.
struct MaskValues {
    bool added = false;
    double first = 0;   ///< of the two: 0, or the visible one of an added mask
    double second = 0;  ///< 1, or the hidden one of an added mask
};

std::optional<MaskValues> values_of(const Tensor& theirs) {
    std::set<double> values;
    for (std::size_t i = 0; i < theirs.size() && values.size() < 3; ++i) {
        if (std::isnan(theirs.at(i))) return std::nullopt;
        values.insert(theirs.at(i));
    }
    if (values.empty() || values.size() > 2) return std::nullopt;
    const double low = *values.begin();
    const double high = *values.rbegin();
    if (low >= 0 && high <= 1) {
        if ((low != 0 && low != 1) || (high != 0 && high != 1)) return std::nullopt;
        return MaskValues{false, 0, 1};
    }
    // Numbers to add: what stays is 0 (or 1), what goes is far below, or above by mistake.
    if (high == 0 || (high == 1 && low < 0)) return MaskValues{true, high, low};
    if (low == 0) return MaskValues{true, 0, high};
    return std::nullopt;
}

/// The four axes that a mask of that shape may have, in the order in which they are tried.
std::vector<std::pair<Shape, std::string>> mask_shapes(const Shape& theirs, const Shape& full) {
    std::vector<std::pair<Shape, std::string>> result;
    const auto add = [&](Shape shape, const std::string& words) {
        for (std::size_t i = 0; i < 4; ++i) {
            if (shape[i] != 1 && shape[i] != full[i]) return;
        }
        for (const auto& [known, unused] : result) {
            if (known == shape) return;
        }
        result.emplace_back(std::move(shape), words);
    };
    if (theirs.empty() || theirs.size() > 4) return result;
    Shape right = theirs;
    right.insert(right.begin(), 4 - right.size(), 1);
    if (theirs.size() == 3) add({theirs[0], 1, theirs[1], theirs[2]}, "(batch, query, key)");
    if (theirs.size() == 2) add({theirs[0], 1, 1, theirs[1]}, "(batch, key)");
    add(right, "");
    if (theirs.size() == 3 && theirs[0] == full[0] * full[1]) {
        add({full[0], full[1], theirs[1], theirs[2]}, "(batch * head, query, key)");
    }
    return result;
}

}  // namespace

std::vector<MaskReading> mask_readings(const Tensor& theirs, const Plan& plan) {
    std::vector<MaskReading> result;
    const std::optional<MaskValues> values = values_of(theirs);
    if (!values) return result;
    const Shape full{plan.has_batch ? plan.batch : 1, plan.has_head ? plan.heads : 1,
                     plan.query_len, plan.key_len};
    for (const auto& [shape, layout] : mask_shapes(theirs.shape(), full)) {
        for (const bool says_keep : {false, true}) {
            if (values->added && says_keep) continue;
            const Axes axes = plan.per_head_axes("query", "key");
            Array<bool> hidden = empty_array<bool>(plan.per_head_shape(full[2], full[3]));
            for (std::size_t i = 0; i < hidden.size(); ++i) {
                std::size_t rest = i;
                std::array<std::size_t, 4> at{};
                for (std::size_t axis = 4; axis-- > 0;) {
                    at[axis] = shape[axis] == 1 ? 0 : rest % full[axis];
                    rest /= full[axis];
                }
                const std::size_t cell =
                    ((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3];
                hidden.data()[i] = (theirs.at(cell) == values->second) != says_keep;
            }
            result.push_back({Tensor(axes, std::move(hidden)), says_keep, layout});
        }
    }
    return result;
}

}  // namespace attn
