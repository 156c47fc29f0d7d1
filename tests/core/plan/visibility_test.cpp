// The one rule for the keys that a query may see, against masks written down cell by cell.
#include "attn/core/plan/visibility.hpp"
#include "attn/core/settings/settings.hpp"

#include <doctest/doctest.h>

#include "attn/ground/tensor/error.hpp"

using namespace attn;

namespace {

WalkConfig sized(std::int64_t queries, std::int64_t keys) {
    WalkConfig config;
    config.query_len = queries;
    config.memory = RandomInput{};
    config.key_len = keys;
    return config;
}

/// The rows of the mask, 1 in hidden cells.
std::string hidden(const WalkConfig& config) {
    const Tensor mask = Visibility(resolve(config)).mask();
    std::string rows;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        if (i > 0 && i % mask.shape().back() == 0) rows += ' ';
        rows += mask.at(i) != 0 ? '1' : '0';
    }
    return rows;
}

}  // namespace

TEST_SUITE("walk: visibility") {
    TEST_CASE("a causal mask hides the keys after the query, counted from either end") {
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
        configure(config, "batch 2, heads 2, lengths 1,2");
        config.mask.padding = true;
        const Plan plan = resolve(config);
        const Tensor mask = Visibility(plan).mask();
        CHECK(mask.shape() == Shape{2, 1, 1, 2});
        CHECK(mask.numbers() == std::vector<double>{0, 1, 0, 0});
    }
    TEST_CASE("a window of W keys counts the query's own, and does not restrict later keys") {
        WalkConfig config = sized(4, 4);
        config.mask.window = 2;
        CHECK(hidden(config) == "0000 0000 1000 1100");
        config.mask.causal = true;
        CHECK(hidden(config) == "0111 0011 1001 1100");
        config.mask.window = 1;
        CHECK(hidden(config) == "0111 1011 1101 1110");
    }
    TEST_CASE("a window that holds all keys hides none") {
        for (const std::int64_t keys : {4, 5, 1'000'000'000}) {
            WalkConfig config = sized(4, 4);
            config.mask.causal = true;
            const std::string causal = hidden(config);
            config.mask.window = keys;
            CHECK(hidden(config) == causal);
        }
    }
    TEST_CASE("windows, chunks and documents depend on positions, not on rows") {
        WalkConfig config = sized(2, 5);  // the queries of positions 3 and 4
        config.causal_align = CausalAlign::end;
        config.mask.window = 3;
        CHECK(hidden(config) == "10000 11000");
        config.mask = {};
        config.mask.chunk = 4;
        CHECK(hidden(config) == "00001 11110");
        config.mask = {};
        config.mask.documents = {1, 3, 1};
        CHECK(hidden(config) == "10001 11110");
        config.mask = {};
        config.mask.prefix = 1;
        CHECK(hidden(config) == "00001 00000");
    }
    TEST_CASE("a dilated window of W keys S apart counts the query's own") {
        WalkConfig config = sized(5, 5);
        config.mask.dilated = {2, 2};
        CHECK(hidden(config) == "01010 10101 01010 10101 11010");
        config.mask.causal = true;
        CHECK(hidden(config) == "01111 10111 01011 10101 11010");
        config.mask.dilated = {3, 1};  // a window
        const std::string dense = hidden(config);
        config.mask.dilated.reset();
        config.mask.window = 3;
        CHECK(dense == hidden(config));
        config.mask.dilated = {0, 2};
        CHECK_THROWS_AS(resolve(config), ConfigError);
    }
    TEST_CASE("chunks of queries before the first key start at multiples, too") {
        WalkConfig config = sized(5, 3);  // positions -2 to 2
        config.causal_align = CausalAlign::end;
        config.mask.chunk = 2;
        CHECK(hidden(config) == "111 111 001 001 110");
    }
    TEST_CASE("a prefix is read in both directions, the rest from left to right") {
        WalkConfig config = sized(4, 4);
        config.mask.prefix = 2;
        CHECK(hidden(config) == "0011 0011 0001 0000");
        config.mask.causal = true;  // adds nothing
        CHECK(hidden(config) == "0011 0011 0001 0000");
        config.mask.window = 2;  // limits the prefix, too
        CHECK(hidden(config) == "0011 0011 1001 1100");
        config.mask.prefix = 0;
        CHECK(hidden(config) == "0111 0011 1001 1100");
    }
    TEST_CASE("documents see only themselves") {
        WalkConfig config = sized(6, 6);
        config.mask.documents = {1, 3, 2};
        CHECK(hidden(config) == "011111 100011 100011 100011 111100 111100");
        config.mask.documents = {1, 3};
        CHECK_THROWS_WITH_AS(resolve(config),
                             "mask documents:1+3 does not add up to the 6 keys: give the number "
                             "of tokens of each document",
                             ConfigError);
        config.mask.documents = {7, -1};
        CHECK_THROWS_AS(resolve(config), ConfigError);
        config = sized(6, 4);
        config.mask.documents = {1, 3};
        CHECK_THROWS_AS(resolve(config), ConfigError);
    }
    TEST_CASE("kernels, printed masks and single cells agree for every combination") {
        for (int mask = 1; mask < 256; ++mask) {
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
                    if ((mask & 8) != 0) config.mask.window = 2;
                    if ((mask & 16) != 0) config.mask.chunk = 2;
                    if ((mask & 32) != 0) config.mask.prefix = 2;
                    if ((mask & 64) != 0) config.mask.documents = {1, 3};
                    if ((mask & 128) != 0) config.mask.dilated = {2, 2};
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
                                    hidden |= kind.chosen(config.mask) &&
                                              HiddenCells(kind, plan).hides(cell);
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
