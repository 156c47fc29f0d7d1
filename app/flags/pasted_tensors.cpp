#include "app/flags/pasted_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "app/flags/ledger_file.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/files/io/document_names.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

constexpr const char* merged_row = "\n";  ///< the name of a row that is part of a matrix

/// Returns the longest and last part of a name that is a known step: `attention_weights` for
/// `Causal_attention_weights`; the name itself if it is known, or if no part is.
std::string known_part(const attn::NamedTensor& named) {
    const std::string& name = named.name;
    if (!attn::known_steps(name).empty() || name.starts_with("matrix_")) return name;
    std::vector<std::string> words = attn::split(name, '_');
    if (attn::lower(name).starts_with("softmax")) return "softmax";
    if (attn::lower(name).starts_with("head_")) return name;  // one of several
    while (words.size() > 1 && words.back().find_first_not_of("0123456789") == std::string::npos) {
        if (named.tensor.dimension() == 1) return name;  // a row: word_1
        words.pop_back();
    }
    if (words.size() == 2 && words[0].size() < 9 && words.back().size() == 1 &&
        std::string_view("qkvQKV").find(words.back()) != std::string_view::npos) {
        return words.back();  // temp_q
    }
    for (std::size_t count = words.size(); count > 0; --count) {
        for (std::size_t last = words.size(); last >= count; --last) {
            const std::string part = attn::joined({words.begin() + static_cast<long>(last - count),
                                                   words.begin() + static_cast<long>(last)},
                                                  "_");
            if (part.size() > 1 && !attn::known_steps(part).empty()) return part;
        }
    }
    return name;
}

bool is_projection(const std::string& name) {
    const std::string step = attn::likeliest_step(name);
    return step == "query" || step == "key" || step == "value";
}

/// The name of a row in parts: `q` and `love` of `q_love`, `k` and `2` of `k2`, `attn_scores` and
/// `2` of `attn_scores_2`.
std::pair<std::string, std::string> parts_of_row(const std::string& name) {
    const std::size_t last = name.rfind('_');
    const bool is_numbered =
        last != name.npos && name.find_first_not_of("0123456789", last + 1) == name.npos;
    const std::size_t bar = is_numbered ? last : name.find('_');
    if (bar != std::string::npos) return {name.substr(0, bar), name.substr(bar + 1)};
    const std::size_t end = name.find_last_not_of("0123456789") + 1;
    return {name.substr(0, end), name.substr(end)};
}

/// Makes one matrix of rows that are written one by one, `q_the = [...]`, `k_the = [...]`, and
/// takes the number off the name of a single row, `q_2`.
void put_rows_together(std::vector<attn::NamedTensor>& tensors) {
    std::map<std::string, std::vector<std::size_t>> rows;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto [stem, rest] = parts_of_row(tensors[i].name);
        if (tensors[i].tensor.dimension() != 1 || rest.empty()) continue;
        const bool is_single =
            is_of_tokens(stem, "") && rest.find_first_not_of("0123456789") == rest.npos;
        if (is_projection(stem) || is_single) rows[stem].push_back(i);
    }
    for (const auto& [stem, places] : rows) {
        attn::NamedTensor& first = tensors[places.front()];
        if (places.size() == 1) {
            const bool is_free = std::ranges::count(tensors, stem, &attn::NamedTensor::name) == 0;
            if (is_free) first.name = stem;
            continue;
        }
        if (!is_projection(stem)) continue;
        const std::size_t width = first.tensor.size();
        attn::Array<double> cells = attn::empty_array<double>({places.size(), width});
        bool are_alike = true;
        for (std::size_t row = 0; row < places.size(); ++row) {
            const attn::NamedTensor& each = tensors[places[row]];
            are_alike = are_alike && each.tensor.size() == width;
            if (!are_alike) break;
            for (std::size_t i = 0; i < width; ++i)
                cells.data()[row * width + i] = each.tensor.at(i);
            first.row_names.push_back(parts_of_row(each.name).second);
        }
        if (!are_alike) continue;
        first.tensor = attn::Tensor(attn::numbered_axes(2), std::move(cells));
        for (std::size_t row = 1; row < places.size(); ++row)
            tensors[places[row]].name = merged_row;
        first.name = stem;
    }
    std::erase_if(tensors, [](const auto& each) { return each.name == merged_row; });
}

