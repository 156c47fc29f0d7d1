#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/judge/mistakes/configurations.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

/// Two tokens, one head, in double: small enough to work out on paper.
WalkConfig paper_config() {
    WalkConfig config = configured("projection none, dtype float64");
    config.input = Tensor({"query", "feature"}, Array<double>{{1.0, 2.0}, {3.0, -1.0}});
    return config;
}

Ledger walk_with(const WalkConfig& config, const std::vector<std::string>& ids) {
    const Plan plan = resolve(config);
    return walk(plan, draw(plan), with_mistakes(step_table(), plan, ids));
}

}  // namespace

TEST_SUITE("mistakes") {
    TEST_CASE("the catalogue has at least fifty families, with unique ids, each described") {
        std::set<std::string> ids;
        std::set<std::string> families;
        for (const Mistake& mistake : mistakes()) {
            CAPTURE(mistake.id);
            CHECK(ids.insert(mistake.id).second);
            families.insert(mistake.family());
            for (const Prose* words : {&mistake.title, &mistake.effect, &mistake.fix_torch,
                                       &mistake.fix_numpy, &mistake.lesson}) {
                CHECK_FALSE(words->empty());
            }
            // A title is read on its own: it states the mistake, not only its place.
            CHECK(std::ranges::count(mistake.title.raw(), ' ') >= 3);
            CHECK_NOTHROW(find_step(step_table(), mistake.step));
        }
        CHECK(families.size() >= 50);
    }

    TEST_CASE("two mistakes make a walk, or their shapes are reported not to fit") {
        WalkConfig shared = paper_config();
        shared.input = RandomInput{};
        shared.projection = Projection::split;
        shared.heads = 4;
        shared.kv_heads = 2;
        shared.query_len = 3;
        shared.head_dim = 2;
        shared.mask.causal = true;
        WalkConfig fused = shared;
        fused.kv_heads.reset();
        fused.projection = Projection::fused;
        for (const auto& [config, id] :
             {std::pair(shared, "gqa-repeat-axis"), {fused, "shared-head-weight"}}) {
            const Plan plan = resolve(config);
            const Ledger drawn = draw(plan);
            for (const Mistake& other : mistakes()) {
                if (!other.applies(plan) || other.id == id) continue;
                for (const std::vector<std::string>& ids :
                     {std::vector{std::string(id), other.id}, {other.id, std::string(id)}}) {
                    CAPTURE(other.id);
                    try {
                        walk(plan, drawn, with_mistakes(step_table(), plan, ids));
                    } catch (const ShapeError&) {
                    } catch (const std::exception& error) {
                        FAIL_CHECK(error.what());
                    }
                }
            }
        }
    }

    TEST_CASE("scores on paper: 5, 1; 1, 10") {
        const WalkConfig config = paper_config();
        CHECK(walk_with(config, {"key-index-i"})["scores"].at(1) == 5);
        CHECK(walk_with(config, {"key-index-i"})["scores"].at(2) == 10);
        CHECK(walk_with(config, {"scale-missing"})["scaled_scores"].at(0) == 5);
        CHECK(walk_with(config, {"scale-twice"})["scaled_scores"].at(0) == doctest::Approx(2.5));
        CHECK(walk_with(config, {"scale-multiplied"})["scaled_scores"].at(0) ==
              doctest::Approx(5 * std::sqrt(2)));
    }

    TEST_CASE("weights that are all one give the sum of the values") {
        const Ledger ledger = walk_with(paper_config(), {"softmax-axis=one"});
        CHECK(ledger["context"].at(0) == 4);
        CHECK(ledger["context"].at(3) == 1);
    }

    TEST_CASE("repeated words take the number of their last repetition") {
        WalkConfig config;
        config.input = Tokens{{{2, 1, 2, 0}}, {}, 4, {}, false};
        config.embed_dim = 2;
        const Ledger ledger = walk_with(config, {"vocab-duplicates"});
        CHECK(ledger["ids"].at(0) == 3);
        CHECK(ledger["ids"].at(1) == 1);
        CHECK(ledger["ids"].at(3) == 0);
        CHECK(ledger["x"].at(0) == ledger["embedding"].at(6));
    }

    TEST_CASE("mistakes compose: uniform scores hide the missing scale") {
        WalkConfig config = paper_config();
        const Ledger both = walk_with(config, {"key-index-i", "scale-missing"});
        CHECK(both["scaled_scores"].at(0) == 5);
        CHECK(both["weights"].at(0) == 0.5);
    }

    TEST_CASE("an unknown id, and a mistake without effect, are refused with a remedy") {
        CHECK_THROWS_WITH_AS(find_mistake("scale-mising"), doctest::Contains("scale-missing"),
                             ConfigError);
        CHECK_THROWS_WITH_AS(walk_with(paper_config(), {"merge-reshape"}),
                             doctest::Contains("no heads are merged"), ConfigError);
        CHECK(find_mistake("finite-fill").id.starts_with("finite-fill="));
        CHECK_THROWS_WITH(find_mistake("mask-sign"), doctest::Contains("mask-sign=plus"));
    }
}
