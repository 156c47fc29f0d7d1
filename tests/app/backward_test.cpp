// --backward, --loss and --check-gradient.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"
#include "tests/support/steps.hpp"

using namespace program;

namespace {

double number(const nlohmann::json& document, const std::string& step, const std::string& place) {
    for (const auto& each : document["steps"]) {
        if (each["name"] == step) return each["data"].at(nlohmann::json::json_pointer(place));
    }
    return NAN;
}

nlohmann::json walk(const std::string& flags) {
    return nlohmann::json::parse(run(flags + " --dtype float64 --format json").out);
}

}  // namespace

TEST_SUITE("app: backward") {
    TEST_CASE("gradients come after the walk, which stays the same") {
        const std::string plain = run("-q --heads 2 --mask causal").out;
        const std::string both = run("-q --heads 2 --mask causal --backward").out;
        CHECK(both.starts_with(plain));
        CHECK(!has(plain, "d_scores"));
    }
    TEST_CASE(
        "a walk in chunks has a backward pass too, and its program with a mistake is complete") {
        const std::string code =
            run("--backward --bug grad-row-max-counted --code torch -q --format python").out;
        CHECK(has(code, "row_max = "));
        CHECK(!has(code, ".grad"));
        CHECK(!has(code, "requires_grad"));
    }
    TEST_CASE("the loss of a model's next word follows from its probability, in every layer") {
        const auto next = nlohmann::json::parse(
            run("why 'next[big]' --model-file stories --text 'Lily had a' --json").out);
        const double loss = -std::log(next["probability"].get<double>());
        for (const int layer : {0, 3, 4}) {
            const nlohmann::json gone = walk(
                "--model-file stories --text 'Lily had a' --backward --loss cross-entropy:big "
                "--layer " +
                std::to_string(layer));
            CHECK(number(gone, "loss", "") == doctest::Approx(loss).epsilon(1e-9));
            // After the last layer's attention only the last token is read.
            CHECK((number(gone, "d_output", "/0/0") == 0) == (layer == 4));
            CHECK(number(gone, "d_output", "/3/0") != 0);
        }
    }
    TEST_CASE("a step of training moves parameters against their gradients, and the loss falls") {
        const std::string flags = "--heads 2 --output-projection --backward --loss mean";
        const nlohmann::json before = walk(flags), after = walk(flags + " --learn 0.5");
        for (const std::string name : {"w_query", "w_value", "w_output", "embedding"}) {
            INFO(name);
            const double moved =
                number(before, name, "/1/2") - 0.5 * number(before, "d_" + name, "/1/2");
            CHECK(number(before, "d_" + name, "/1/2") != 0);
            CHECK(number(after, name, "/1/2") == doctest::Approx(moved).epsilon(1e-14));
        }
        const nlohmann::json twice = walk(flags + " --learn 0.5 --learn 0.5");
        CHECK(number(after, "loss", "") < number(before, "loss", ""));
        CHECK(number(twice, "loss", "") < number(after, "loss", ""));
        CHECK(number(twice, "w_query", "/1/2") ==
              doctest::Approx(number(after, "w_query", "/1/2") -
                              0.5 * number(after, "d_w_query", "/1/2"))
                  .epsilon(1e-14));
        const nlohmann::json part = walk(flags + " --learn 0.5 --only output");
        CHECK(number(part, "output", "/3/1") == number(after, "output", "/3/1"));
        CHECK(
            has(run("--learn 0.5").err, "--learn has no effect here: it needs the backward pass"));
        program::check_refused("--backward --learn fast", "--learn: 'fast' is not a number");
    }
    TEST_CASE("each loss begins with its own gradient") {
        CHECK(number(walk("--backward"), "d_context", "/0/0") == 1);
        CHECK(number(walk("--backward --loss mean"), "d_context", "/0/0") == 1.0 / 24);
        const nlohmann::json cell = walk("--backward --loss 'context[short,-1]'");
        CHECK(number(cell, "d_context", "/2/3") == 1);
        CHECK(number(cell, "d_context", "/2/2") == 0);
        CHECK(number(cell, "loss", "") == number(cell, "context", "/2/3"));
        const Folder folder;
        const std::string file = (folder.path() / "up.csv").string();
        std::ofstream(file) << "1,2\n3,-4\n";
        const nlohmann::json up = walk("--seq-len 2 --embed-dim 2 --backward --loss " + file);
        CHECK(number(up, "d_context", "/1/1") == -4);
        const nlohmann::json mse = walk("--seq-len 2 --embed-dim 2 --backward --loss mse:" + file);
        CHECK(number(mse, "d_context", "/0/1") ==
              doctest::Approx((number(mse, "context", "/0/1") - 2) / 2));
    }
    TEST_CASE("a gradient's rule names steps, not the latest step of a chain") {
        CHECK(run("--differential --heads 4 --seq-len 3 --backward -q").exit_code == 0);
        const std::string capped = run("--backward --softcap 3 --mask causal --list-rules").out;
        CHECK(has(capped, "(1 - tanh(scaled_scores[q,k] / 3)^2)"));
    }
    TEST_CASE("a walk that has no backward pass is refused in one line") {
        // Frequencies are not learned, but gradients pass through rounded ones as through any
        // tensor.
        const nlohmann::json rounded =
            walk("--backward --seq-len 5 --rope half --bug rope-low-precision");
        const nlohmann::json right = walk("--backward --seq-len 5 --rope half");
        CHECK(number(rounded, "d_query", "/4/0") != number(right, "d_query", "/4/0"));
    }
    TEST_CASE("central differences are printed next to each gradient") {
        const std::string text = run("--seq-len 3 --embed-dim 2 --backward --check-gradient").out;
        CHECK(has(text, "# d_scores_central"));
        CHECK(has(text, "# d_w_query_error"));
        CHECK(has(text, ": the gradient is right."));
    }
    TEST_CASE("a check of gradients ends in a verdict") {
        const std::string walk = "--text 'to be or' --seed 77 --embed-dim 3 --backward ";
        const Result right = run(walk + "--check-gradient");
        CHECK(right.exit_code == 0);
        CHECK(has(right.out, "\n# all gradients are within "));
        for (const std::string type : {"float32", "float64"}) {
            const std::string bug = "--check-gradient --bug grad-scale-missing --compute-dtype ";
            const Result wrong = run(walk + bug + type);
            CHECK(wrong.exit_code == 1);
            CHECK(has(wrong.out, "is off by 0.42"));  // 1 - 1 / sqrt(3)
            CHECK(has(wrong.out, "! [0,0] is off by"));
        }
        const Result json = run(walk + "--check-gradient --bug grad-scale-missing --json");
        CHECK(json.exit_code == 1);
        CHECK(has(json.out, "\"gradient_check\":{\"right\": false"));
        CHECK(has(run(walk + "--check-gradient --format csv").err, "all gradients are within"));
    }
    TEST_CASE("kinks are reported but not accused; gradients that are not shown are not checked") {
        const std::string walk =
            "--random randn --seq-len 3 --embed-dim 4 --backward --check-gradient ";
        const Result kink =
            run("--ids 1,1,2 --embed-dim 3 --backward --check-gradient "
                "--rule 'weights[q,k] = max(scores[q,0], scores[q,1])'");
        CHECK(kink.exit_code == 0);
        CHECK(has(kink.out, "cells lie at a"));
        const Result only = run(walk + "--only weights");
        CHECK(only.exit_code == 0);
        CHECK(has(only.err, "shows no gradient"));
        CHECK(!has(only.out, "central differences"));
        const Result one = run(walk + "--only d_scores");
        CHECK(has(one.out, "all gradients are within"));
        const Result long_one =
            run("--random randn --seq-len 3 --embed-dim 60 --backward --check-gradient "
                "--rule 'weights[q,k] = sum a in 0..300000: exp(scores[q,k])'");
        CHECK(long_one.exit_code == 2);
        CHECK(has(long_one.err, " walks, about "));
    }
    TEST_CASE("PyTorch backpropagates on its own, NumPy by the rules") {
        const std::string torch = run("--backward --code torch -q").out;
        CHECK(has(torch, "loss.backward()"));
        CHECK(has(torch, "d_scores = scores.grad"));
        CHECK(has(torch, "embedding.requires_grad_()"));
        const std::string given = run("--backward --learn 0.1 --code torch -q").out;
        CHECK(given.find("w_key = torch.tensor") < given.find("w_key.requires_grad_()"));
        CHECK(!has(run("--backward --code numpy -q").out, ".grad"));
    }
    TEST_CASE("mistakes of the backward pass are made, listed and named from gradients") {
        const Folder folder;
        const std::string file = (folder.path() / "mine.npz").string();
        const std::string flags =
            " --ids 1,2,1,3 --heads 4 --kv-heads 2 --embed-dim 8 --mask causal ";
        for (const std::string id : {"grad-softmax-elementwise", "grad-scale-missing",
                                     "grad-heads-not-summed", "grad-weight-transpose"}) {
            INFO(id);
            CHECK(run(flags + "--backward --bug " + id + " --format npz -o " + file).exit_code ==
                  0);
            const Result result = run("diagnose " + file + flags);
            CHECK(has(result.out, id));
            CHECK(result.exit_code != 0);
        }
        CHECK(run(flags + "--backward --format npz -o " + file).exit_code == 0);
        CHECK(
            has(run("diagnose " + file + flags).out, "right: the backward pass matches this walk"));
    }
    TEST_CASE("the stepper goes to a gradient and back") {
        const std::string beside = run("step --backward -q", "goto weights\n").out;
        const std::string both = run("--backward --only weights,d_weights -q").out;
        const std::size_t second = both.find("tensor(", 1);
        CHECK(has(beside, both.substr(0, second)));
        CHECK(has(beside, both.substr(second)));
        const std::string there = run("step --backward", "goto scores\ngradient\ngradient\n").out;
        CHECK(has(there, "d_scores"));
        CHECK(has(run("step", "gradient\n").out + run("step", "gradient\n").err, "--backward"));
    }
}
