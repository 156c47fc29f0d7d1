#include "attn/explain/why.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "attn/explain/why_blocks.hpp"
#include "attn/explain/words.hpp"
#include "attn/steps/groups.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// Where a cell lies, by the names of its axes.
using Place = std::map<std::string, std::size_t>;

Place place_of(const Tensor& tensor, const Cell& cell) {
    Place place;
    for (std::size_t i = 0; i < cell.indices.size(); ++i) place[tensor.axes()[i]] = cell.indices[i];
    return place;
}

/// Derives cells of one walk; one small function for each kind of step.
class Deriver {
public:
    Deriver(const Plan& plan, const Ledger& ledger) : plan_(plan), ledger_(ledger) {}

    Derivation derive(const Cell& cell) const {
        Derivation derivation;
        derivation.cell = cell;
        const Place place = place_of(ledger_[cell.step], cell);
        if (const auto block = derive_block(plan_, ledger_, cell)) {
            derivation = *block;
        } else {
            derive_rule(cell.step, place, derivation);
        }
        for (const Term& term : derivation.terms) {
            derivation.sources.push_back(term.left);
            if (term.right) derivation.sources.push_back(*term.right);
        }
        if (!derivation.terms.empty()) {
            double sum = 0;
            for (const Term& term : derivation.terms) sum += term.value;
            derivation.rounding = cell.value - sum;
        }
        add_remarks(cell.step, place, derivation);
        return derivation;
    }

private:
    /// The cell of `step` at a place; axes that the step lacks do not count, broadcast ones are 0.
    Cell at(const std::string& step, const Place& place) const {
        const Tensor& tensor = ledger_[step];
        const Shape shape = tensor.shape();
        Cell cell{step, {}, 0};
        std::size_t flat = 0;
        for (std::size_t i = 0; i < shape.size(); ++i) {
            const auto found = place.find(tensor.axes()[i]);
            std::size_t index = found == place.end() ? 0 : found->second;
            if (shape[i] == 1) index = 0;
            cell.indices.push_back(index);
            flat = flat * shape[i] + index;
        }
        cell.value = tensor.at(flat);
        return cell;
    }

    static Place with(Place place, const std::string& axis, std::size_t index) {
        place[axis] = index;
        return place;
    }

    static Place moved(Place place, const std::string& from, const std::string& to) {
        place[to] = place.at(from);
        place.erase(from);
        return place;
    }

    void add_product(Derivation& derivation, const Cell& left, const Cell& right) const {
        derivation.terms.push_back({left, right, left.value * right.value});
    }

    void copy(Derivation& derivation, const Cell& source, const std::string& rule) const {
        derivation.rule = rule;
        derivation.arithmetic = cell_text(source);
        derivation.sources = {source};
    }

    void derive_rule(const std::string& step, const Place& place, Derivation& derivation) const {
        if (step == "scores") return derive_scores(place, derivation);
        if (step == "scaled_scores") return derive_scaled(place, derivation);
        if (step == "masked_scores") return derive_masked(place, derivation);
        if (step == "row_max" || step == "row_sum") return derive_over_row(step, place, derivation);
        if (step == "exponentials") return derive_exponential(place, derivation);
        if (step == "weights") return derive_weight(place, derivation);
        if (step == "context") return derive_context(place, derivation);
        if (step == "merged") return derive_merged(place, derivation);
        if (step == "output") return derive_output(place, derivation);
        if (step == "x" || step == "memory") return derive_looked_up(step, place, derivation);
        if (step == "mask") return derive_mask(place, derivation);
        if (step == "query" || step == "key" || step == "value" || step == "qkv" ||
            step.rfind("projected_", 0) == 0) {
            return derive_projection(step, place, derivation);
        }
        derivation.rule = "drawn or given: the walk starts from it";
    }

    std::string softmax_input() const {
        for (const char* name : {"masked_scores", "scaled_scores"}) {
            if (ledger_.has(name)) return name;
        }
        return "scores";
    }

    std::string softmax_axis() const {
        static constexpr std::array names{"key", "query", "head", "batch"};
        return names[static_cast<std::size_t>(plan_.config.softmax_axis)];
    }

