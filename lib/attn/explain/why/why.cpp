#include "attn/explain/why/why.hpp"

#include <algorithm>
#include <charconv>

#include "attn/core/cards/starts.hpp"
#include "attn/core/plan/tokenize.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/feature_names.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/notes/step_notes.hpp"
#include "attn/explain/why/rule_cell.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

Place place_of(const Tensor& tensor, const Cell& cell) {
    Place place;
    for (std::size_t i = 0; i < cell.indices.size(); ++i) place[tensor.axes()[i]] = cell.indices[i];
    return place;
}

/// Returns the word at a place of one axis, in quotes; empty without words or without the axis.
std::string token(const std::vector<std::vector<std::string>>& tokens, const Place& place,
                  const std::string& axis) {
    if (tokens.empty() || place.count(axis) == 0) return {};
    const std::size_t batch = place.count("batch") != 0 ? place.at("batch") : 0;
    return "'" + visible(tokens[batch][place.at(axis)]) + "'";
}

std::string tokens_sentence(const WalkView& view) {
    const Place named =
        view.place.count("token") != 0 ? at_position(view.place, view.step.tokens) : view.place;
    const std::string query = token(view.plan.query_tokens, named, "query");
    const std::string key = token(view.plan.key_tokens, named, "key");
    if (query.empty() && key.empty()) return {};
    const Tensor& tensor = view.ledger[view.step.name];
    const std::size_t last = tensor.dimension() - 1;
    const FeatureNames names = feature_names({view.plan, view.table, view.step}, tensor, last);
    if (!names.empty()) {
        const auto head = view.place.find("head");
        const auto& list = in_head(names, head == view.place.end() ? 0 : head->second);
        return visible(list[view.place.at(tensor.axes()[last])]) + " of " + query + key;
    }
    return query.empty() || key.empty() ? "token " + query + key
                                        : "query " + query + ", key " + key;
}

bool reads(const Step& step, const Plan& plan, Chain chain) {
    return std::ranges::any_of(step.reads(plan),
                               [&](const Input& input) { return input.chain == chain; });
}

/// True for a row over keys that is an input or output of softmax.
bool is_softmax_row(const WalkView& view) {
    const Axes& axes = view.ledger[view.step.name].axes();
    if (axes.empty() || axes.back() != "key") return false;
    if (view.step.chain != Chain::scores) {
        const bool may_be = view.step.chain == Chain::none || view.step.chain == Chain::weights;
        return may_be && reads(view.step, view.plan, Chain::scores);
    }
    return view.ledger.find_latest(Chain::scores)->name == view.step.name;
}

/// Returns the cell of the next step in the chain that reads this one: after the past, in the first
/// of the heads that share it, or in the merged head. If features are mixed, its row.
std::string read_by(const WalkView& view, const std::string& next) {
    Place place = view.place;
    const Tensor& tensor = view.ledger[next];
    if (tensor.has_axis("key") && place.count("key") == 0) {
        place["key"] = place.at("token") + view.plan.past_len;
    }
    std::size_t shared = 1;
    if (tensor.has_axis("head")) {
        const std::size_t heads = view.ledger[view.step.name].extent("head");
        shared = std::max<std::size_t>(tensor.extent("head") / heads, 1);
        place["head"] = place["head"] * tensor.extent("head") / heads;
    }
    if (find_step(view.table, next).mixes_features) return next + ", the whole row of this token";
    return cell_text(view.plan, view.table, view.ledger, view.at(next, place)) +
           (shared > 1 ? " and the same cell of the heads that share it" : "");
}

