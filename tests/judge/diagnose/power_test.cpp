#include <doctest/doctest.h>

#include <algorithm>

#include "attn/core/settings/settings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

using namespace attn;

namespace {

bool is_blind(const Power& power, const std::string& id) {
    return std::any_of(power.blind.begin(), power.blind.end(),
                       [&](const Power::Blind& blind) { return blind.mistake->id == id; });
}

}  // namespace

TEST_SUITE("explain: power") {
    TEST_CASE("every mistake is accounted for once") {
        const Plan plan = resolve(probe_config());
        const Power found = power(plan, draw(plan));
        std::size_t count = found.inside.size() + found.blind.size();
        for (const auto& group : found.groups) count += group.size();
        CHECK(count == mistakes().size());
    }
    TEST_CASE("the probe reveals most of the catalogue, a single head without mask little") {
        const Plan probe = resolve(probe_config());
        const Power strong = power(probe, draw(probe));
        WalkConfig small = configured("seq-len 3");
        const Plan plan = resolve(small);
        const Power weak = power(plan, draw(plan));
        CHECK(strong.groups.size() > 35);
        CHECK(weak.groups.size() < strong.groups.size() / 2);
        // With one head the embedding is as wide as the head.
        CHECK(is_blind(weak, "scale-dmodel"));
        CHECK_FALSE(is_blind(strong, "scale-dmodel"));
    }
    TEST_CASE("a missing key bias shows only in its own step") {
        const Plan plan = resolve(probe_config());
        const Power found = power(plan, draw(plan));
        CHECK(std::find(found.inside.begin(), found.inside.end(),
                        &find_mistake("bias-missing=key")) != found.inside.end());
    }
}
