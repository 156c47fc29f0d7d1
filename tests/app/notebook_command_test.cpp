#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::run;

TEST_SUITE("app: notebook") {
    TEST_CASE("without a name the notebooks are listed, one per line") {
        const program::Result result = run("notebook");
        CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 4);
    }

    TEST_CASE("a number can stand for a name") {
        const program::Result by_number = run("notebook 000");
        CHECK(by_number.out == run("notebook padding-heads").out);
        CHECK(by_number.out.find("[mask-not-applied]") != std::string::npos);
    }

    TEST_CASE("the output flags of the walk select and shape the output") {
        const auto json = nlohmann::json::parse(run("notebook 003 --format json").out);
        CHECK(json["steps"].size() == 40);
    }

    TEST_CASE("--list-steps names every cell that --only takes, once") {
        for (const std::string notebook : {"000", "001", "sentence", "2 --corrected"}) {
            INFO(notebook);
            const program::Result list = run("notebook " + notebook + " --list-steps");
            CHECK(list.exit_code == 0);
            CHECK(list.err.empty());
            const auto cells = nlohmann::json::parse(run("notebook " + notebook + " --json").out);
            const auto listed =
                nlohmann::json::parse(run("notebook " + notebook + " --list-steps --json").out);
            REQUIRE(listed.size() == cells["steps"].size());
            std::size_t at = 0;
            for (std::size_t i = 0; i < listed.size(); ++i) {
                const auto name = listed[i]["name"].get<std::string>();
                CHECK(name == cells["steps"][i]["name"]);
                at = list.out.find((i > 0 ? "\n" : "") + name + " ", at);
                CHECK_MESSAGE(at != std::string::npos, name);
            }
        }
        CHECK(program::has(run("notebook 3 --list-steps --only ids").err, "--only has no effect"));
    }

    TEST_CASE("cells can be named by the notebook's numbers and by its own names") {
        const auto shows = [](const std::string& requested, const std::string& sections) {
            const program::Result one = run("notebook " + requested + " -q");
            INFO(requested << ": " << one.err);
            CHECK(one.exit_code == 0);
            CHECK(one.out ==
                  run("notebook " + requested.substr(0, 3) + " -q --only " + sections).out);
        };
        shows("002 36", "weights_variance");
        shows("002 --only 36", "weights_variance");
        shows("002 40", "lower_triangle,masked_zeros,uniform_weights,average_by_softmax_shape");
        shows("002 --only '39[0,1:3]'", "'weights[0,1:3]'");
        shows("002 xbow", "running_mean");
        shows("002 --only attn", "weights,weights_variance,older_weights");
        shows("003 omega_1_5", "first_score_of_fifth");
        shows("003 --only omega_all,normalized_attention_scores", "scores,scores_shape,weights");
        shows("003 z", "context");
        shows("000 e", "x");
        shows("000 --only 'values[0]'", "'merged[0]'");
        shows("000 --only qkv_by_token", "qkv_by_token");
        program::check_refused("notebook 002 37", "there is no step '37' here");
        CHECK(run("notebook 002 36 --only 79 -q").out == run("notebook 002 -q --only 36,79").out);
        const auto derives = [](const std::string& cell, const std::string& first) {
            const program::Result derived = run("why " + cell);
            CHECK_MESSAGE(derived.out.starts_with(first),
                          cell << ": " << derived.out << derived.err);
        };
        derives("'omega_all[life,eat]' --notebook 003",
                "omega_all[life,eat] is scores[life,eat] of");
        derives("'omega_1_5' --notebook 003", "omega_1_5: after it is scores[0,4] of this walk\n");
        derives("'39[0,0]' --notebook 002", "39[0,0] is weights[0,0,0] of this walk\n");
        derives("'e[1,2,3]' --notebook 000", "e[1,2,3] is x[1,2,3] of this walk\n");
        derives("'qkv[0,0,0]' --notebook 000", "qkv[0,0,0] = ");
    }

    TEST_CASE("the notes of a walk over words use the words") {
        const std::string note = run("--notebook 003 --only weights").out;
        CHECK_MESSAGE(program::has(note, "that of 'life' (position 0) sums to"), note);
        CHECK(!program::has(note, " id "));
    }

    TEST_CASE("with --corrected, a selection is printed in both replays, side by side") {
        // If both forms do not fit on one line, they are printed one above the other.
        const std::string wide =
            run("notebook 000 --corrected -q --only weights --linewidth 30").out;
        CHECK(wide.find(" | ") == std::string::npos);
        CHECK(wide.find("\ncorrected\ntensor([[[[0.5947, 0.4053,\n") != std::string::npos);
    }

    TEST_CASE("with --corrected, every format contains both replays of the selection") {
        const std::string requested = "notebook 000 --corrected --only 'weights[0,0,0]' --format ";
        const auto json = nlohmann::json::parse(run(requested + "json").out);
        REQUIRE(json["steps"].size() == 2);
        CHECK(json["steps"][0]["name"] == "weights");
        CHECK(json["steps"][1]["name"] == "weights_corrected");
        CHECK(json["steps"][1]["data"][2] == 0.0);
        const auto cells = nlohmann::json::parse(run(requested + "ipynb").out)["cells"];
        REQUIRE(cells.size() == 6);
        CHECK(cells[2]["source"].back() == "print(weights[0,0,0])");
        CHECK(cells[2]["outputs"][0]["text"][0] ==
              "tensor([0.2999, 0.2044, 0.2478, 0.2478], "
              "grad_fn=<SelectBackward0>)\n");
        CHECK(cells[4]["source"].back() == "print(weights[0,0,0])");
        CHECK(cells[4]["outputs"][0]["text"][0] ==
              "tensor([0.5947, 0.4053, 0.0000, 0.0000], "
              "grad_fn=<SelectBackward0>)\n");
    }

    TEST_CASE("the lines that make a tensor are above those that print it") {
        const std::string shapes =
            run("notebook 003 -q --code torch --only weights_sum,head_scores_shape").out;
        CHECK(program::has(shapes, "\nprint(weights.sum().item())\n"));
        CHECK(program::has(shapes, "\nprint(head_scores.shape)\n"));
    }

    TEST_CASE("a Jupyter notebook contains the lines of sections that it does not print") {
        const auto notebook =
            nlohmann::json::parse(run("--format ipynb --heads 2 --only 'weights[0]'").out);
        REQUIRE(notebook["cells"].size() == 4);
        const auto& source = notebook["cells"][2]["source"];
        CHECK(source[0] == "import math\n");
        CHECK(source.back() == "print(weights[0])");
    }

    TEST_CASE("a page of a notebook shows its lines, unless other settings made the numbers") {
        const std::string page = run("notebook 001 --format html").out;
        CHECK(page.find("w_query = np.random.randn(20, 20)") != std::string::npos);
        const std::string other = run("notebook 001 --scale none --format html").out;
        CHECK(other.find("\"weights\"") != std::string::npos);
        CHECK(other.find("w_query = np.random.randn(20, 20)") == std::string::npos);
    }

    TEST_CASE("flags that do not fit are refused in one line with a remedy") {
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
