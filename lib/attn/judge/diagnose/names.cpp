#include <algorithm>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include <utf8proc.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

/// The lines of names.txt.
extern "C" const char attn_known_names[];

// Names of steps and parameters in other code.

namespace attn {
namespace {

/// True if `words`, separated by spaces, contain `name`.
bool is_word_of(const std::string& name, std::string_view words) {
    const std::string in_spaces = " " + std::string(words) + " ";
    return !name.empty() && in_spaces.find(" " + name + " ") != in_spaces.npos;
}

/// Common names of some steps: the first that fits is chosen.
struct Names {
    /// Empty for steps, `parameter`, `gain` of a norm, or `treated` for a word beside scores.
    std::string kind;
    std::vector<std::string> steps{};
    std::vector<std::string> names{};

    bool have(const std::string& name) const { return std::ranges::count(names, name) > 0; }
};

std::vector<Names> read_names() {
    std::vector<Names> all;
    std::istringstream text(attn_known_names);
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream words(line);
        bool are_names = line.starts_with(' ');
        if (!are_names) all.emplace_back();
        for (std::string word; words >> word;) {
            Names& row = all.back();
            if (are_names) {
                row.names.push_back(word);
            } else if (word == "parameter" || word == "gain" || word == "treated") {
                row.kind = word;
            } else {
                are_names = word.back() == ':';
                if (are_names) word.pop_back();
                row.steps.push_back(word);
            }
        }
    }
    return all;
}

const std::vector<Names>& known_names() {
    static const std::vector<Names> all = read_names();
    return all;
}

/// The steps of each name, found at once even among many.
const std::vector<const Names*>& rows_with(const std::string& name) {
    static const auto all = [] {
        std::unordered_map<std::string, std::vector<const Names*>> rows;
        for (const Names& known : known_names()) {
            for (const std::string& each : known.names) {
                if (known.kind.empty()) rows[each].push_back(&known);
            }
        }
        return rows;
    }();
    static const std::vector<const Names*> none;
    const auto found = all.find(name);
    return found == all.end() ? none : found->second;
}

std::string in_small_letters(const std::string& name) {
    std::string small;
    if (std::ranges::all_of(name, [](char letter) { return letter > 0; })) {
        small = lower(name);
    } else {
        for (const auto& [point, character] : points_of(name)) {
            small += point < 0x80 ? lower(character) : utf8_of(utf8proc_tolower(point));
        }
    }
    return replaced_all(small, {{"-", "_"}, {" ", "_"}});
}

/// Removes the first of these prefixes (or suffixes) that a name has; returns whether it had one.
bool take_off(std::string& name, std::initializer_list<std::string_view> words, bool in_front) {
    for (const std::string_view word : words) {
        if (name.size() <= word.size()) continue;
        if (in_front ? !name.starts_with(word) : !name.ends_with(word)) continue;
        name.erase(in_front ? 0 : name.size() - word.size(), word.size());
        return true;
    }
    return false;
}

/// Removes the numbers of layers and of TensorFlow variables from the end: `attentions.0`,
/// `kernel:0`.
void drop_numbers(std::string& name) {
    const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
    while (!name.empty() && name.find_last_of("./:") != std::string::npos &&
           std::ranges::all_of(name.substr(name.find_last_of("./:") + 1), is_digit)) {
        name.erase(name.find_last_of("./:"));
    }
}

/// `Attn/Query/kernel:0` becomes `attn.query.kernel`.
std::string module_path(std::string name) {
    drop_numbers(name);
    name = in_small_letters(name);
    std::ranges::replace(name, '/', '.');
    return name;
}

/// `attn.query` becomes `query`, and the entry of a list keeps its number: `attn.linears.0` becomes
/// `linears.0`.
std::string last_word(const std::string& path) {
    std::string list = path;
    drop_numbers(list);
    return path.substr(list.find_last_of('.') + 1);
}

/// `self.attn.Q` becomes `q`, `my_scores` `scores`.
std::string plain_name(std::string name) {
    if (looks_like_parameter(name)) return module_path(name);
    drop_numbers(name);
    const std::size_t dot = name.find_last_of("./:");
    if (dot != std::string::npos && dot + 1 < name.size()) name = name.substr(dot + 1);
    name = in_small_letters(name);
    while (name.starts_with('_')) name.erase(0, 1);
    while (name.ends_with('_')) name.pop_back();
    take_off(name, {"my_", "the_", "hook_"}, true);
    take_off(name, {"_np", "_mine", "_new", "_cur", "_t", "_tensor", "矩阵", "矩陣", "行列"},
             false);
    return name;
}

/// Parses `attn_scores_scaled`: scores, and the last operation on them.
std::vector<std::string> treated_scores(std::string name) {
    for (const Names& known : known_names()) {
        if (known.kind != "treated") continue;
        for (const std::string& word : known.names) {
            for (const std::string& part : {"_" + word, word + "_"}) {
                const std::size_t at = name.find(part);
                if (at == name.npos) continue;
                name.erase(at, part.size());
                const std::vector<std::string> rest = known_steps(name);
                if (rest.empty()) continue;
                if (rest.front() == "scores" || rest.front() == "weights") return known.steps;
            }
        }
    }
    return {};
}

}  // namespace

