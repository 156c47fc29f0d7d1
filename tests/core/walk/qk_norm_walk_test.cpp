#include <doctest/doctest.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/codegen/code.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/support/walked.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

WalkConfig normed(NormOver over) {
    WalkConfig config =
        configured("heads 4, kv-heads 2, head-dim 6, seq-len 5, dtype float64, rope half");
    config.qk_norm.over = over;
    config.qk_norm.eps = 0;
    return config;
}

/// The sum of the squared features of one token and head.
double squares(const Tensor& tensor, std::size_t head, std::size_t token) {
    double sum = 0;
    for (std::size_t f = 0; f < tensor.shape().back(); ++f) {
        const double number = tensor.at(flat_index({head, token, f}, tensor.shape()));
        sum += number * number;
    }
    return sum;
}

}  // namespace

TEST_SUITE("walk: norms of query and key") {
    TEST_CASE(
        "the sum of squares is head_dim over a head, the sum of all widths over all heads, 1 for "
        "l2") {
        const Ledger head = walked(normed(NormOver::head));
        const Ledger all = walked(normed(NormOver::all));
        const Ledger unit = walked(normed(NormOver::l2));
        for (std::size_t t = 0; t < 5; ++t) {
            double together = 0;
            for (std::size_t h = 0; h < 2; ++h) {
                CHECK(squares(head["normed_key"], h, t) == doctest::Approx(6));
                CHECK(squares(unit["normed_key"], h, t) == doctest::Approx(1));
                together += squares(all["normed_key"], h, t);
            }
            CHECK(together == doctest::Approx(12));
        }
        CHECK(head["g_query"].shape() == Shape{6});
        CHECK(all["g_query"].shape() == Shape{24});
        CHECK(all["g_key"].shape() == Shape{12});
        CHECK_FALSE(unit.has("g_query"));
    }

    TEST_CASE("without a gain, or with equal gains in a pair, norm and rotation commute") {
        WalkConfig config = normed(NormOver::head);
        const Ledger before = walked(config);
        config.qk_norm.place = QkNorm::Place::after;
        const Ledger after = walked(config);
        CHECK(largest_difference(before["scores"], after["scores"]) < 1e-13);
        Array<double> gains{1, 2, 3, 1, 2, 3};
        config.parameters.record("g_query", Tensor({"feature"}, gains));
        const Ledger paired_after = walked(config);
        config.qk_norm.place = QkNorm::Place::before;
        CHECK(largest_difference(walked(config)["scores"], paired_after["scores"]) < 1e-13);
        gains = {1, 2, 3, 4, 5, 6};
        config.parameters.record("g_query", Tensor({"feature"}, gains));
        const Ledger unpaired = walked(config);
        config.qk_norm.place = QkNorm::Place::after;
        CHECK(largest_difference(walked(config)["scores"], unpaired["scores"]) > 0.1);
    }

    TEST_CASE("with the norm after the rotation, steps, formula and code have that order") {
        WalkConfig config = normed(NormOver::head);
        config.qk_norm.place = QkNorm::Place::after;
        const Plan plan = resolve(config);
        const StepTable& table = step_table(plan);
        const Step& norm = find_step(table, "normed_query");
        CHECK(displayed_rule({plan, table, norm}).find("rotated_query[t,f]") != std::string::npos);
        const std::string code = step_code("scores", plan, table, CodeLanguage::torch);
        CHECK(code.find("normed_query @ repeated_key") != std::string::npos);
        const Ledger ledger = walk(plan, draw(plan));
        CHECK(ledger.find_latest(Chain::queries)->name == "normed_query");
        CHECK(ledger.find_latest(Chain::queries, "normed_query")->name == "rotated_query");
    }

    TEST_CASE("the variants agree") {
        for (const NormOver over : {NormOver::head, NormOver::all, NormOver::l2}) {
            WalkConfig config = normed(over);
            config.variant = Variant::loop;
            const Ledger loops = walked(config);
            for (const Variant variant : {Variant::vectorized, Variant::fused}) {
                config.variant = variant;
                CHECK(largest_difference(loops["context"], walked(config)["context"]) < 1e-14);
            }
        }
    }

    TEST_CASE("a negative or invalid eps is refused, and a gain of the wrong length") {
        WalkConfig config = normed(NormOver::head);
        config.qk_norm.eps = -1;
        CHECK_THROWS_AS(resolve(config), ConfigError);
        config.qk_norm.eps = std::nan("");
        CHECK_THROWS_AS(resolve(config), ConfigError);
        config.qk_norm.eps = 1e-6;
        config.parameters.record("g_query", Tensor({"feature"}, Array<double>{1, 2}));
        CHECK_THROWS_AS(draw(resolve(config)), ShapeError);
    }
}
