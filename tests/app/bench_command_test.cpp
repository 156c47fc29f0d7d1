#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/program.hpp"

using program::check_refused;
using program::run;

TEST_SUITE("app: bench") {
    TEST_CASE("every variant is timed on tiny shapes, and all agree") {
        for (const std::string mask : {"none", "causal"}) {
            const program::Result result = run(
                "bench --batch 2 --heads 1 --seq-len 3,6 --head-dim 2 --rounds 1 --json --mask " +
                mask);
            REQUIRE(result.exit_code == 0);
            const auto json = nlohmann::json::parse(result.out);
            CHECK(json.at("mask") == mask);
            CHECK(json.at("agree") == true);
            CHECK(json.at("results").size() == 6);
            std::set<std::string> variants;
            for (const auto& row : json.at("results")) {
                variants.insert(row.at("variant"));
                CHECK(row.at("skip_reason").is_null());
                CHECK(row.at("seconds").get<double>() > 0);
                CHECK(row.at("gflops").get<double>() > 0);
                CHECK(row.at("memory_bytes").get<double>() > 0);
                CHECK(row.at("shape")[0] == 2);
                const bool first = row.at("variant") == "loop";
                CHECK(row.at("max_difference").is_null() == first);
                if (!first) CHECK(row.at("max_difference") <= row.at("tolerance"));
            }
            CHECK(variants == std::set<std::string>{"loop", "vectorized", "fused"});
            CHECK(json.at("growth").size() == 3);
        }
    }
    TEST_CASE("the table names the machine and every shape, and the plot is written next to it") {
        const program::Folder folder;
        const program::Result result =
            run("bench --variant vectorized,fused --shape 1,3,2 --shape 2,5,3 --rounds 1 "
                "--threads 1,2 --plot " +
                (folder / "time.svg") + " -o " + (folder / "table.txt"));
        CHECK(result.exit_code == 0);
        CHECK(result.out.empty());
        const std::string table = program::read_file(folder / "table.txt");
        CHECK(table.find(" core") != std::string::npos);
        CHECK(table.find("(1,3,2)") != std::string::npos);
        CHECK(table.find("(2,5,3)") != std::string::npos);
        CHECK(table.find("vectorized x2") != std::string::npos);
        CHECK(table.find("loop  ") == std::string::npos);
        const std::string svg = program::read_file(folder / "time.svg");
        CHECK(svg.rfind("<svg ", 0) == 0);
        CHECK(svg.find("vectorized x2 (2,T,3)") != std::string::npos);
    }
    TEST_CASE("settings of OpenBLAS in the environment are named in one line") {
        const std::string tiny = "attn-explain bench --variant vectorized --shape 1,2,2 --rounds 1";
        const std::string names = "OPENBLAS_CORETYPE OPENBLAS_L2_SIZE";
        CHECK(program::shell("unset " + names + " && " + tiny).err.empty());
        const std::string err =
            program::shell("unset " + names + " && OPENBLAS_CORETYPE=Haswell " + tiny).err;
        CHECK(err.rfind("attn-explain: note: ", 0) == 0);
        CHECK(err.find("OPENBLAS_CORETYPE") != std::string::npos);
        CHECK(std::count(err.begin(), err.end(), '\n') == 1);
    }
    TEST_CASE("bad input is refused with the flag") {
        check_refused("bench --threads 0", "--threads");
        check_refused("bench --arch avx99", "--arch");
        check_refused("bench --variant loop --shape 1,1000000000,1", "make the shape smaller");
    }
    TEST_CASE("a failed command leaves no files behind") {
        const program::Folder folder;
        check_refused("bench --variant loop --shape 1,1000000000,1 --plot " +
                          (folder / "time.svg") + " -o " + (folder / "table.txt"),
                      "make the shape smaller");
        CHECK(std::filesystem::is_empty(folder.path()));
    }
}
