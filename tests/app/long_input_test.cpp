// Inputs too long to be shown whole, and the variant that keeps no weights, through the program.
#include "tests/support/program.hpp"

using program::check_refused;
using program::run;

TEST_SUITE("app: long inputs") {
    TEST_CASE("tensors too large for any memory are refused with their sizes and a remedy") {
        check_refused("--seq-len 100000 --batch 2", "--only 'weights[0,5],context'");
        check_refused("--seq-len 100000 --only weights", "would need");
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
            "--random randn --seq-len 200 --embed-dim 512 --heads 4 --output-projection "
            "--only context,output --format plain --precision 9 -q --variant ";
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
