// Inputs too long to be shown whole, and the variant that keeps no weights, through the program.
#include "tests/support/program.hpp"

using program::check_refused;
using program::run;

TEST_SUITE("app: long inputs") {
    TEST_CASE("tensors too large for any memory are refused with their sizes and a remedy") {
        check_refused("--seq-len 16384 --heads 8 --embed-dim 512", "34.7 GB");
        check_refused("--seq-len 16384 --heads 8 --embed-dim 512", "--only 'weights[0,5],context'");
        check_refused("--seq-len 100000 --batch 2", "--only 'weights[0,5],context'");
        check_refused("--seq-len 100000 --only weights", "would need");
    }
    TEST_CASE("a part of a long walk is computed alone, and described as in a short one") {
        CHECK(run("--seq-len 20000 --variant loop --only 'weights[5,0]'").exit_code == 0);
        const std::string walk = "--seq-len 50000 --mask causal --only ";
        const program::Result row = run(walk + "'weights[2,:4],masked_scores[0,:2]'");
        CHECK_MESSAGE(row.exit_code == 0, row.err);
        CHECK(row.out.find("# key 4, float32") != std::string::npos);
        CHECK(row.out.find("# Position 2 gives these 4 of the 50000 keys 1.0000 of its attention. "
                           "1 of the 4\n# cells shown is hidden: its weight is 0.") !=
              std::string::npos);
        CHECK(row.out.find("-inf])") != std::string::npos);
        check_refused(walk + "'nothing[0]'", "there is no step 'nothing'");
        check_refused("--seq-len 5 --only output", "there is no step 'output' here");
        check_refused(walk + "'weights[0'", "lacks its closing bracket");
        check_refused(walk + "'weights[100000]'", "use 0 to 49999");
        // The first query sees itself alone, whatever the length.
        CHECK(run(walk + "'weights[0,:3]' -q").out == "tensor([1., 0., 0.])\n");
    }
    TEST_CASE("the size of a page counts its content: no large matrices, unless --detail asks") {
        const program::Folder folder;
        const std::string page = folder / "page.html";
        const std::string walk = "--seq-len 3 --embed-dim 1100 --output-projection -o " + page;
        CHECK(run(walk).exit_code == 0);
        const std::string text = program::read_file(page);
        CHECK(text.size() < 1'000'000);
        CHECK(program::has(text, "\"name\":\"query\""));
        check_refused(walk + " --detail", "browsers open 48");
        check_refused("--seq-len 1500 -o " + page, "or fewer tokens");
    }
    TEST_CASE("the number of threads changes no digit") {
        const std::string walk =
            "--random randn --seq-len 350 --embed-dim 512 --heads 4 --output-projection "
            "--only query,context,output --format plain --precision 9 -q --variant ";
        for (const std::string variant : {"vectorized", "fused"}) {
            const std::string alone = run(walk + variant + " --threads 1").out;
            CHECK(alone.size() > 1'000'000);
            for (const std::string threads : {"2", "3", "7"}) {
                CAPTURE(variant);
                CAPTURE(threads);
                CHECK(run(walk + variant + " --threads " + threads).out == alone);
            }
        }
    }
    TEST_CASE("the fused variant lists its own steps, and a request for weights is answered") {
        const std::string steps = run("--list-steps --variant fused --mask causal").out;
        CHECK(steps.find("running_max") != std::string::npos);
        CHECK(steps.find("partial_context") != std::string::npos);
        CHECK(steps.find("\nweights ") == std::string::npos);
        CHECK(run("--list-steps --variant fused --seq-len 65").out.find("running_max") ==
              std::string::npos);
        const program::Result why = run("why 'weights[0,1]' --variant fused");
        CHECK(why.exit_code == 0);
        CHECK(why.err.find("this is --variant vectorized") != std::string::npos);
        CHECK(run("--variant fused --format json").out.find("\"axes\":[\"query\",\"block\"]") !=
              std::string::npos);
        const program::Result empty = run("--variant fused --lengths 0 --mask padding");
        CHECK(empty.err.find("6 rows hide every key") != std::string::npos);
        CHECK(run("step --variant fused", "goto running\ncell 1,1\nwhy\n").exit_code == 0);
    }
    TEST_CASE("compare names the steps that only one variant has") {
        const program::Result result = run("compare vectorized fused --mask causal");
        CHECK(result.exit_code == 0);
        CHECK(result.out.find("only in the second: running_max correction") != std::string::npos);
    }
}