    void derive_scores(const Place& place, Derivation& derivation) const {
        derivation.rule = "sum over features f of query(f) * key(f)";
        for (std::size_t f = 0; f < ledger_["query"].extent("feature"); ++f) {
            const Place feature = with(place, "feature", f);
            add_product(derivation, at("query", feature), at("key", feature));
        }
    }

    void derive_scaled(const Place& place, Derivation& derivation) const {
        const Cell score = at("scores", place);
        const bool divides = plan_.scale.operation == ScaleFactor::Operation::divide;
        derivation.rule = divides ? "scores / " + brief(plan_.scale.number)
                                  : "scores * " + brief(plan_.scale.number);
        derivation.arithmetic = four_decimals(score.value) + (divides ? " / " : " * ") +
                                four_decimals(plan_.scale.number);
        derivation.sources = {score};
    }

    void derive_masked(const Place& place, Derivation& derivation) const {
        const Cell hidden = at("mask", place);
        const Cell before = at(ledger_.has("scaled_scores") ? "scaled_scores" : "scores", place);
        derivation.rule = hidden.value != 0 ? "-inf, because the mask hides this cell"
                                            : "the score itself, because the mask lets it pass";
        derivation.arithmetic = hidden.value != 0 ? "-inf" : cell_text(before);
        derivation.sources = {before};
    }

    void derive_mask(const Place& place, Derivation& derivation) const {
        std::string reason;
        const std::size_t key = place.at("key");
        if (plan_.config.mask.causal && place.count("query") != 0) {
            const auto shift = plan_.config.causal_align == CausalAlign::end
                                   ? static_cast<std::ptrdiff_t>(plan_.key_len) -
                                         static_cast<std::ptrdiff_t>(plan_.query_len)
                                   : 0;
            const auto query = static_cast<std::ptrdiff_t>(place.at("query")) + shift;
            if (static_cast<std::ptrdiff_t>(key) > query) reason = "the key comes after the query";
        }
        if (plan_.config.mask.padding) {
            const std::size_t batch = place.count("batch") != 0 ? place.at("batch") : 0;
            if (plan_.key_padding.data()[batch * plan_.key_len + key]) {
                reason += (reason.empty() ? "" : " and ") + std::string("the key is padding");
            }
        }
        if (reason.empty()) {
            reason = derivation.cell.value != 0 ? "the given mask hides it" : "nothing hides it";
        }
        derivation.rule = (derivation.cell.value != 0 ? "hidden: " : "visible: ") + reason;
    }

    void derive_over_row(const std::string& step, const Place& place,
                         Derivation& derivation) const {
        const std::string axis = softmax_axis();
        const std::string source = step == "row_sum" ? "exponentials" : softmax_input();
        const std::size_t length = ledger_[source].extent(axis);
        if (step == "row_sum") {
            derivation.rule = "sum over the " + axis + " axis of exponentials";
            for (std::size_t i = 0; i < length; ++i) {
                const Cell cell = at(source, with(place, axis, i));
                derivation.terms.push_back({cell, std::nullopt, cell.value});
            }
            return;
        }
        derivation.rule = "the largest " + source + " along the " + axis + " axis";
        for (std::size_t i = 0; i < length; ++i) {
            const Cell cell = at(source, with(place, axis, i));
            if (cell.value == derivation.cell.value) {
                derivation.arithmetic = cell_text(cell);
                derivation.sources = {cell};
                return;
            }
        }
    }

    void derive_exponential(const Place& place, Derivation& derivation) const {
        const Cell score = at(softmax_input(), place);
        const Cell largest = at("row_max", place);
        derivation.rule = "exp(" + score.step + " - row_max)";
        derivation.arithmetic =
            "exp(" + four_decimals(score.value) + " - " + four_decimals(largest.value) + ")";
        derivation.sources = {score, largest};
    }

    void derive_weight(const Place& place, Derivation& derivation) const {
        const Cell exponential = at("exponentials", place);
        const Cell sum = at("row_sum", place);
        const Cell score = at(softmax_input(), place);
        const Cell largest = at("row_max", place);
        derivation.rule = "exp(" + score.step + " - row_max) / row_sum";
        derivation.arithmetic = "exp(" + four_decimals(score.value) + " - " +
                                four_decimals(largest.value) + ") / " + four_decimals(sum.value) +
                                " = " + four_decimals(exponential.value) + " / " +
                                four_decimals(sum.value);
        derivation.sources = {score, largest, sum};
    }

