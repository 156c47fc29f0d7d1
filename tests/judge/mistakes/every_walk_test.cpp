// Every mistake in hundreds of walks: takes minutes, so it runs with ctest -C Full only.
#include <doctest/doctest.h>

#include <set>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/judge/mistakes/configurations.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

bool differs(const Ledger& a, const Ledger& b) {
    if (a.entries().size() != b.entries().size()) return true;
    for (const auto& [name, tensor] : a.entries()) {
        if (!same_numbers(tensor, b[name], 1e-9)) return true;
    }
    return false;
}

std::vector<WalkConfig> configs(std::uint64_t seeds) {
    std::vector<WalkConfig> all = shared_configs();
    for (std::uint64_t seed = 0; seed < seeds; ++seed) all.push_back(seeded_config(seed));
    return all;
}

}  // namespace

TEST_SUITE("nightly: mistakes in every walk") {
    TEST_CASE("every mistake changes a number of some walk, and none stops a walk it applies to") {
        std::set<std::string> seen;
        const std::vector<WalkConfig> all = configs(200);
        for (std::size_t seed = 0; seed < all.size(); ++seed) {
            const Plan plan = resolve(all[seed]);
            const Ledger given = draw(plan);
            const Ledger right = walk(plan, given);
            for (const Mistake& mistake : mistakes()) {
                if (!mistake.applies(plan)) continue;
                CAPTURE(seed);
                CAPTURE(mistake.id);
                Ledger wrong;
                REQUIRE_NOTHROW(wrong = walk(plan, given, mistake.apply(step_table(), plan)));
                if (differs(right, wrong)) seen.insert(mistake.id);
            }
        }
        for (const Mistake& mistake : mistakes()) {
            CAPTURE(mistake.id);
            CHECK(seen.contains(mistake.id));
        }
    }

    TEST_CASE("the first step that differs is the one that the entry names, or an earlier one") {
        const std::vector<WalkConfig> all = configs(60);
        for (std::size_t seed = 0; seed < all.size(); ++seed) {
            const Plan plan = resolve(all[seed]);
            const Ledger given = draw(plan);
            const Ledger right = walk(plan, given);
            for (const Mistake& mistake : mistakes()) {
                if (!mistake.applies(plan)) continue;
                const Ledger wrong = walk(plan, given, mistake.apply(step_table(), plan));
                bool reached = false;
                for (const Step& step : step_table()) {
                    if (step.name == mistake.step) reached = true;
                    const Tensor* tensor = right.find(step.name);
                    // Projections of walks without a split first show in query, key or value.
                    if (reached || tensor == nullptr || step.name == "qkv") continue;
                    if (step.kind == Step::Kind::detail) continue;
                    CAPTURE(seed);
                    CAPTURE(mistake.id);
                    CAPTURE(step.name);
                    CHECK(same_numbers(*tensor, wrong[step.name], 1e-9));
                }
            }
        }
    }
}
