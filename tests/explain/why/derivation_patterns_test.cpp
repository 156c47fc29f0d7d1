#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/why/why.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/core/plan/random_plans.hpp"

using namespace attn;

namespace {

std::vector<std::size_t> indices_of(std::size_t flat, const Shape& shape) {
    std::vector<std::size_t> indices(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0; flat /= shape[axis]) {
        indices[axis] = flat % shape[axis];
    }
    return indices;
}

/// The number of a source, read from a pattern as a page reads it.
std::size_t source_number(const SourceCells& cells, const std::vector<std::size_t>& indices,
                          std::size_t ordinal, std::size_t count, std::size_t term) {
    if (cells.strides.empty()) return cells.numbers[ordinal * count + term];
    std::ptrdiff_t number =
        cells.strides.front() + cells.strides.back() * static_cast<std::ptrdiff_t>(term);
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
        number += cells.strides[axis + 1] * static_cast<std::ptrdiff_t>(indices[axis]);
    }
    return static_cast<std::size_t>(number);
}

/// Compares every cell's pattern with derive() of the cell.
void check_step(const Plan& plan, const StepTable& table, const Ledger& ledger,
                const std::string& name) {
    const Shape shape = ledger[name].shape();
    std::vector<bool> seen(ledger[name].size());
    for (const DerivationPattern& pattern : derivation_patterns(plan, table, ledger, name)) {
        std::size_t ordinal = 0;
        for (std::size_t run = 0; run < pattern.cells.size(); run += 2) {
            for (std::size_t i = 0; i < pattern.cells[run + 1]; ++i, ++ordinal) {
                const std::size_t flat = pattern.cells[run] + i;
                REQUIRE_FALSE(seen[flat]);
                seen[flat] = true;
                const auto indices = indices_of(flat, shape);
                const Cell cell{name, indices, ledger[name].at(flat)};
                const Derivation derivation = derive(plan, table, ledger, cell);
                REQUIRE(pattern.rule == derivation.rule);
                REQUIRE(pattern.is_sum == !derivation.terms.empty());
                std::vector<std::pair<std::string, std::size_t>> sources;
                for (const TermRun& run_of : pattern.terms) {
                    for (std::size_t t = 0; t < run_of.count; ++t) {
                        for (const SourceCells& factor : run_of.factors) {
                            sources.emplace_back(
                                factor.step,
                                source_number(factor, indices, ordinal, run_of.count, t));
                        }
                    }
                }
                REQUIRE(sources.size() >= derivation.sources.size());
                for (std::size_t s = 0; s < derivation.sources.size(); ++s) {
                    const Cell& source = derivation.sources[s];
                    const Shape of_source = ledger[source.step].shape();
                    REQUIRE_MESSAGE(sources[s].first == source.step, cell_text(cell));
                    REQUIRE_MESSAGE(sources[s].second == flat_index(source.indices, of_source),
                                    cell_text(cell) << " reads " << cell_text(source));
                }
            }
        }
    }
    if (rule_of({plan, table, find_step(table, name)})) {
        CHECK(std::find(seen.begin(), seen.end(), false) == seen.end());
    }
}

}  // namespace

TEST_SUITE("explain: derivation patterns") {
    TEST_CASE("every cell of every step has the sources that derive() gives it") {
        std::mt19937 random(17);
        for (int i = 0; i < 25; ++i) {
            const Plan plan = resolve(random_config(random));
            const Ledger ledger = walk(plan, draw(plan));
            for (const Ledger::Entry& entry : ledger.entries()) {
                INFO(entry.name);
                check_step(plan, step_table(plan), ledger, entry.name);
            }
        }
    }

    TEST_CASE("a regular step is one pattern, however many cells it has") {
        WalkConfig config;
        config.input = RandomInput{};
        configure(config, "seq-len 9, embed-dim 8, heads 2");
        const Plan plan = resolve(config);
        const Ledger ledger = walk(plan, draw(plan));
        const auto scores = derivation_patterns(plan, step_table(plan), ledger, "scores");
        REQUIRE(scores.size() == 1);
        CHECK(scores[0].cells == std::vector<std::size_t>{0, 2 * 9 * 9});
        CHECK(scores[0].terms.at(0).count == 4);
        const auto weights = derivation_patterns(plan, step_table(plan), ledger, "weights");
        CHECK(weights.size() <= 4);
        CHECK(weights.back().arithmetic == "exp({0v} - {1v}) / {2v}");
        CHECK(derivation_patterns(plan, step_table(plan), ledger, "w_query").empty());
    }

    TEST_CASE("if a mistake made the number, no rule is claimed for it") {
        WalkConfig config;
        config.input = RandomInput{};
        config.query_len = 4;
        config.embed_dim = 4;
        const Plan plan = resolve(config);
        const StepTable table = with_mistakes(step_table(plan), plan, {"q-dot-q"});
        const Ledger ledger = walk(plan, draw(plan), table);
        for (const auto& pattern : derivation_patterns(plan, table, ledger, "scores")) {
            CHECK(pattern.rule != "sum f: query[q,f] * key[k,f]");
        }
        CHECK(derivation_patterns(plan, table, ledger, "weights").size() > 0);
    }
}
