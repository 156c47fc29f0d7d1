#include "attn/explain/why.hpp"

#include <array>

#include "attn/explain/why_blocks.hpp"
#include "attn/explain/why_parts.hpp"

namespace attn {

Place place_of(const Tensor& tensor, const Cell& cell) {
    Place place;
    for (std::size_t i = 0; i < cell.indices.size(); ++i) place[tensor.axes()[i]] = cell.indices[i];
    return place;
}

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

Cell WalkView::at(const std::string& step, const Place& place) const {
    const Tensor& tensor = ledger[step];
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

std::string WalkView::softmax_input() const { return ledger.find_latest(Chain::scores)->name; }

std::string WalkView::softmax_axis() const {
    static constexpr std::array names{"key", "query", "head", "batch"};
    return names[static_cast<std::size_t>(plan.config.softmax_axis)];
}

void add_product(Derivation& derivation, const Cell& left, const Cell& right) {
    derivation.terms.push_back({left, right, left.value * right.value});
}

void copy(Derivation& derivation, const Cell& source, const std::string& rule) {
    derivation.rule = rule;
    derivation.arithmetic = cell_text(source);
    derivation.sources = {source};
}

Derivation derive(const Plan& plan, const Ledger& ledger, const Cell& cell) {
    const WalkView view{plan, ledger};
    const Place place = place_of(ledger[cell.step], cell);
    Derivation derivation;
    derivation.cell = cell;
    if (const auto block = derive_block(plan, ledger, cell)) {
        derivation = *block;
    } else if (!derive_attention(view, cell.step, place, derivation) &&
               !derive_features(view, cell.step, place, derivation)) {
        derivation.rule = "drawn or given: the walk starts from it";
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
    add_remarks(view, cell.step, place, derivation);
    return derivation;
}

}  // namespace attn