/// Makes a tensor of each column of a table of one query, whose columns are steps: score, exp,
/// weight.
void split_columns(std::vector<attn::NamedTensor>& tensors) {
    std::vector<attn::NamedTensor> split;
    for (attn::NamedTensor& each : tensors) {
        std::vector<attn::NamedTensor> columns;
        const std::size_t count = each.column_names.size();
        const bool has_columns =
            count > 1 && each.tensor.shape() == attn::Shape{each.tensor.size() / count, count};
        for (std::size_t column = 0; has_columns && column < count; ++column) {
            const std::vector<std::string> names = attn::names_of_label(each.column_names[column]);
            const std::string step = names.empty() ? "" : attn::likeliest_step(names.front());
            const bool is_of_scores = step == "exponentials" || attn::is_beginning(step);
            if (!is_of_scores) continue;
            const std::size_t rows = each.tensor.size() / count;
            columns.push_back(
                {names.front(), attn::strided(each.tensor, {1, rows}, {0, count}, column)});
        }
        if (columns.size() > 1) {
            std::ranges::move(columns, std::back_inserter(split));
        } else {
            split.push_back(std::move(each));
        }
    }
    tensors = std::move(split);
}

/// `K_T`, `Kᵀ` and `keys_transposed`, the transpose of a matrix, become K and keys.
void turn_transpose(attn::NamedTensor& named) {
    const std::string name = attn::lower(named.name);
    for (const std::string_view end : {"_t", ".t", "ᵀ", "⊤", "_transpose", "_transposed"}) {
        if (!name.ends_with(end) || named.tensor.dimension() != 2) continue;
        const std::string before = named.name.substr(0, name.size() - end.size());
        if (!is_projection(before)) return;
        const attn::Shape shape = named.tensor.shape();
        named.name = before;
        named.tensor = attn::strided(named.tensor, {shape[1], shape[0]}, {1, shape[1]});
        return;
    }
}

/// True for the row sums of weights, which programs print to show that each is 1.
bool are_sums_of_weights(const attn::NamedTensor& named) {
    const auto is_one = [](double sum) { return std::abs(sum - 1) < 0.02; };
    return attn::lower(named.name).find("sum") != std::string::npos &&
           named.tensor.dimension() == 1 && std::ranges::all_of(named.tensor.numbers(), is_one);
}

/// True for weights that were multiplied by a mask, which are no masked scores: some are 0, none is
/// far below.
bool is_masked_afterwards(const std::string& name, const attn::Tensor& tensor) {
    if (attn::likeliest_step(name) != "masked_scores") return false;
    bool has_zero = false, are_shares = true;
    attn::each_number(tensor, [&](std::size_t, double cell) {
        has_zero = has_zero || cell == 0;
        are_shares = are_shares && cell >= 0 && cell <= 1;
    });
    return has_zero && are_shares;
}

/// Keras calls weights attention_scores: scores whose rows sum to 1 are weights if nothing else is.
attn::Ledger with_scores_known(const attn::Ledger& file) {
    attn::Ledger known;
    std::size_t weights = 0;
    for (const auto& [name, tensor] : file.entries()) {
        const bool are_weights = given_as(name, tensor) == "weights";
        const bool are_called = attn::likeliest_step(name) == "weights";
        weights += are_weights || are_called ? 1U : 0U;
        known.record(are_weights && !are_called ? "weights" : name, tensor);
    }
    return weights == 1 ? known : file;
}

/// A lone tensor under a name that begins no walk is taken for weights if its rows sum to 1.
attn::Ledger with_weights_known(attn::Ledger file) {
    if (file.entries().size() != 1) return file;
    const auto& entry = file.entries().front();
    if (!given_as(entry.name, entry.tensor).empty()) return file;
    const std::string step = given_as("", entry.tensor);
    if (step.empty()) return file;
    attn::Ledger known;
    known.record(step, entry.tensor);
    report_note("assumed: " + attn::visible(entry.name) + " is " + step);
    return known;
}

}  // namespace