    void derive_context(const Place& place, Derivation& derivation) const {
        derivation.rule = "sum over keys k of weights(k) * value(k)";
        for (std::size_t k = 0; k < plan_.key_len; ++k) {
            const Place key = with(place, "key", k);
            add_product(derivation, at("weights", key), at("value", key));
        }
    }

    void derive_merged(const Place& place, Derivation& derivation) const {
        const std::size_t feature = place.at("feature");
        const std::size_t head = feature / plan_.value_dim;
        const Place inside = with(with(place, "head", head), "feature", feature % plan_.value_dim);
        copy(derivation, at("context", inside),
             "feature " + std::to_string(feature % plan_.value_dim) + " of head " +
                 std::to_string(head));
    }

    /// A sum over the input features of one projection, and its bias.
    void add_projection(const std::string& source, Place row, const std::string& position,
                        const std::string& parameter, std::size_t out,
                        Derivation& derivation) const {
        const Tensor& tensor = ledger_[source];
        const std::string source_position = tensor.axes()[tensor.dimension() - 2];
        if (position != source_position) row = moved(row, position, source_position);
        const bool per_head = ledger_["w_" + parameter].has_axis("head");
        for (std::size_t i = 0; i < tensor.extent("feature"); ++i) {
            Place weight{{"out", out}, {"in", i}};
            if (per_head) weight["head"] = row.at("head");
            add_product(derivation, at(source, with(row, "feature", i)),
                        at("w_" + parameter, weight));
        }
        if (ledger_.has("b_" + parameter)) {
            Place bias{{"out", out}};
            if (per_head) bias["head"] = row.at("head");
            const Cell cell = at("b_" + parameter, bias);
            derivation.terms.push_back({cell, std::nullopt, cell.value});
        }
        derivation.rule = "sum over features f of " + source + "(f) * w_" + parameter + "(f)" +
                          (ledger_.has("b_" + parameter) ? ", and the bias" : "");
    }

    void derive_output(const Place& place, Derivation& derivation) const {
        const std::string source = ledger_.has("merged") ? "merged" : "context";
        add_projection(source, place, "query", "output", place.at("feature"), derivation);
    }

    void derive_projection(const std::string& step, const Place& place,
                           Derivation& derivation) const {
        const std::string part = step.rfind("projected_", 0) == 0 ? step.substr(10) : step;
        const std::size_t number = part == "query" ? 0 : part == "key" ? 1 : 2;
        const std::string position = number == 0 || step == "qkv" ? "query" : "key";
        const std::string source = number > 0 && plan_.has_memory && step != "qkv" ? "memory" : "x";
        const std::size_t feature = place.at("feature");
        if (step == "qkv") {
            return add_projection("x", place, position, "qkv", feature, derivation);
        }
        const std::size_t width = number == 2 ? plan_.value_dim : plan_.head_dim;
        const std::size_t head = place.count("head") != 0 ? place.at("head") : 0;
        const std::size_t side_by_side = head * width + feature;
        if (part == step && ledger_.has("qkv")) {
            Place cut = place;
            if (position == "key") cut = moved(cut, "key", "query");
            cut["feature"] = plan_.fused_features(number)[side_by_side];
            return copy(derivation, at("qkv", cut), "cut out of qkv");
        }
        if (part == step && ledger_.has("projected_" + part)) {
            return copy(derivation, at("projected_" + part, with(place, "feature", side_by_side)),
                        "feature " + std::to_string(feature) + " of head " + std::to_string(head));
        }
        if (plan_.config.projection == Projection::none) {
            if (!plan_.has_x()) {
                derivation.rule = "drawn or given: the walk starts from it";
                return;
            }
            Place same = with(place, "feature", side_by_side);
            if (position == "key" && source == "x") same = moved(same, "key", "query");
            return copy(derivation, at(source, same), "there is no projection");
        }
        if (!plan_.one_weight()) {
            return add_projection(source, place, position, part, feature, derivation);
        }
        const std::size_t row = plan_.fused_features(number)[feature];
        add_projection(source, place, position, "qkv", row, derivation);
    }