bool looks_like_parameter(const std::string& name) {
    std::string path = module_path(name);
    return take_off(path, {".weight", ".kernel", ".w", ".bias", ".b"}, false);
}

std::string parameter_called(const std::string& whole) {
    const bool of_module = looks_like_parameter(whole);
    std::string name = module_path(whole);
    bool is_weight = take_off(
        name, {".weight", "_weight", ".weights", "_weights", ".kernel", "_kernel", ".w", "_w"},
        false);
    bool is_bias = !is_weight && take_off(name, {".bias", "_bias", ".b", "_b"}, false);
    name = last_word(name);
    if (!is_weight && !is_bias)
        is_weight = take_off(name, {"weights_", "weight_", "w_", "omega_", "w"}, true);
    if (!is_weight && !is_bias) is_bias = take_off(name, {"bias_", "b_", "b"}, true);
    if (!is_weight && !is_bias) return "";
    take_off(name, {"to_", "w_", "linear_", "lin_", "w"}, true);
    if (name != "in_proj" && name != "c_proj") {
        take_off(name, {"_proj", "_linear", "_lin", "_layer", "_einsum"}, false);
    }
    for (const Names& known : known_names()) {
        const bool is_of_norm = known.kind == "gain" && known.have(name);
        if (is_of_norm && (is_weight || known.steps.front() == "x")) {
            return (is_weight ? "g_" : "b_") + known.steps.front();
        }
        if (known.kind != "parameter") continue;
        if (known.have(name) || (of_module && known.have("." + name))) {
            return (is_weight ? "w_" : "b_") + known.steps.front();
        }
    }
    return "";
}

std::vector<std::string> known_steps(const std::string& name, const StepTable& table) {
    std::vector<std::string> steps;
    const auto add = [&](const std::string& step) {
        if (std::ranges::find(steps, step) == steps.end()) steps.push_back(step);
    };
    const std::string plain = plain_name(name);
    for (const Step& step : table) {
        if (step.name == name || step.name == plain) add(step.name);
    }
    const std::string parameter = parameter_called(name);
    if (place_of(kept_table(), parameter) < kept_table().size()) add(parameter);
    for (const Names* known : rows_with(plain)) std::ranges::for_each(known->steps, add);
    for (const Step& step : table) {
        if (is_word_of(plain, step.called)) add(step.name);
    }
    return steps.empty() ? treated_scores(plain) : steps;
}

std::string likeliest_step(const std::string& name) {
    const std::vector<std::string> steps = known_steps(name);
    return steps.empty() ? "" : steps.front();
}

bool names_a_result(const std::string& name) { return likeliest_step(name) == "output"; }

std::vector<std::string> steps_called(const std::string& name, const Plan& plan) {
    const StepTable& table = kept_table(plan);
    std::vector<std::string> steps = known_steps(name, table);
    std::erase_if(steps, [&](const std::string& step) { return !has_step(table, plan, step); });
    return steps;
}

bool has_square_matrix(const WalkConfig& config) {
    const Tensor* const query = config.parameters.find("w_query");
    const std::size_t axes = query != nullptr ? query->dimension() : 0;
    return axes >= 2 && query->shape()[axes - 2] == query->shape().back();
}

Ledger named_by_step(const Ledger& file, const Plan& plan) {
    Ledger named;
    for (const auto& [name, tensor] : file.entries()) {
        const std::vector<std::string> steps = steps_called(name, plan);
        const Shape shape = tensor.shape();
        const std::string own = name;
        const auto fits = [&](const std::string& step) {
            return !named.has(step) && (step == own || !file.has(step)) &&
                   find_step(kept_table(plan), step).outline(plan).shape == shape;
        };
        const auto step = std::ranges::find_if(steps, fits);
        named.record(step == steps.end() ? name : *step, tensor);
    }
    return named;
}

}  // namespace attn
