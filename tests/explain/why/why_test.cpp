#include "attn/explain/why/why.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "attn/ground/tensor/error.hpp"
#include "tests/core/plan/random_plans.hpp"
#include "tests/judge/mistakes/configurations.hpp"

using namespace attn;

namespace {

Cell cell_at(const Ledger& ledger, const std::string& step, std::size_t flat) {
    Cell cell{step, {}, ledger[step].at(flat)};
    const Shape shape = ledger[step].shape();
    cell.indices.resize(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        cell.indices[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return cell;
}

/// The value of the derivation, computed again from the numbers of its sources.
double recomputed(const Derivation& derivation) {
    double sum = derivation.rounding;
    for (const Term& term : derivation.terms) {
        const double right = term.right ? term.right->value : 1;
        CHECK(term.value ==
              (!term.form.empty() ? std::exp(term.left.value - right) : term.left.value * right));
        CHECK(!term.form.empty() == (term.left.step == "sink"));
        sum += term.value;
    }
    return sum;
}

/// A bound on the rounding of a sum of these terms in the walk's type.
double rounding_bound(const Derivation& derivation, DType dtype) {
    double magnitude = 0;
    for (const Term& term : derivation.terms) magnitude += std::abs(term.value);
    const double eps = dtype == DType::float64 ? 2.3e-16 : 1.2e-7;
    return 2 * static_cast<double>(derivation.terms.size() + 1) * eps * magnitude;
}

}  // namespace

TEST_SUITE("explain: why") {
    TEST_CASE("the terms of every step add up to the number in the walk") {
        std::mt19937 random(5);
        std::size_t sums = 0;
        for (int i = 0; i < 150; ++i) {
            const WalkConfig config =
                i % 2 == 0 ? random_config(random) : testing::seeded_config(random());
            const Plan plan = resolve(config);
            const Ledger ledger = walk(plan, draw(plan));
            for (const auto& [step, tensor] : ledger.entries()) {
                const Cell cell = cell_at(ledger, step, random() % tensor.size());
                const Derivation derivation = derive(plan, step_table(plan), ledger, cell);
                const bool same = derivation.cell.value == cell.value || std::isnan(cell.value);
                CHECK(same);
                CHECK_FALSE(derivation.rule.empty());
                for (const Cell& source : derivation.sources) {
                    CHECK(parse_cell(plan, step_table(plan), ledger, cell_text(source)).step ==
                          source.step);
                }
                if (derivation.terms.empty() || !std::isfinite(cell.value)) continue;
                ++sums;
                INFO(cell_text(cell) << " configuration " << i);
                CHECK(recomputed(derivation) == doctest::Approx(cell.value).epsilon(4e-15));
                CHECK(std::abs(derivation.rounding) <=
                      rounding_bound(derivation, plan.compute_dtype));
            }
        }
        CHECK(sums > 500);
    }

    TEST_CASE("cells that only copy name the cell they copy, with the same number") {
        std::mt19937 random(6);
        for (int i = 0; i < 100; ++i) {
            const Plan plan = resolve(random_config(random));
            const Ledger ledger = walk(plan, draw(plan));
            for (const char* step : {"query", "key", "value", "merged"}) {
                const Tensor* tensor = ledger.find(step);
                if (tensor == nullptr) continue;
                const Cell cell = cell_at(ledger, step, random() % tensor->size());
                const Derivation derivation = derive(plan, step_table(plan), ledger, cell);
                if (!derivation.terms.empty() || derivation.sources.size() != 1) continue;
                const bool same =
                    derivation.sources[0].value == cell.value ||
                    (std::isnan(cell.value) && std::isnan(derivation.sources[0].value));
                CHECK_MESSAGE(same, cell_text(cell));
            }
        }
    }

    TEST_CASE("printed terms add up to the printed number, in few lines") {
        std::mt19937 random(8);
        for (int i = 0; i < 200; ++i) {
            WalkConfig config = random_config(random);
            config.head_dim = 7;
            if (config.projection == Projection::mha) config.embed_dim = config.heads * 7;
            if (config.projection == Projection::mha) config.value_dim = 7;
            const Plan plan = resolve(config);
            const Ledger ledger = walk(plan, draw(plan));
            const Cell cell = cell_at(ledger, "scores", random() % ledger["scores"].size());
            WhyOptions options;
            options.top = 3;
            const std::string text = why_text(plan, step_table(plan), ledger, cell, options);
            CHECK(std::count(text.begin(), text.end(), '\n') <= 25);
            std::istringstream lines(text);
            double sum = 0;
            double together = 0;
            for (std::string line; std::getline(lines, line);) {
                std::istringstream words(line);
                double number = 0;
                std::string next;
                if (line.rfind("      ", 0) != 0 && line.rfind("  -", 0) != 0 &&
                    line.rfind("   ", 0) != 0) {
                    continue;
                }
                if (!(words >> number >> next)) continue;
                if (next == "sum") {
                    together = number;
                } else {
                    sum += number;
                }
            }
            CHECK_MESSAGE(sum == doctest::Approx(together).epsilon(1e-9), text);
        }
    }

    TEST_CASE("tiny numbers have an exponent, and still add up as printed") {
        WalkConfig config = configured("projection none, scale none, head-dim 2");
        config.parameters.record("query",
                                 Tensor({"query", "feature"}, Array<double>{{1e-6, 2e-6}}));
        config.parameters.record("key", Tensor({"key", "feature"}, Array<double>{{1.5, 1.25}}));
        config.parameters.record("value", Tensor({"key", "feature"}, Array<double>{{1, 2}}));
        config.dtype = DType::float64;
        const Plan plan = resolve(config);
        const Ledger ledger = walk(plan, draw(plan));
        const Cell cell = parse_cell(plan, step_table(plan), ledger, "scores[0,0]");
        const std::string text = why_text(plan, step_table(plan), ledger, cell, {});
        CHECK(text.rfind("scores[0,0] = 4.00000e-06\n", 0) == 0);
        CHECK(text.find(" 2.50000e-06   query[0,1] * key[0,1]") != std::string::npos);
        CHECK(text.find(" 1.50000e-06   query[0,0] * key[0,0]") != std::string::npos);
    }

    TEST_CASE("words are indices if the input has words") {
        WalkConfig config;
        Tokens tokens;
        tokens.sequences = {{1, 2, 1}};
        tokens.vocabulary = {"<pad>", "eat", "short"};
        config.input = tokens;
        const Plan plan = resolve(config);
        const Ledger ledger = walk(plan, draw(plan));
        CHECK(parse_cell(plan, step_table(plan), ledger, "weights[short,'eat']").indices ==
              std::vector<std::size_t>{1, 0});
        CHECK(parse_cell(plan, step_table(plan), ledger, "weights[SHORT,Eat]").indices ==
              std::vector<std::size_t>{1, 0});
        CHECK(parse_cell(plan, step_table(plan), ledger, "x[Short,-1]").indices ==
              std::vector<std::size_t>{1, 3});
        const Derivation repeated =
            derive(plan, step_table(plan), ledger,
                   parse_cell(plan, step_table(plan), ledger, "key[eat,0]"));
        CHECK(repeated.remarks.front() == "'eat' is the first of 2: 0 and 2");
        CHECK(parse_cell(plan, step_table(plan), ledger, "weights[-1, 0]").indices ==
              std::vector<std::size_t>{2, 0});
        CHECK_THROWS_AS(parse_cell(plan, step_table(plan), ledger, "weights[lunch,0]"),
                        ConfigError);
        CHECK_THROWS_AS(parse_cell(plan, step_table(plan), ledger, "weights[0]"), ConfigError);
        CHECK_THROWS_AS(parse_cell(plan, step_table(plan), ledger, "weights[3,0]"), ShapeError);
        CHECK_THROWS_AS(parse_cell(plan, step_table(plan), ledger, "weights"), ConfigError);
        CHECK_THROWS_AS(parse_cell(plan, step_table(plan), ledger, "wights[0,0]"), ConfigError);
    }
}
