// --rule as a user types it.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "tests/support/program.hpp"

using program::has;
using program::run;

TEST_SUITE("app: rule") {
    TEST_CASE(
        "the same arithmetic as a rule gives the same walk, for the output and all steps before "
        "it") {
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
    TEST_CASE("weights follow if a rule changes the parts of softmax") {
        const std::string walk = "--heads 2 --mask causal --dtype float64 --only weights -q ";
        // Off-by-one softmax, in the rule of its sum or in one rule.
        CHECK(run(walk + "--rule 'row_sum[q] = exp(0 - row_max[q]) + (sum k: exponentials[q,k])'")
                  .out ==
              run(walk + "--rule 'weights[q,k] = exp(masked_scores[q,k]) / (1 + (sum j: "
                         "exp(masked_scores[q,j])))'")
                  .out);
        // A power of 2 instead of e.
        CHECK(
            run(walk + "--rule 'exponentials[q,k] = 2 ^ (masked_scores[q,k] - row_max[q])'").out ==
            run(walk + "--rule 'masked_scores[q,k] = if mask[q,k] then -inf else log(2) * "
                       "scaled_scores[q,k]'")
                .out);
        CHECK(run(walk + "--rule 'row_max[q] = 0'").out == run(walk).out);
        const std::string code =
            run("--code torch --rule 'row_sum[q] = 1 + (sum k: exponentials[q,k])'").out;
        CHECK(code.find("\nrow_max = ") < code.find("\nexponentials = "));
        CHECK(code.find("\nexponentials = ") < code.find("\nrow_sum = "));
        CHECK(code.find("\nrow_sum = ") < code.find("\nweights = "));
        const std::string two =
            "--rule 'exponentials[q,k] = 2 ^ (scaled_scores[q,k] - row_max[q])' ";
        CHECK(run("why 'weights[0,1]' " + two).out.find("exponentials[q,k] / row_sum[q]") !=
              std::string::npos);
    }
    TEST_CASE("a rule is proved, refuted by algebra or by its numbers, or undecided, with reason") {
        const auto reported = [](const std::string& rule) {
            return run("--seq-len 4 --mask causal --only scaled_scores --rule "
                       "'scaled_scores[q,k] = " +
                       rule + "'")
                .out;
        };
        CHECK(has(reported("scores[q,k] * max(sqrt(2), 1) / sqrt(8)"), "proved for every input"));
        CHECK(has(reported("scores[q,k] / 2 * cos(2 * pi * q)"), "proved for every input"));
        CHECK(has(reported("sqrt((scores[q,k] / 2) ^ 2)"),
                  "It is not the\n# same function as the step"));
        const std::string open = reported("relu(scores[q,k] / 2) - relu(-scores[q,k] / 2)");
        CHECK(has(open, "undecided: relu is not\n# simplified here."));
    }
    TEST_CASE("any number may be rounded down to an index") {
        const std::string walk = "--position-bias t5 --seq-len 40 --only position_bias -q ";
        // T5's buckets beyond 8 tokens, for a head that looks both ways.
        CHECK(run(walk + "--rule 'position_bias[q,k] = relative_attention_bias[(if k > q then 16 "
                         "else 0) + (if abs(k - q) < 8 then abs(k - q) else min(15, 8 + "
                         "floor(log(abs(k - q) / 8) / log(16) * 8))), 0]'")
                  .out == run(walk).out);
        const program::Result far =
            run("--rule 'scores[q,k] = query[floor(log(q - 1)), 0]' --only scores");
        CHECK(far.exit_code == 2);
        CHECK(program::has(far.err, "an index must be a whole number below 1e15, not nan"));
    }
    TEST_CASE("a step with a rule is marked, and so are the steps after it") {
        const std::string reported =
            run("--rule 'scaled_scores[q,k] = scores[q,k] / D' --only scaled_scores,context").out;
        CHECK(reported.find("# scaled_scores[q,k] = scores[q,k] / 4\n") != std::string::npos);
        CHECK(reported.find("# ! Your rule computes this step") != std::string::npos);
        CHECK(reported.find("(after your rule)") != std::string::npos);
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
    TEST_CASE("diagnose and probe accept a rule as right, and find other mistakes") {
        const program::Folder folder;
        // Linear attention as its authors write it, without a softmax.
        const std::string rule =
            " --rule 'weights[q,k] = if masked_scores[q,k] == -inf then 0 "
            "else scaled_scores[q,k] / (k + 1)'";
        const std::string walk = " --heads 2 --mask causal" + rule;
        const std::string right = folder / "right.npz";
        const std::string wrong = folder / "wrong.npz";
        REQUIRE(run(walk + " -o " + right).exit_code == 0);
        REQUIRE(run(walk + " --bug mask-inverted -o " + wrong).exit_code == 0);
        CHECK(run("diagnose " + right + walk).exit_code == 0);
        CHECK(run("diagnose " + right + " --heads 2 --mask causal").exit_code == 3);
        const program::Result named = run("diagnose " + wrong + walk);
        CHECK(named.exit_code == 1);
        CHECK(named.out.find("mask: mask-inverted") != std::string::npos);

        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe" + walk + " -o " + probe).exit_code == 0);
        REQUIRE(run("--x " + probe + ":x --weights " + probe + walk + " -o " + right).exit_code ==
                0);
        const program::Result by_probe = run("diagnose " + right + " --given " + probe);
        CHECK(by_probe.exit_code == 0);
        CHECK(by_probe.err.find("--rule") != std::string::npos);
        CHECK(run("bench" + rule).exit_code == 2);
    }
    TEST_CASE("a rule and a mistake for one step are a contradiction") {
        const program::Result both =
            run("--rule 'scaled_scores[q,k] = scores[q,k] / D' --bug scale-missing");
        CHECK(both.exit_code == 2);
        CHECK(both.err.find("both make scaled_scores: leave one out") != std::string::npos);
    }
    TEST_CASE("two rules for one step contradict each other, on the command line or in a file") {
        const program::Folder folder;
        const std::string file = folder / "mine.txt";
        std::ofstream(file) << "scores[q,k] = 1  # none like another\n\nweights[q,k] = 1 / Tk\n";
        CHECK(has(run("--rule 'weights[i,j] = 1' --rule @" + file).err,
                  "two rules make weights: leave one out"));
        CHECK(run("--rule @" + file).exit_code == 0);
        std::ofstream(file) << "# to come\n";
        CHECK(has(run("--rule @" + file).err, "mine.txt: has no text; write one rule per line"));
    }
    TEST_CASE("a printed rule can be given as a flag, with counts too") {
        for (const auto& [walk, step] :
             {std::pair{"--preset t5", "buckets"},
              {"--preset llama3 --text 'so it goes'", "positions"},
              {"--preset gpt2", "positions"},
              {"--heads 2 --batch 2 --seq-len 4 --lengths 4,2 --mask causal,padding", "mask"}}) {
            const std::string flags = walk;
            const std::string rules = "\n" + run(flags + " --list-rules").out;
            const std::size_t begin = rules.find("\n" + std::string(step) + "[") + 1;
            const std::string rule = rules.substr(begin, rules.find('\n', begin) - begin);
            const program::Result reported =
                run(flags + " --only weights -q --rule '" + rule + "'");
            CHECK_MESSAGE(reported.out == run(flags + " --only weights -q").out,
                          rule << reported.err);
        }
        // Twice as far apart, as for every second token of a longer text.
        const std::string walk = "--rope half --seq-len 3 --only rotated_query -q";
        CHECK(run(walk + " --rule 'positions[t] = 2 * t + 1'").out ==
              run(walk + " --positions 1,3,5").out);
    }
    TEST_CASE("letters of axes stand for their own axes only") {
        CHECK(has(run("--heads 2 --batch 2 --seq-len 3 --lengths 3,2 --mask padding,causal "
                      "--rule 'mask[b,q,k] = b == 1'")
                      .err,
                  "write all indices, mask[b,h,q,k]"));
    }
    TEST_CASE("a power is written as ^ or as in Python") {
        CHECK(run("-q --rule 'weights[q,k] = relu(scores[q,k])**2'").out ==
              run("-q --rule 'weights[q,k] = relu(scores[q,k])^2'").out);
    }
    TEST_CASE("a program has a separate tensor for each name, because each has a gradient") {
        const std::string none = "--ids 1,2,3 --projection none --code torch -q ";
        CHECK(has(run(none + "--backward").out, "\nkey = x.clone()\n"));
        CHECK(has(run(none).out, "\nkey = x\n"));
        const std::string rule = "--rule 'value[t,f] = key[t,f]' --code torch -q ";
        CHECK(has(run(rule + "--backward").out, "\nvalue = key.clone()\n"));
        CHECK(has(run(rule).out, "\nvalue = key\n"));
    }
    TEST_CASE("a program holds the inputs of the requested parts of a step") {
        const std::string code = run("--code numpy --only row_sum -q").out;
        CHECK(code.find("\nrow_max = ") < code.find("\nexponentials = "));
        CHECK(code.find("\nexponentials = ") < code.find("\nrow_sum = "));
        CHECK(!has(run("--code numpy --only weights -q").out, "\nrow_max = "));
    }
    TEST_CASE("a rule of two lines is one line of a program and of a heading") {
        const std::string rule = "--rule 'weights[q,k] = scores[q,k]\n+ 1' --only weights ";
        const std::string one = "weights[q,k] = scaled_scores[q,k] + 1";
        for (const char* format : {"--code torch", "--format markdown", ""}) {
            CAPTURE(format);
            const std::string out = run(rule + format).out;
            CHECK(has(out, one));
            CHECK(!has(out, "\n+ 1"));
        }
    }
    TEST_CASE("impossible rules are refused with a caret and exit code 2") {
        const auto refused = [](const std::string& rule, const std::string& message) {
            INFO(rule);
            const program::Result reported = run("--rule '" + rule + "'");
            CHECK(reported.exit_code == 2);
            CHECK(reported.out.empty());
            CHECK(reported.err.find(message) != std::string::npos);
            CHECK(reported.err.ends_with("^\n"));
        };
        refused("x[t,c] = 1", "x is drawn or given");
        refused("scores[q,k] = weights[q,k]", "weights is made after scores");
        refused("scores[q,k] = scores[q,k]", "scores would depend on itself");
        refused("wieghts[q,k] = 1", "did you mean weights?");
        refused("mask[q,k] = k > q", "this walk has no mask");
        refused("weights[q,k] = k > q", "weights is a number, and this is a boolean");
        refused("weights[q,k] = qeury[q,0]", "did you mean query?");
        refused("scores[q,k] = sum f: queries[q,f] * kyes[k,f]", "did you mean keys?");
        refused("scaled_scores[q,k] = scores[q,k] / sqrt(d_k)", "did you mean D?");
        refused("weights[q,k] = sigmoid(scores[q,k] - log(T))", "did you mean Tk?");
        refused("weights[q,k] = sigmoid(scores[q,k] - ln(6))", "did you mean log?");
        const std::string tab = "scores[q,k] =\tqeury[q,0]";  // a tab is read as a space
        CHECK(has(run("--rule '" + tab + "'").err, "= qeury[q,0]\n" + std::string(16, ' ') + "^"));
        CHECK(run("--variant fused --rule 'context[q,f] = 1'").exit_code == 2);
    }
}