/// Describes the readers of this cell: the next step of its chain or, at the end, any reader.
std::string used_by(const WalkView& view) {
    const Chain chain = view.step.chain;
    if (chain == Chain::none || chain == Chain::contexts) return {};
    // A walk that ends with the weights has no context.
    if (chain == Chain::weights && view.ledger.find_latest(Chain::contexts) == nullptr) return {};
    const Ledger::Entry* last = view.ledger.find_latest(chain);
    for (; last->name != view.step.name; last = view.ledger.find_latest(chain, last->name)) {
        const Ledger::Entry* before = view.ledger.find_latest(chain, last->name);
        if (before->name == view.step.name) return read_by(view, last->name);
    }
    switch (chain) {
        case Chain::queries:
            return "scores of this query with every key";
        case Chain::keys:
            return "scores of every query with this key";
        case Chain::values:
            return "context of every query, times its weight on this key";
        case Chain::weights:
            return "context of the same query: adds " +
                   four_decimals(view.at(view.step.name).value) + " * value of this key";
        default:
            return "its whole row of weights, through row_max and row_sum";
    }
}

void add_remarks(const WalkView& view, Derivation& derivation) {
    const auto remark = [&](std::string text) {
        if (!text.empty()) derivation.remarks.push_back(std::move(text));
    };
    for (const std::string& text : derivation.cell.remarks) remark(text);
    remark(tokens_sentence(view));
    if (is_softmax_row(view)) {
        remark("row over keys: " + row_text(view.ledger, derivation.cell));
    }
    const bool is_mask = view.ledger[view.step.name].dtype() == DType::boolean;
    if (!is_mask && view.place.count("query") != 0 && view.place.count("key") != 0 &&
        view.ledger.has("mask") && view.at("mask").value != 0) {
        remark("the mask hides this cell");
    }
    const notes::StepNote* note = notes::note_on(view.step);
    if (note != nullptr && note->remark) remark(note->remark(view));
    const std::string reader = used_by(view);
    if (!reader.empty()) remark("used by " + reader);
}

}  // namespace

Place with(Place place, const std::string& axis, std::size_t index) {
    place[axis] = index;
    return place;
}

Place at_position(Place place, const std::string& axis) {
    for (const char* name : {"token", "query", "key"}) {
        const auto found = place.extract(name);
        if (!found.empty()) place[axis] = found.mapped();
    }
    return place;
}

Cell WalkView::at(const std::string& name, const Place& where) const {
    const Tensor& tensor = ledger[name];
    const Shape shape = tensor.shape();
    Cell cell{name, {}, 0};
    cell.indices.reserve(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto found = where.find(tensor.axes()[i]);
        cell.indices.push_back(found == where.end() || shape[i] == 1 ? 0 : found->second);
    }
    cell.value = tensor.at(flat_index(cell.indices, shape));
    return cell;
}

namespace {

/// Returns the rule of a step, or a description of its origin without one.
std::string rule_of_cell(const PlannedStep& of) {
    const std::string rule = displayed_rule(of);
    if (!rule.empty()) return rule.substr(rule.find(" = ") + 3);
    const std::string formula = formula_of(of.step, of.plan, of.table);
    if (formula.empty()) return "drawn or given: the walk starts from it";
    const std::string left = of.step.name + " = ";
    return (of.step.mistake.empty() ? "" : "a mistake: ") +
           (formula.starts_with(left) ? formula.substr(left.size()) : formula);
}

Cell cell_of(const ReadCell& read) {
    return {*read.step, indices_of(read.number, read.tensor->shape()), read.value()};
}

std::string number_of(const ReadCell& read) { return four_decimals(read.value()); }

Term term_of(const ComputedCell::Addend& addend) {
    Term term;
    term.value = addend.value;
    if (!addend.cells.empty()) term.left = cell_of(addend.cells.front());
    if (addend.form != AddendForm::other && addend.cells.size() > 1)
        term.right = cell_of(addend.cells[1]);
    if (addend.form == AddendForm::exponential) term.form = "exp(left - right)";
    if (addend.form == AddendForm::other) term.form = filled(addend.text, addend.cells, number_of);
    return term;
}

/// Adds the computation of this cell by the rule.
void follow(const WalkView& view, const ComputedCell& computed, Derivation& derivation) {
    const auto name_of = [&](const ReadCell& read) {
        return cell_text(view.plan, view.table, view.ledger, cell_of(read));
    };
    for (const ComputedCell::Addend& addend : computed.addends) {
        derivation.terms.push_back(term_of(addend));
        for (const ReadCell& read : addend.cells) derivation.sources.push_back(cell_of(read));
    }
    const std::string named = filled(computed.text, computed.cells, name_of);
    derivation.arithmetic =
        computed.is_copy ? named : filled(computed.text, computed.cells, number_of);
    if (computed.is_branch && !computed.is_copy && !computed.cells.empty()) derivation.side = named;
    for (const ReadCell& read : computed.cells) derivation.sources.push_back(cell_of(read));
    for (const ReadCell& read : computed.conditions) derivation.sources.push_back(cell_of(read));
}

}  // namespace

