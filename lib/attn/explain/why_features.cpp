#include "attn/explain/why_parts.hpp"

namespace attn {
namespace {

void derive_merged(const WalkView& view, const Place& place, Derivation& derivation) {
    const std::size_t feature = place.at("feature");
    const std::size_t head = feature / view.plan.value_dim;
    const Place inside = with(with(at_position(place, "query"), "head", head), "feature",
                              feature % view.plan.value_dim);
    copy(derivation, view.at("context", inside),
         "feature " + std::to_string(feature % view.plan.value_dim) + " of head " +
             std::to_string(head));
}

/// A sum over the input features of one projection, and its bias.
void add_projection(const WalkView& view, const std::string& source, Place row,
                    const std::string& parameter, std::size_t out, Derivation& derivation) {
    const Tensor& tensor = view.ledger[source];
    row = at_position(row, tensor.axes()[tensor.dimension() - 2]);
    const bool per_head = view.ledger["w_" + parameter].has_axis("head");
    for (std::size_t i = 0; i < tensor.extent("feature"); ++i) {
        Place weight{{"out", out}, {"in", i}};
        if (per_head) weight["head"] = row.at("head");
        add_product(derivation, view.at(source, with(row, "feature", i)),
                    view.at("w_" + parameter, weight));
    }
    if (view.ledger.has("b_" + parameter)) {
        Place bias{{"out", out}};
        if (per_head) bias["head"] = row.at("head");
        const Cell cell = view.at("b_" + parameter, bias);
        derivation.terms.push_back({cell, std::nullopt, cell.value});
    }
    derivation.rule = "sum over features f of " + source + "(f) * w_" + parameter + "(f)" +
                      (view.ledger.has("b_" + parameter) ? ", and the bias" : "");
}

void derive_output(const WalkView& view, const Place& place, Derivation& derivation) {
    const std::string source = view.ledger.has("merged") ? "merged" : "context";
    add_projection(view, source, place, "output", place.at("feature"), derivation);
}

void derive_projection(const WalkView& view, const std::string& step, const Place& place,
                       Derivation& derivation) {
    const std::string part = step.rfind("projected_", 0) == 0 ? step.substr(10) : step;
    const std::size_t number = part == "query" ? 0 : part == "key" ? 1 : 2;
    const std::string source = number > 0 && view.plan.has_memory && step != "qkv" ? "memory" : "x";
    const std::size_t feature = place.at("feature");
    if (step == "qkv") {
        return add_projection(view, "x", place, "qkv", feature, derivation);
    }
    const std::size_t width = number == 2 ? view.plan.value_dim : view.plan.head_dim;
    const std::size_t head = place.count("head") != 0 ? place.at("head") : 0;
    const std::size_t side_by_side = head * width + feature;
    if (part == step && view.ledger.has("qkv")) {
        Place cut = at_position(place, "query");
        cut["feature"] = view.plan.fused_features(number)[side_by_side];
        return copy(derivation, view.at("qkv", cut), "cut out of qkv");
    }
    if (part == step && view.ledger.has("projected_" + part)) {
        return copy(derivation, view.at("projected_" + part, with(place, "feature", side_by_side)),
                    "feature " + std::to_string(feature) + " of head " + std::to_string(head));
    }
    if (view.plan.config.projection == Projection::none) {
        if (!view.plan.has_x()) {
            derivation.rule = "drawn or given: the walk starts from it";
            return;
        }
        const Place same = with(at_position(place, "token"), "feature", side_by_side);
        return copy(derivation, view.at(source, same), "there is no projection");
    }
    if (!view.plan.one_weight()) {
        return add_projection(view, source, place, part, feature, derivation);
    }
    const std::size_t row = view.plan.fused_features(number)[feature];
    add_projection(view, source, place, "qkv", row, derivation);
}

void derive_looked_up(const WalkView& view, const std::string& step, const Place& place,
                      Derivation& derivation) {
    const std::string ids = step == "x" ? "ids" : "memory_ids";
    const std::string table = step == "x" ? "embedding" : "memory_embedding";
    if (!view.ledger.has(ids)) {
        derivation.rule = "drawn or given: the walk starts from it";
        return;
    }
    const Cell id = view.at(ids, place);
    const Place row{{"vocab", static_cast<std::size_t>(id.value)},
                    {"feature", place.at("feature")}};
    copy(derivation, view.at(table, row),
         "the row of " + table + " that the id " + std::to_string(static_cast<long>(id.value)) +
             " names");
}

bool is_projection(const std::string& step) {
    return step == "query" || step == "key" || step == "value" || step == "qkv" ||
           step.rfind("projected_", 0) == 0;
}

}  // namespace

bool derive_features(const WalkView& view, const std::string& step, const Place& place,
                     Derivation& derivation) {
    if (step == "merged") {
        derive_merged(view, place, derivation);
    } else if (step == "output") {
        derive_output(view, place, derivation);
    } else if (step == "x" || step == "memory") {
        derive_looked_up(view, step, place, derivation);
    } else if (is_projection(step)) {
        derive_projection(view, step, place, derivation);
    } else {
        return false;
    }
    return true;
}

}  // namespace attn
