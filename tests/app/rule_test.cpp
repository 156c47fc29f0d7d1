// --rule as somebody else types it.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "tests/support/program.hpp"

using program::run;

TEST_SUITE("app: rule") {
    TEST_CASE("the same arithmetic in a rule gives the same walk, the output and all before it") {
        const std::string walk =
            "--seq-len 5 --heads 2 --mask causal --variant loop --only context -q";
        const program::Result right = run(walk);
        CHECK(run(walk + " --rule 'context[q,f] = sum k: weights[q,k] * values[k,f]'").out ==
              right.out);
        CHECK(run(walk + " --rule 'scaled_scores[q,k] = scores[q,k] / scale'").out == right.out);
        CHECK(run(walk + " --rule 'mask[q,k] = k > q'").out == right.out);
        CHECK(run(walk + " --rule 'weights[q,k] = exponentials[q,k] / row_sum[q]'").out ==
              right.out);
        CHECK(run(walk + " --rule 'scaled_scores[q,k] = scores[q,k] / D'").out != right.out);
    }
    TEST_CASE("a step with a rule says so, and so do those after it") {
        const std::string said =
            run("--rule 'scaled_scores[q,k] = scores[q,k] / D' --only scaled_scores,context").out;
        CHECK(said.find("# scaled_scores[q,k] = scores[q,k] / 4\n") != std::string::npos);
        CHECK(said.find("# ! Your rule makes this step") != std::string::npos);
        CHECK(said.find("(after your rule)") != std::string::npos);
    }
    TEST_CASE("a record and a file keep rules") {
        const program::Folder folder;
        std::ofstream(folder / "mine.txt") << "# attention without a softmax\n\n"
                                              "weights[q,k] = relu(scores[q,k])  # may be 0\n";
        const std::string by_file = run("--only weights --rule @" + (folder / "mine.txt")).out;
        CHECK(by_file == run("--only weights --rule 'weights[q,k] = relu(scores[q,k])'").out);
        run("--rule @" + (folder / "mine.txt") + " --save-config " + (folder / "c.json"));
        CHECK(run("--only weights --config " + (folder / "c.json")).out == by_file);
    }
    TEST_CASE("rules that cannot be are refused with a caret and exit code 2") {
        const auto refused = [](const std::string& rule, const std::string& message) {
            INFO(rule);
            const program::Result said = run("--rule '" + rule + "'");
            CHECK(said.exit_code == 2);
            CHECK(said.out.empty());
            CHECK(said.err.find(message) != std::string::npos);
            CHECK(said.err.ends_with("^\n"));
        };
        refused("x[t,c] = 1", "x is drawn or given");
        refused("scores[q,k] = weights[q,k]", "weights is made after scores");
        refused("scores[q,k] = scores[q,k]", "scores would be made of itself");
        refused("wieghts[q,k] = 1", "did you mean weights?");
        refused("mask[q,k] = k > q", "this walk has no step mask");
        refused("weights[q,k] = k > q", "weights is a number, and this is a truth");
        refused("weights[q,k] = qeury[q,0]", "did you mean query?");
        CHECK(run("--variant fused --rule 'context[q,f] = 1'").exit_code == 2);
    }
}