Derivation derive(const Plan& plan, const StepTable& table, const Ledger& ledger,
                  const Cell& cell) {
    const Step& step = find_step(table, cell.step);
    const WalkView view{plan, table, ledger, step, place_of(ledger[cell.step], cell)};
    Derivation derivation;
    derivation.cell = cell;
    derivation.rule = rule_of_cell({plan, table, step});
    const std::optional<Rule> rule = rule_of({plan, table, step});
    if (rule && fits(*rule, {plan, table, step}, ledger)) {
        const ComputedCell computed = RuleCell(*rule, ledger).at(cell.indices);
        follow(view, computed, derivation);
        if (computed.is_too_long) {
            derivation.remarks.push_back(
                "too large to be traced"_message +
                (plan.fused() ? ": $variant vectorized keeps the weights that explain it"_message
                              : ""));
        }
    }
    if (!derivation.terms.empty()) {
        double sum = 0;
        for (const Term& term : derivation.terms) sum += term.value;
        derivation.rounding = cell.value - sum;
    }
    add_remarks(view, derivation);
    return derivation;
}

std::string row_text(const Ledger& ledger, const Cell& cell) {
    const Tensor& tensor = ledger[cell.step];
    const std::size_t length = tensor.shape().back();
    const std::size_t start = flat_index(cell.indices, tensor.shape()) / length * length;
    constexpr std::size_t most = 8;
    std::string text;
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) {
        const double value = tensor.at(start + i);
        sum += value;
        if (i < most) text += four_decimals(value) + " ";
    }
    if (length > most) text += "... ";
    // The sum is meaningful only for weights, which are a distribution.
    return cell.step == "weights" ? text + " sum " + four_decimals(sum)
                                  : std::string(trimmed(text));
}

