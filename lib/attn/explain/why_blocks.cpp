#include "attn/explain/why_blocks.hpp"

#include "attn/explain/words.hpp"

namespace attn {
namespace {

Cell at(const Ledger& ledger, const std::string& step, std::vector<std::size_t> indices) {
    const Tensor& tensor = ledger[step];
    const double value = tensor.at(flat_index(indices, tensor.shape()));
    return {step, std::move(indices), value};
}

/// The indices without the one `from_end` places before the last.
std::vector<std::size_t> without(std::vector<std::size_t> indices, std::size_t from_end) {
    indices.erase(indices.end() - 1 - static_cast<std::ptrdiff_t>(from_end));
    return indices;
}

std::string keys_of(const Plan& plan, std::size_t block) {
    const std::size_t first = block * plan.key_block();
    const std::size_t last = std::min(plan.key_len, first + plan.key_block()) - 1;
    return "keys " + std::to_string(first) + " to " + std::to_string(last);
}

/// The cell of a running number one block earlier.
Cell before(const Ledger& ledger, const Cell& cell, std::size_t block_axis) {
    std::vector<std::size_t> indices = cell.indices;
    --indices[block_axis];
    return at(ledger, cell.step, std::move(indices));
}

/// `2.1 * 0.5 + 0.3`: what was there, corrected, and what the block added.
std::string corrected(const Cell& earlier, const Cell& correction, double now) {
    return four_decimals(earlier.value) + " * " + four_decimals(correction.value) + " + " +
           four_decimals(now - earlier.value * correction.value);
}

void derive_running(const Plan& plan, const Ledger& ledger, Derivation& derivation) {
    const Cell& cell = derivation.cell;
    const std::size_t axis = cell.indices.size() - 1;
    const std::size_t block = cell.indices[axis];
    const std::string keys = keys_of(plan, block);
    if (cell.step == "running_max") {
        derivation.rule = block == 0 ? "the largest score with " + keys
                                     : "the larger of running_max before and the largest score "
                                       "with " +
                                           keys;
        if (block > 0) derivation.sources = {before(ledger, cell, axis)};
        return;
    }
    const Cell now = at(ledger, "running_max", cell.indices);
    if (cell.step == "correction") {
        derivation.rule = block == 0 ? "0, for nothing was gathered before block 0"
                                     : "exp(running_max before - running_max)";
        derivation.sources = {now};
        if (block == 0) return;
        const Cell then = before(ledger, now, axis);
        derivation.arithmetic =
            "exp(" + four_decimals(then.value) + " - " + four_decimals(now.value) + ")";
        derivation.sources = {then, now};
        return;
    }
    derivation.rule = "the sum over " + keys + " of exp(score - running_max)";
    derivation.sources = {now};
    if (block == 0) return;
    const Cell correction = at(ledger, "correction", cell.indices);
    const Cell earlier = before(ledger, cell, axis);
    derivation.rule = "running_sum before * correction + " + derivation.rule;
    derivation.arithmetic = corrected(earlier, correction, cell.value);
    derivation.sources = {earlier, correction, now};
}

void derive_partial(const Plan& plan, const Ledger& ledger, Derivation& derivation) {
    const Cell& cell = derivation.cell;
    const std::size_t axis = cell.indices.size() - 3;
    const std::size_t block = cell.indices[axis];
    derivation.rule =
        "the sum over " + keys_of(plan, block) + " of exp(score - running_max) * value";
    // running_max and correction have the block behind the query and no feature.
    std::vector<std::size_t> place = without(without(cell.indices, 0), 1);
    place.push_back(block);
    derivation.sources = {at(ledger, "running_max", place)};
    if (block == 0) return;
    const Cell correction = at(ledger, "correction", place);
    const Cell earlier = before(ledger, cell, axis);
    derivation.rule = "partial_context before * correction + " + derivation.rule;
    derivation.arithmetic = corrected(earlier, correction, cell.value);
    derivation.sources.insert(derivation.sources.begin(), {earlier, correction});
}

void derive_context(const Plan& plan, const Ledger& ledger, Derivation& derivation) {
    if (!plan.traces_blocks()) {
        derivation.rule =
            "softmax(scores) @ value, block by block; too large to be followed: "
            "--variant vectorized keeps the weights that tell why";
        return;
    }
    const std::size_t last = ledger["running_sum"].extent("block") - 1;
    std::vector<std::size_t> place = without(derivation.cell.indices, 0);
    place.push_back(last);
    const Cell sum = at(ledger, "running_sum", place);
    place = derivation.cell.indices;
    place.insert(place.end() - 2, last);
    const Cell partial = at(ledger, "partial_context", place);
    derivation.rule = "partial_context / running_sum, after the last block";
    derivation.arithmetic = four_decimals(partial.value) + " / " + four_decimals(sum.value);
    derivation.sources = {partial, sum};
}

}  // namespace

std::optional<Derivation> derive_block(const Plan& plan, const Ledger& ledger, const Cell& cell) {
    if (!plan.fused()) return std::nullopt;
    Derivation derivation;
    derivation.cell = cell;
    if (cell.step == "running_max" || cell.step == "correction" || cell.step == "running_sum") {
        derive_running(plan, ledger, derivation);
    } else if (cell.step == "partial_context") {
        derive_partial(plan, ledger, derivation);
    } else if (cell.step == "context") {
        derive_context(plan, ledger, derivation);
    } else {
        return std::nullopt;
    }
    return derivation;
}

}  // namespace attn
