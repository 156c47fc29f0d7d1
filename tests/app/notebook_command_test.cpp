#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::run;

TEST_SUITE("app: notebook") {
    TEST_CASE("without a name the notebooks are listed, a line each") {
        const program::Result result = run("notebook");
        CHECK(result.exit_code == 0);
        CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 4);
        CHECK(result.out.find("003  sentence") != std::string::npos);
    }

    TEST_CASE("a number serves as a name") {
        const program::Result by_number = run("notebook 000");
        CHECK(by_number.out == run("notebook padding-heads").out);
        CHECK(by_number.out.find("[mask-not-applied]") != std::string::npos);
    }

    TEST_CASE("the output flags of the walk select and shape what is printed") {
        CHECK(run("notebook 002 -q --only weights_variance").out ==
              "tensor(0.0279, grad_fn=<VarBackward0>)\n");
        CHECK(run("notebook 003 -q --only 'scores[0,:2]' --precision 2").out ==
              "tensor([47.97, 58.98])\n");
        CHECK(run("notebook 001 -q --only loop_context_shape").out == "(4, 20)\n");
        const auto json = nlohmann::json::parse(run("notebook 003 --format json").out);
        CHECK(json["steps"].size() == 40);
    }

    TEST_CASE("corrected, old and new are printed side by side") {
        const std::string out = run("notebook 003 --corrected -q --only head_weights_sum").out;
        CHECK(out == "64.0\n");
        const std::string both =
            run("notebook 003 --corrected -q --only head_weights_sum,head_weights_sum_corrected")
                .out;
        CHECK(both == "as on the page | corrected\n64.0           | 24.0\n");
    }

    TEST_CASE("the lines that make a tensor stand above it") {
        CHECK(run("notebook 003 -q --code torch --only weights_sum,head_scores_shape").out ==
              "8.0\ntorch.Size([3, 8, 8])\n");
        CHECK(run("notebook 003 -q --code torch --only ids").out ==
              "ids = torch.tensor([vocabulary[word] for word in words])\n"
              "tensor([6, 4, 7, 1, 0, 2, 4, 6])\n");
        CHECK(run("-q --code torch --seq-len 2 --embed-dim 2 --only scores")
                  .out.rfind("scores = query @ key.transpose(-2, -1)\ntensor(", 0) == 0);
    }

    TEST_CASE("a Jupyter notebook holds the lines of what it does not print") {
        const auto notebook =
            nlohmann::json::parse(run("--format ipynb --heads 2 --only 'weights[0]'").out);
        REQUIRE(notebook["cells"].size() == 3);
        const auto& source = notebook["cells"][2]["source"];
        CHECK(source[0] == "import math\n");
        CHECK(source.back() == "print(weights[0])");
    }

    TEST_CASE("what does not fit is refused in one line that says what to do") {
        for (const auto& [arguments, reason] :
             {std::pair{"notebook 004", "use one of padding-heads (000)"},
              std::pair{"notebook 001 --code torch", "use --code numpy"},
              std::pair{"notebook 001 --code fortran", "use torch or numpy"},
              std::pair{"notebook 000 --variant fast", "--variant"},
              std::pair{"notebook 000 --seed x", "--seed"}}) {
            const program::Result result = run(arguments);
            INFO(arguments << ": " << result.err);
            CHECK(result.exit_code == 2);
            CHECK(result.out.empty());
            CHECK(result.err.rfind("attn-explain: error: ", 0) == 0);
            CHECK(result.err.find(reason) != std::string::npos);
        }
    }
}
