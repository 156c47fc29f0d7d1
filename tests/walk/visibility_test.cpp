// The one rule of which keys a query may see, against masks written down cell by cell.
#include "attn/walk/visibility.hpp"

#include <doctest/doctest.h>

using namespace attn;

namespace {

WalkConfig sized(std::int64_t queries, std::int64_t keys) {
    WalkConfig config;
    config.query_len = queries;
    config.memory = RandomInput{};
    config.key_len = keys;
    return config;
}

}  // namespace

TEST_SUITE("walk: visibility") {
    TEST_CASE("a causal mask hides what comes after the query, from either end") {
        WalkConfig config = sized(2, 3);
        config.mask.causal = true;
        CHECK(Visibility(resolve(config)).mask().as<bool>() ==
              Array<bool>{{false, true, true}, {false, false, true}});
        config.causal_align = CausalAlign::end;
        CHECK(Visibility(resolve(config)).mask().as<bool>() ==
              Array<bool>{{false, false, true}, {false, false, false}});
    }
    TEST_CASE("padding is hidden from every head and query of its own sequence") {
        WalkConfig config = sized(2, 2);
        config.batch = 2;
        config.heads = 2;
        config.lengths = {1, 2};
        config.mask.padding = true;
        const Plan plan = resolve(config);
        const Tensor mask = Visibility(plan).mask();
        CHECK(mask.shape() == Shape{2, 1, 1, 2});
        CHECK(mask.numbers() == std::vector<double>{0, 1, 0, 0});
    }
    TEST_CASE("kernels, printed masks and single cells agree for every combination") {
        for (int mask = 1; mask < 8; ++mask) {
            for (const bool batch : {false, true}) {
                for (const std::int64_t heads : {1, 2}) {
                    WalkConfig config = sized(3, 4);
                    if (batch) config.batch = 2;
                    config.heads = heads;
                    config.mask.causal = (mask & 1) != 0;
                    config.mask.padding = (mask & 2) != 0;
                    if (config.mask.padding) {
                        config.lengths =
                            batch ? std::vector<std::int64_t>{2, 4} : std::vector<std::int64_t>{3};
                    }
                    if ((mask & 4) != 0) {
                        Array<bool> cells = Array<bool>::filled({3, 4}, false);
                        cells(0, 0) = cells(2, 1) = true;
                        config.mask.given = Tensor({"query", "key"}, cells);
                    }
                    const Plan plan = resolve(config);
                    const Visibility visibility(plan);
                    const Tensor printed = visibility.mask();
                    const MaskView as_cells = view_of(printed.as<bool>(), plan);
                    for (std::size_t g = 0; g < plan.batch * plan.heads; ++g) {
                        for (std::size_t q = 0; q < 3; ++q) {
                            for (std::size_t k = 0; k < 4; ++k) {
                                CAPTURE(mask);
                                const ScoreCell cell{g / plan.heads, g % plan.heads, q, k};
                                bool hidden = false;
                                for (const MaskKind& kind : mask_kinds()) {
                                    hidden |= kind.chosen(plan) && kind.hides(plan, cell);
                                }
                                CHECK(visibility.hides(cell) == hidden);
                                CHECK(as_cells.hides(g, q, k) == hidden);
                                CHECK(visibility.view().from(g, q).hides(0, 0, k) == hidden);
                            }
                        }
                    }
                }
            }
        }
    }
}
