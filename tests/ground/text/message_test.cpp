#include "attn/ground/text/strings.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/judge/lint/lint.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"

using namespace attn;

TEST_SUITE("text: settings in texts") {
    TEST_CASE("a setting comes after a dollar sign, and words of users keep theirs") {
        CHECK("pass $head-dim 4, or $bias"_message + " in $HOME" ==
              "pass head-dim 4, or bias in $HOME");
        CHECK("no setting -- here"_message == "no setting -- here");
    }

    TEST_CASE("a caller of the library reads names of settings, without dashes") {
        WalkConfig config;
        Tokens tokens;
        tokens.sequences = {{1, 0, 2}};
        config.input = tokens;
        const Plan plan = resolve(config);
        std::vector<std::string> texts;
        for (const Mistake& mistake : mistakes()) {
            texts.insert(texts.end(), {mistake.effect.raw(), mistake.lesson.raw(),
                                       mistake.not_applicable(plan)});
        }
        for (const LintRule& rule : lint_rules()) texts.push_back(rule.lesson);
        const auto refused = [&](const auto& change) {
            WalkConfig other = config;
            change(other);
            texts.push_back(refusal<ConfigError>([&] { resolve(other); }));
        };
        refused([](WalkConfig& c) { c.heads = 5; });
        refused([](WalkConfig& c) { c.latent.rank = 3, c.bias = true; });
        refused([](WalkConfig& c) { c.rotary.dim = 3, c.rotary.theta = 0; });
        refused([](WalkConfig& c) { c.variant = Variant::fused, c.empty_row = EmptyRow::error; });
        refused([](WalkConfig& c) { c.merge = false, c.output_projection = true, c.heads = 2; });
        const auto mentions = [&](const std::string& end) {
            return std::any_of(texts.begin(), texts.end(),
                               [&](const std::string& text) { return text.ends_with(end); });
        };
        for (const std::string& text : texts) CHECK_MESSAGE(text.find("--") == text.npos, text);
        CHECK(mentions("there is no sink: pass sink"));
        CHECK(mentions("leave out no-merge"));
        CHECK(mentions("use empty-row nan or zero"));
    }

    TEST_CASE("the program adds dashes, and leaves typed text unchanged") {
        const auto run = [](const std::string& words) { return program::run(words).err; };
        CHECK(run("--embed-dim 7 --rope half") ==
              "attn-explain: error: --rope rotates features in pairs, and head-dim 7 is odd: pass "
              "another --head-dim, or --rotary-dim 6\n");
        CHECK(run("why 'heads$heads[0]'").find("no step heads$heads in") != std::string::npos);
    }
}