    void derive_looked_up(const std::string& step, const Place& place,
                          Derivation& derivation) const {
        const std::string ids = step == "x" ? "ids" : "memory_ids";
        const std::string table = step == "x" ? "embedding" : "memory_embedding";
        if (!ledger_.has(ids)) {
            derivation.rule = "drawn or given: the walk starts from it";
            return;
        }
        const Cell id = at(ids, place);
        const Place row{{"vocab", static_cast<std::size_t>(id.value)},
                        {"feature", place.at("feature")}};
        copy(derivation, at(table, row),
             "the row of " + table + " that the id " + std::to_string(static_cast<long>(id.value)) +
                 " names");
    }

    std::string token(const std::vector<std::vector<std::string>>& tokens, const Place& place,
                      const std::string& axis) const {
        if (tokens.empty() || place.count(axis) == 0) return {};
        const std::size_t batch = place.count("batch") != 0 ? place.at("batch") : 0;
        return "'" + tokens[batch][place.at(axis)] + "'";
    }

    void add_remarks(const std::string& step, const Place& place, Derivation& derivation) const {
        const std::string asks = token(plan_.query_tokens, place, "query");
        const std::string offers = token(plan_.key_tokens, place, "key");
        if (!asks.empty() && !offers.empty()) {
            derivation.remarks.push_back(asks + " looks at " + offers);
        } else if (!asks.empty() || !offers.empty()) {
            derivation.remarks.push_back("token " + asks + offers);
        }
        if (step == "weights" || step == "exponentials" || step == softmax_input()) {
            derivation.remarks.push_back("row over keys: " + row_text(ledger_, derivation.cell));
        }
        if (step != "mask" && place.count("query") != 0 && place.count("key") != 0 &&
            ledger_.has("mask") && at("mask", place).value != 0) {
            derivation.remarks.push_back("the mask hides this cell");
        }
        if (const std::string next = used_by(step, place); !next.empty()) {
            derivation.remarks.push_back("used by " + next);
        }
    }

    /// Which cells read this one next.
    std::string used_by(const std::string& step, const Place& place) const {
        if (step == "scores" && ledger_.has("scaled_scores")) {
            return cell_text(at("scaled_scores", place));
        }
        if ((step == "scores" || step == "scaled_scores") && ledger_.has("masked_scores")) {
            return cell_text(at("masked_scores", place));
        }
        if (step == softmax_input()) return "its whole row of weights, through row_max and row_sum";
        if (step == "weights") {
            return "context of the same query: adds " + four_decimals(at("weights", place).value) +
                   " * value of this key";
        }
        if (step == "query") return "scores of this query with every key";
        if (step == "key") return "scores of every query with this key";
        if (step == "value") return "context of every query, as much as its weight on this key";
        return {};
    }

    const Plan& plan_;
    const Ledger& ledger_;
};

/// The index that a word or a number names on one axis.
std::size_t index_of(const Plan& plan, const Tensor& tensor, std::size_t axis,
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
    const bool asks = name == "query";
    const auto& tokens = asks ? plan.query_tokens : plan.key_tokens;
    if ((asks || name == "key") && !tokens.empty()) {
        const std::size_t batch = tensor.has_axis("batch") ? before.front() : 0;
        const auto& row = tokens[batch];
        const auto found = std::find(row.begin(), row.end(), word);
        if (found != row.end()) return static_cast<std::size_t>(found - row.begin());
    }
    throw ConfigError("'" + word + "' is no index of the " + name + " axis: use a number" +
                      (asks || name == "key" ? ", or a word of the input" : ""));
}

}  // namespace

Cell parse_cell(const Plan& plan, const Ledger& ledger, const std::string& text) {
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
        cell.indices.push_back(index_of(plan, tensor, axis, cell.indices, words[axis]));
    }
    cell.value = tensor.at(flat_index(cell.indices, tensor.shape()));
    return cell;
}

Derivation derive(const Plan& plan, const Ledger& ledger, const Cell& cell) {
    return Deriver(plan, ledger).derive(cell);
}

std::string cell_text(const Cell& cell) {
    std::string text = cell.step + "[";
    for (std::size_t i = 0; i < cell.indices.size(); ++i) {
        text += (i > 0 ? "," : "") + std::to_string(cell.indices[i]);
    }
    return text + "]";
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
    return text + " sum " + four_decimals(sum);
}

}  // namespace attn