namespace {

/// Returns the tokens or feature names along an axis of a step's tensor, for the sequence and the
/// head of the cell, whose indices on earlier axes must be set. Empty if there are none.
std::vector<std::string> words_along(const PlannedStep& of, const Tensor& tensor, std::size_t axis,
                                     const Cell& cell) {
    const auto index_on = [&](const std::string& other) {
        return tensor.has_axis(other) ? cell.indices.at(tensor.axis(other)) : 0;
    };
    const FeatureNames features = feature_names(of, tensor, axis);
    if (!features.empty()) return in_head(features, index_on("head"));
    const std::string& name = tensor.axes()[axis];
    if (name == "vocab") return words_of_rows(of.plan, of.step);
    const std::string& side = name == "token" ? of.step.tokens : name;
    const auto& tokens = side == "query" ? of.plan.query_tokens : of.plan.key_tokens;
    if ((side != "query" && side != "key") || tokens.empty()) return {};
    return tokens[index_on("batch")];
}

/// Returns the index for a word or a number on one axis; adds a remark if the word has several
/// places.
std::size_t index_of(const PlannedStep& of, const Tensor& tensor, std::size_t axis,
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
    const std::vector<std::string> words = words_along(of, tensor, axis, cell);
    const bool has_words = !words.empty();
    if (has_words) {
        const std::vector<std::size_t> places = places_of(words, word);
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
    throw ConfigError(quoted_text(word) + " is not an index of the " + name +
                      " axis: use a number" +
                      (!has_words                                ? ""
                       : feature_names(of, tensor, axis).empty() ? ", or a word of the input"
                                                                 : ", or the name of a feature"));
}

/// Returns the index of a cell as it can be typed: the word or feature at that place if it is
/// unique, else the number.
std::string index_name(const PlannedStep& of, const Tensor& tensor, std::size_t axis,
                       std::size_t index, const Cell& cell) {
    const std::vector<std::string> words = words_along(of, tensor, axis, cell);
    const bool is_name = index < words.size() && places_of(words, words[index]).size() == 1 &&
                         words[index].find_first_of(",[] ") == std::string::npos;
    return is_name ? visible(words[index]) : std::to_string(index);
}

/// Returns a whole cell with the typed indices, each on the first axis that accepts it:
/// `weights[dog,the]` for `weights[dog]`.
std::string cell_with(const PlannedStep& of, const Tensor& tensor,
                      const std::vector<std::string>& typed, Cell cell) {
    std::vector<std::string> names;
    auto next = typed.begin();
    for (std::size_t axis = 0; axis < tensor.dimension(); ++axis) {
        std::size_t index = 0;
        try {
            if (next != typed.end()) index = index_of(of, tensor, axis, *next, cell), ++next;
        } catch (const Error&) {  // the index belongs to a later axis
        }
        cell.indices.push_back(index);
        names.push_back(index_name(of, tensor, axis, index, cell));
    }
    return cell.step + "[" + joined(names, ",") + "]";
}

}  // namespace

Cell parse_cell(const Plan& plan, const StepTable& table, const Ledger& ledger,
                const std::string& text) {
    const std::size_t open = text.find('[');
    if (open == std::string::npos || text.back() != ']') {
        throw ConfigError(quoted_text(text) +
                          " is not a cell: write a step and its indices, weights[0,1]");
    }
    Cell cell{text.substr(0, open), {}, 0};
    const bool is_lacking =
        !ledger.has(cell.step) && std::ranges::find(table, cell.step, &Step::name) != table.end();
    if (const std::string remedy = remedy_for(cell.step); is_lacking && !remedy.empty()) {
        throw ConfigError("this walk has no step " + cell.step + ": " + remedy);
    }
    const Tensor& tensor = ledger[cell.step];
    const Step& step = find_step(table, cell.step);
    std::vector<std::string> words(1);
    const std::string indices = text.substr(open + 1, text.size() - open - 2);
    for (const char c : replaced_all(indices, {{"][", ","}})) {
        if (c == ',') {
            words.emplace_back();
        } else if (c != ' ' && c != '\'' && c != '"') {
            words.back() += c;
        }
    }
    if (words.size() == 1 && words[0].empty()) words.clear();  // for a scalar
    if (words.size() != tensor.dimension()) {
        throw ConfigError(text + " has " + std::to_string(words.size()) +
                          (words.size() == 1 ? " index but " : " indices but ") + cell.step +
                          " is " + tensor.described() + ": give one for each axis, as in '" +
                          cell_with({plan, table, step}, tensor, words, cell) + "'");
    }
    for (std::size_t axis = 0; axis < words.size(); ++axis) {
        cell.indices.push_back(index_of({plan, table, step}, tensor, axis, words[axis], cell));
    }
    cell.value = tensor.at(flat_index(cell.indices, tensor.shape()));
    return cell;
}

std::string cell_text(const Cell& cell) { return cell.step + index_text(cell.indices); }

std::string cell_text(const Plan& plan, const StepTable& table, const Ledger& ledger,
                      const Cell& cell) {
    if (plan.config.feature_names.empty()) return cell_text(cell);
    const PlannedStep of{plan, table, find_step(table, cell.step)};
    std::vector<std::string> indices;
    for (std::size_t axis = 0; axis < cell.indices.size(); ++axis) {
        indices.push_back(index_name(of, ledger[cell.step], axis, cell.indices[axis], cell));
    }
    return cell.step + "[" + joined(indices, ",") + "]";
}

}  // namespace attn
