#include <algorithm>
#include <charconv>

#include "attn/explain/why.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// The index that a word or a number names on one axis.
std::size_t index_of(const Plan& plan, const Step& step, const Tensor& tensor, std::size_t axis,
                     const std::vector<std::size_t>& before, const std::string& word) {
    const std::string& name = tensor.axes()[axis];
    const auto length = static_cast<std::ptrdiff_t>(tensor.shape()[axis]);
    std::ptrdiff_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc{} && end == word.data() + word.size()) {
        if (number < -length || number >= length) {
            throw ShapeError("index " + word + " is beyond the " + name + " axis, which has " +
                             std::to_string(length) + ": use 0 to " + std::to_string(length - 1));
        }
        return static_cast<std::size_t>(number < 0 ? number + length : number);
    }
    const bool is_token = name == "token" || name == "query" || name == "key";
    const bool asks = name == "query" || (name == "token" && step.tokens == "query");
    const auto& tokens = asks ? plan.query_tokens : plan.key_tokens;
    if (is_token && !tokens.empty()) {
        const std::size_t batch = tensor.has_axis("batch") ? before.front() : 0;
        const auto& row = tokens[batch];
        const auto found = std::find(row.begin(), row.end(), word);
        if (found != row.end()) return static_cast<std::size_t>(found - row.begin());
    }
    throw ConfigError("'" + word + "' is no index of the " + name + " axis: use a number" +
                      (is_token ? ", or a word of the input" : ""));
}

}  // namespace

Cell parse_cell(const Plan& plan, const StepTable& table, const Ledger& ledger,
                const std::string& text) {
    const std::size_t open = text.find('[');
    if (open == std::string::npos || text.back() != ']') {
        throw ConfigError("'" + text + "' is no cell: write a step and its indices, weights[0,1]");
    }
    Cell cell{text.substr(0, open), {}, 0};
    const Tensor& tensor = ledger[cell.step];
    std::vector<std::string> words(1);
    for (const char c : text.substr(open + 1, text.size() - open - 2)) {
        if (c == ',') {
            words.emplace_back();
        } else if (c != ' ' && c != '\'' && c != '"') {
            words.back() += c;
        }
    }
    if (words.size() != tensor.dimension()) {
        throw ConfigError(text + " has " + std::to_string(words.size()) + " indices but " +
                          cell.step + " is " + tensor.described() + ": give one for each axis");
    }
    for (std::size_t axis = 0; axis < words.size(); ++axis) {
        cell.indices.push_back(
            index_of(plan, find_step(table, cell.step), tensor, axis, cell.indices, words[axis]));
    }
    cell.value = tensor.at(flat_index(cell.indices, tensor.shape()));
    return cell;
}

std::string cell_text(const Cell& cell) {
    std::string text = cell.step + "[";
    for (std::size_t i = 0; i < cell.indices.size(); ++i) {
        text += (i > 0 ? "," : "") + std::to_string(cell.indices[i]);
    }
    return text + "]";
}

}  // namespace attn
