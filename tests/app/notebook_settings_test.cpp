// A replayed notebook as the source of other commands, and with changed settings.
#include "tests/support/steps.hpp"

namespace {

using program::has;
using program::run;
using steps::Json;

}  // namespace

TEST_SUITE("app: --notebook") {
    TEST_CASE("each command walks as if the flags of the cell had been typed") {
        const std::string line = run("notebook 002 --as-flags older_weights").out;
        const std::string flags = line.substr(13, line.find(" --only") - 13);
        CHECK(run("--notebook 002:older_weights").out == run(flags).out);
        CHECK(run("--notebook 2:32 --list-steps").out == run(flags + " --list-steps").out);
        CHECK(run("lint --notebook 002:older_weights").out == run("lint " + flags).out);
        CHECK(run("why 'scores[0,1,0]' --notebook 002:older_weights").out ==
              run("why 'scores[0,1,0]' " + flags).out);
        const program::Result step = run("step --notebook 002:32", "goto weights\nwhy\n");
        CHECK(step.out == run("step " + flags, "goto weights\nwhy\n").out);
        CHECK(step.exit_code == 0);
    }

    TEST_CASE("why derives a cell of the page by its name and place there") {
        for (const auto& [cell, walked] :
             {std::pair{"002 'weights[2,1]'", "weights[0,2,1]"},
              std::pair{"002 'older_weights[7,7]'", "weights[0,7,7]"},
              std::pair{"002 'running_mean[7,1]'", "context[0,7,1]"},
              std::pair{"002 'lower_triangle[0,1]'", "mask[0,1]"},
              std::pair{"000 'qkv_by_token[1,0,3]'", "qkv[0,1,3]"},
              std::pair{"000 'qkv_by_token[1,1,3]'", "qkv[0,1,9]"},
              std::pair{"000 'qkv_by_head[1,0,3]'", "key[0,1,0,1]"},
              std::pair{"000 'qkv_by_head[1,2,5]'", "value[0,1,2,1]"},
              std::pair{"000 'is_padding[0,2]'", "mask[0,0,0,2]"},
              std::pair{"003 first_score_of_fifth", "scores[0,4]"},
              std::pair{"003 'first_weights[4]'", "weights[0,4]"},
              std::pair{"003 'head_scores[1,2,3]'", "scores[1,2,3]"}}) {
            const std::string words(cell);
            const program::Result why =
                run("why " + words.substr(4) + " --notebook " + words.substr(0, 3));
            CAPTURE(words);
            CHECK_MESSAGE(why.exit_code == 0, why.err);
            CHECK(has(why.out, std::string(walked) + " = "));
        }
    }

    TEST_CASE("if a cell is given, step names refer to its walk and not to the page") {
        CHECK(run("why 'weights[0,1]' --notebook 002:41").out ==
              run("why 'weights[0,1]' --notebook 002").out);
    }

    TEST_CASE("a derived cell has the number that the page prints there") {
        const Json cell = steps::of("notebook 000")[4];  // qkv_by_token
        REQUIRE(cell["name"] == "qkv_by_token");
        for (std::size_t token = 0; token < 4; ++token) {
            for (std::size_t head = 0; head < 2; ++head) {
                for (std::size_t feature = 0; feature < 6; ++feature) {
                    const std::string place = std::to_string(token) + "," + std::to_string(head) +
                                              "," + std::to_string(feature);
                    const Json why = Json::parse(
                        run("why 'qkv_by_token[" + place + "]' --notebook 000 --json").out);
                    CHECK(why["value"].get<double>() ==
                          doctest::Approx(cell["data"][token][head][feature].get<double>()));
                }
            }
        }
    }

    TEST_CASE("typed flags win, and so do another source and the user's own mistake") {
        CHECK(run("--notebook 002 --scale head-dim --only weights").out ==
              run("--random randn --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 --draw-order "
                  "kqv --mask causal --seed 1337 --variant loop --only weights")
                  .out);
        CHECK(!has(run("--notebook 000 --bug none --only weights").out, "mask was not"));
        const program::Result unmasked = run("--notebook 000 --mask none --only weights");
        CHECK(unmasked.exit_code == 0);
        CHECK(run("--notebook 000 --mask none --format json").out.find("\"bugs\":[]") !=
              std::string::npos);
    }

    TEST_CASE("diagnose names the mistake of a page by comparing with the walk without it") {
        const program::Folder folder;
        const std::string file = folder / "page.npz";
        REQUIRE(run("--notebook 000 --format npz -o " + file).exit_code == 0);
        const program::Result found = run("diagnose " + file + " --notebook 000");
        CHECK(found.exit_code == 1);
        CHECK(has(found.out, "mask-not-applied"));
        REQUIRE(run("--notebook 002 --only scores,scaled_scores,weights --format npz -o " + file)
                    .exit_code == 0);
        CHECK(has(run("diagnose " + file + " --notebook 002").out, "scale-dmodel"));
    }

    TEST_CASE("a setting changed while stepping starts from the notebook's settings") {
        const program::Result step =
            run("step --notebook 000", "set bug=none\ngoto weights\nset mask=none\n");
        CHECK(has(step.out, "changed cells: "));
        CHECK(step.exit_code == 0);
    }

    TEST_CASE("saved settings and the command in a file are those of the notebook") {
        const program::Folder folder;
        const std::string file = folder / "c.json";
        const program::Result typed = run("--notebook 002:86 --scale none --save-config " + file);
        CHECK(typed.exit_code == 0);
        CHECK(run("--config " + file).out == typed.out);
        CHECK(has(program::read_file(file), "\"notebook\": \"002:86\""));
        CHECK(!has(program::read_file(file), "draw"));
    }

}

