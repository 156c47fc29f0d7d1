#include "attn/explain/why_parts.hpp"
#include "attn/explain/words.hpp"

namespace attn {
namespace {

/// The word at a place of one axis, quoted; empty without words or without the axis.
std::string token(const std::vector<std::vector<std::string>>& tokens, const Place& place,
                  const std::string& axis) {
    if (tokens.empty() || place.count(axis) == 0) return {};
    const std::size_t batch = place.count("batch") != 0 ? place.at("batch") : 0;
    return "'" + tokens[batch][place.at(axis)] + "'";
}

/// Which cells read this one next.
std::string used_by(const WalkView& view, const std::string& step, const Place& place) {
    if (step == "scores" && view.ledger.has("scaled_scores")) {
        return cell_text(view.at("scaled_scores", place));
    }
    if ((step == "scores" || step == "scaled_scores") && view.ledger.has("masked_scores")) {
        return cell_text(view.at("masked_scores", place));
    }
    if (step == view.softmax_input())
        return "its whole row of weights, through row_max and row_sum";
    if (step == "weights") {
        return "context of the same query: adds " + four_decimals(view.at("weights", place).value) +
               " * value of this key";
    }
    if (step == "query") return "scores of this query with every key";
    if (step == "key") return "scores of every query with this key";
    if (step == "value") return "context of every query, as much as its weight on this key";
    return {};
}

}  // namespace

void add_remarks(const WalkView& view, const std::string& step, const Place& place,
                 Derivation& derivation) {
    const char* side = step.starts_with("memory") ? "key" : "query";
    const Place named = place.count("token") != 0 ? at_position(place, side) : place;
    const std::string asks = token(view.plan.query_tokens, named, "query");
    const std::string offers = token(view.plan.key_tokens, named, "key");
    if (!asks.empty() && !offers.empty()) {
        derivation.remarks.push_back(asks + " looks at " + offers);
    } else if (!asks.empty() || !offers.empty()) {
        derivation.remarks.push_back("token " + asks + offers);
    }
    if (step == "weights" || step == "exponentials" || step == view.softmax_input()) {
        derivation.remarks.push_back("row over keys: " + row_text(view.ledger, derivation.cell));
    }
    if (step != "mask" && place.count("query") != 0 && place.count("key") != 0 &&
        view.ledger.has("mask") && view.at("mask", place).value != 0) {
        derivation.remarks.push_back("the mask hides this cell");
    }
    if (const std::string next = used_by(view, step, place); !next.empty()) {
        derivation.remarks.push_back("used by " + next);
    }
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