bool is_of_tokens(const std::string& name, const std::string& step) {
    static const std::vector<std::string> all{
        "x", "query", "scores", "scaled_scores", "masked_scores", "weights", "output", "context"};
    const std::vector<std::string> steps = attn::known_steps(name);
    const auto is_one = [&](const std::string& each) {
        return std::ranges::find(all, each) != all.end();
    };
    return is_one(step) || (!steps.empty() && is_one(steps.front()));
}

void take_as_written(attn::NamedTensor& named) {
    turn_transpose(named);
    // Layers, samples and heads of weights: layers are read as samples if there is one sample.
    attn::Shape shape = named.tensor.shape();
    for (auto one = shape.begin(); shape.size() > 4;) {
        one = std::find(shape.begin(), shape.end() - 2, 1U);
        if (one == shape.end() - 2) break;
        shape.erase(one);
        named.tensor = attn::strided(named.tensor, shape, attn::row_strides(shape));
    }
    const std::string step = given_as(named.name, named.tensor);
    const bool is_row =
        named.tensor.dimension() == 1 && !step.starts_with("b_") && is_of_tokens(named.name, step);
    if (!is_row) return;
    const std::size_t size = named.tensor.size();
    named.tensor = attn::strided(named.tensor, {1, size}, {size, 1});
}

bool name_rows_of(const attn::Ledger& file, const std::vector<std::string>& tokens) {
    return !tokens.empty() && std::ranges::any_of(file.entries(), [&](const auto& entry) {
        const attn::Shape shape = entry.tensor.shape();
        return is_of_tokens(entry.name, "") && shape.size() > 1 &&
               shape[shape.size() - 2] == tokens.size();
    });
}

std::vector<attn::NamedTensor> with_tokens_as_rows(std::vector<attn::NamedTensor> tensors) {
    for (attn::NamedTensor& each : tensors) {
        each.row_names.clear();
        const attn::Shape shape = each.tensor.shape();
        if (shape.size() != 2) continue;
        each.tensor = attn::strided(each.tensor, {shape[1], shape[0]}, {1, shape[1]});
    }
    return tensors;
}

attn::Ledger recognised(std::vector<attn::NamedTensor> tensors, const std::string& spec,
                        std::vector<std::string>& tokens) {
    attn::Ledger ledger;
    split_columns(tensors);
    std::erase_if(tensors, are_sums_of_weights);
    put_rows_together(tensors);
    const bool are_nameless = std::ranges::all_of(tensors, [](const auto& each) {
        return each.name.empty() || each.name.starts_with("matrix_");
    });
    for (attn::NamedTensor& each : tensors) {
        take_as_written(each);
        const std::string by_numbers = are_nameless ? given_as("", each.tensor) : "";
        if (!by_numbers.empty() && !ledger.has(by_numbers)) each.name = by_numbers;
        const std::string part = known_part(each);
        if (!ledger.has(part) && !is_masked_afterwards(part, each.tensor)) each.name = part;
        if (each.name.empty()) {
            throw attn::InputError(attn::file_label(spec) +
                                   ": contains one array without a name, and its rows do not sum "
                                   "to 1 as weights do: name it, as in " +
                                   (spec == "-" ? "scores = [[1, 2], [3, 4]]" : spec + ":scores"));
        }
        const std::string step = given_as(each.name, each.tensor);
        // Programs may use one name for scores and for the weights computed from them.
        const attn::Tensor* const twin = ledger.find(each.name);
        const std::string other = twin == nullptr ? "" : given_as(each.name, *twin);
        if (!other.empty() && !step.empty() && other != step) {
            const attn::Tensor before = *twin;
            ledger = ledger.without(each.name);
            ledger.record(other, before);
            each.name = step;
        }
        if (tokens.empty() && !step.starts_with("w_")) tokens = each.row_names;
        ledger.record(each.name, std::move(each.tensor));
    }
    return with_weights_known(with_scores_known(attn::heads_together(ledger)));
}

std::vector<attn::NamedTensor> pasted_tensors(const std::string& spec) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(spec, ignored)) {
        return attn::read_tensors(spec, report_note);
    }
    std::vector<attn::NamedTensor> tensors;
    for (const auto& [name, tensor] : read_ledger(spec).entries()) {
        tensors.push_back({name, tensor, {}, {}});
    }
    return tensors;
}

}  // namespace app
