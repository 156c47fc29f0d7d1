#include <charconv>

#include "attn/plan/tokenize.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

/// The index that a word or a number names on one axis; a word that stands at several places is
/// remarked on.
std::size_t index_of(const Plan& plan, const Step& step, const Tensor& tensor, std::size_t axis,
                     const std::string& word, Cell& cell) {
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
    const std::string& side = name == "token" ? step.tokens : name;
    const auto& tokens = side == "query" ? plan.query_tokens : plan.key_tokens;
    const bool has_words = (side == "query" || side == "key") && !tokens.empty();
    if (has_words) {
        const std::size_t batch = tensor.has_axis("batch") ? cell.indices.front() : 0;
        const std::vector<std::size_t> places = places_of(tokens[batch], word);
        if (places.size() > 1) {
            std::string all;
            for (const std::size_t place : places) {
                all += (all.empty()              ? ""
                        : place == places.back() ? " and "
                                                 : ", ") +
                       std::to_string(place);
            }
            cell.remarks.push_back("'" + visible(word) + "' is the first of " +
                                   std::to_string(places.size()) + ": " + all);
        }
        if (!places.empty()) return places.front();
    }
    throw ConfigError(shown(word) + " is not an index of the " + name + " axis: use a number" +
                      (has_words ? ", or a word of the input" : ""));
}

}  // namespace

Cell parse_cell(const Plan& plan, const StepTable& table, const Ledger& ledger,
                const std::string& text) {
    const std::size_t open = text.find('[');
    if (open == std::string::npos || text.back() != ']') {
        throw ConfigError(shown(text) +
                          " is not a cell: write a step and its indices, weights[0,1]");
    }
    Cell cell{text.substr(0, open), {}, 0};
    const Tensor& tensor = ledger[cell.step];
    const Step& step = find_step(table, cell.step);
    std::vector<std::string> words(1);
    for (const char c : text.substr(open + 1, text.size() - open - 2)) {
        if (c == ',') {
            words.emplace_back();
        } else if (c != ' ' && c != '\'' && c != '"') {
            words.back() += c;
        }
    }
    if (words.size() == 1 && words[0].empty()) words.clear();  // of a scalar
    if (words.size() != tensor.dimension()) {
        throw ConfigError(text + " has " + std::to_string(words.size()) +
                          (words.size() == 1 ? " index but " : " indices but ") + cell.step +
                          " is " + tensor.described() + ": give one for each axis");
    }
    for (std::size_t axis = 0; axis < words.size(); ++axis) {
        cell.indices.push_back(index_of(plan, step, tensor, axis, words[axis], cell));
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