TEST_SUITE("app: notebook with other settings") {
    TEST_CASE("steps that follow are shown, and those that differ from the page are marked") {
        const program::Result result = run("notebook 002 --heads 4 --scale head-dim");
        CHECK_MESSAGE(result.exit_code == 0, result.err);
        CHECK(has(result.out, "# ! Differs from the page: --heads 4 --scale head-dim."));
        CHECK(has(result.out, "torch.Size([4, 4, 8, 16])"));
        CHECK(!has(result.out, "sqrt(16/32)"));
        // x is unchanged.
        const std::string first = run("notebook 002 -q --only x_small").out;
        CHECK(has(result.out, first));
    }

    TEST_CASE("the numbers are those of the plain walk") {
        const std::string page = " --heads 4 --scale head-dim";
        for (const Json& cell : steps::of("notebook 002" + page)) {
            const std::string name = cell["name"];
            if (name != "two_heads_weights" && name != "older_weights") continue;
            CHECK(cell["changed"] == true);
            const std::string line = run("notebook 002 --as-flags " + name + page).out;
            CHECK(steps::numbers_of(cell) == steps::numbers_of(steps::of_line(line)[0]));
        }
    }

    TEST_CASE("a setting that changes nothing marks nothing") {
        const std::string page = run("notebook 000").out;
        CHECK(run("notebook 000 --heads 2").out == page);
        const program::Result same = run("notebook 000 --mask padding --threads 1");
        CHECK(same.out == page);
        CHECK(has(same.err, "changes no number here: the page's walk already has it"));
        CHECK(run("notebook 000 --mask none").err == "");
    }

    TEST_CASE("a setting removes its steps, and leaves those it cannot reach") {
        const program::Result unmasked = run("notebook 000 --mask none");
        CHECK_MESSAGE(unmasked.exit_code == 0, unmasked.err);
        CHECK(has(unmasked.out, "none: there is no masked_scores with these settings"));
        const program::Result heads = run("notebook 003 --heads 4");
        CHECK(has(heads.out, "! As on the page: projection matrix has one head, not 4"));
        CHECK(has(heads.out, "torch.Size([4, 8, 24])"));
        program::check_refused("notebook 000 --heads 3", "does not divide into 3 heads");
    }

    TEST_CASE("derived cells follow, in every type and with another input") {
        for (const std::string flags :
             {"000 --dtype float64", "000 --ids 1,2,3 --mask causal", "002 --dtype float64",
              "002 --seq-len 3", "002 --mask window:2", "003 --seed 4 --scale none",
              "001 --scale head-dim", "002 --text 'a b c'", "000 --projection split",
              "003 --value-dim 5", "003 --ids 1,2 --heads 2",
              "000 --x data/six-by-three.csv --heads 3 --mask none", "002 --mask none",
              "001 --heads 2", "000 --bug none"}) {
            const program::Result result = run("notebook " + flags);
            CAPTURE(flags);
            CHECK_MESSAGE((result.exit_code == 0 || result.exit_code == 2), result.err);
            CHECK(result.exit_code != 2);
            CHECK(has(result.out, "Differs from the page: "));
        }
    }

    TEST_CASE("--corrected and other formats accept the settings too, --code does not") {
        CHECK(has(run("notebook 000 --corrected --scale none").out, "Differs from the page"));
        CHECK(run("notebook 000 --scale none --format html -o /dev/null").exit_code == 0);
        CHECK(has(run("notebook 000 --scale none --heatmap --only weights").out,
                  "Differs from the page"));
        CHECK(
            Json::parse(run("notebook 000 --scale none --format json").out)["config"]["changed"] ==
            "--scale none");
        program::check_refused("notebook 000 --scale none --code torch", "--as-flags");
    }
}
