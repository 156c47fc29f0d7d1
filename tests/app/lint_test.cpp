#include <nlohmann/json.hpp>

#include "attn/judge/lint/lint.hpp"
#include "tests/support/program.hpp"

using program::run;

namespace {

bool fires(const std::string& id, const std::string& flags, const std::string& input = "") {
    const program::Result result = run("lint --json " + flags, input);
    REQUIRE_MESSAGE(result.exit_code < 2, flags << ": " << result.err);
    for (const auto& finding : nlohmann::json::parse(result.out)) {
        if (finding.at("id") == id) return true;
    }
    return false;
}

struct Case {
    std::string id, met, not_met, input{}, other_input{};
};

}  // namespace

TEST_SUITE("app: lint") {
    TEST_CASE("every rule finds something in one walk and nothing in another") {
        const std::vector<Case> cases{
            {"softmax-axis", "--softmax-axis query", ""},
            {"scale-dmodel", "--heads 2 --scale embed-dim", "--heads 2"},
            {"hidden-rows", "--seq-len 2 --lengths 0 --mask padding",
             "--seq-len 2 --lengths 1 --mask padding"},
            {"unmasked-padding", "--text 'a b' --text c", "--text 'a b' --text c --mask padding"},
            {"not-finite", "--scale 1e39", "--scale 1000 --mask causal"},
            {"huge-numbers", "--x -", "--x -", "1,2\n-7e5,1\n", "1,2\n-7e3,1\n"},
            {"scale-missing", "--scale none", ""},
            {"scale-number", "--scale 3", "--scale 0.5"},
            {"saturated-softmax", "--scale 1000", ""},
            {"no-gradient", "--backward --scale 20 --embed-dim 16", "--backward"},
            {"exp-overflow", "--scale 1000", ""},
            {"float16-scores", "--rule 'scores[q,k] = 70000 * q'", ""},
            {"narrow-sums", "--dtype bfloat16 --seq-len 600 --init zeros",
             "--seq-len 600 --init zeros"},
            {"rank-one-scores", "--seq-len 6 --embed-dim 16 --random rand --init uniform", ""},
            {"init-positive", "--init uniform", ""},
            {"no-position", "--text 'a b a'", "--text 'a b c'"},
            {"vocabulary-gaps", "--ids 1,5", "--ids 1,2"},
            {"coincident-sizes", "--seq-len 4", "--seq-len 5"},
            {"blind-padding", "--ids '1,0;1,2' --pad-id 0 --mask padding",
             "--ids '1,0;1,2' --pad-id 0 --mask padding --bias"},
            {"causal-lengths", "--seq-len 2 --memory-len 5 --mask causal",
             "--seq-len 5 --memory-len 5 --mask causal"},
            {"no-output-projection", "--heads 2", "--heads 2 --output-projection"},
            {"fused-by-head", "--projection fused-by-head", "--projection fused"},
            {"three-heads", "--projection fused --heads 3", "--projection fused --heads 2"},
            {"no-power", "--seq-len 1 --heads 2", "--seq-len 2 --heads 2"},
            {"beyond-training", "--rope half --seq-len 2 --positions 0,9000",
             "--rope half --seq-len 2 --positions 0,9"},
            {"equal-positions", "--rope half --seq-len 2 --positions 3,3",
             "--rope half --seq-len 2 --positions 3,4"},
            {"unseen-scaling", "--rope half --rope-scaling llama3:8:1:4:1000000000",
             "--rope half --rope-scaling linear:8"},
            {"rotary-width", "--rope half --head-dim 8", "--rope half --head-dim 16"},
            {"window-not-causal", "--mask window:2", "--mask window:2,causal"},
            {"window-holds-all", "--mask window:5,causal --seq-len 5",
             "--mask window:4,causal --seq-len 5"},
            {"t5-scale", "--position-bias t5", "--position-bias t5 --scale none"},
            {"t5-cross", "--position-bias t5 --memory-len 3", "--position-bias t5"},
            {"cap-without-effect", "--softcap 1000", "--softcap 0.5"},
            {"past-positions", "--rope half --past 3 --seq-len 2 --positions 0,1",
             "--rope half --past 3 --seq-len 2 --positions 3,4"},
            {"sink-share",
             "--sink zero --seq-len 1 --scale none --softcap 0.001 --position-bias alibi",
             "--sink zero --seq-len 5"},
            {"shared-heads", "--heads 4 --kv-heads 1", "--heads 8 --kv-heads 2"}};
        for (const Case& one : cases) {
            INFO(one.id);
            CHECK(fires(one.id, one.met, one.input));
            CHECK_FALSE(fires(one.id, one.not_met, one.other_input));
        }
        for (const attn::LintRule& rule : attn::lint_rules()) {
            const bool tested = std::any_of(cases.begin(), cases.end(),
                                            [&](const Case& one) { return one.id == rule.id; });
            CHECK_MESSAGE(tested, rule.id << " has no case here");
        }
    }
    TEST_CASE("nan and inf are errors, both in inputs and in results") {
        const program::Result given = run("lint --x -", "1,2,3\nnan,1,2\n1,-inf,3\n4,5,6\n");
        CHECK(given.exit_code == 1);
        CHECK_MESSAGE(program::has(given.out, "nan or inf in x (2 of 12), query (6 of 12)"),
                      given.out);
        CHECK(program::has(given.out, "weights (16 of 16)"));
        const program::Result outcome =
            run("lint --mask causal --x -", "1,2,3\n-4e30,1,2\n1,5,3\n");
        CHECK(outcome.exit_code == 1);
        CHECK_MESSAGE(program::has(outcome.out, "nan or inf in scores ("), outcome.out);
        CHECK(program::has(outcome.out, "x contains -4e+30"));
    }
    TEST_CASE("the lines contain the numbers of this walk, and --explain prints the whole lesson") {
        const std::string text = run("lint --heads 2 --scale embed-dim").out;
        const std::string padded = "lint --text 'a b' --text c --lengths 2,1 ";
        CHECK(run(padded + "--mask-file - --mask-true drop", "[[false,false]]")
                  .out.find("1 of 4 keys are padding") != std::string::npos);
        CHECK(run("lint --explain nothing").exit_code == 2);
    }
}
