// --mla and --differential as a user types them.
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace program;

namespace {

nlohmann::json settings_of(const std::string& flags) {
    const Result result = run(flags + " --only x --format json");
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    return nlohmann::json::parse(result.out).at("config");
}

}  // namespace

TEST_SUITE("app: latent and differential attention") {
    TEST_CASE("the depth may be omitted, follow as a word or after an equals sign") {
        CHECK(settings_of("--differential").at("differential") == 0);
        CHECK(settings_of("--differential --heads 2").at("differential") == 0);
        CHECK(settings_of("--differential 3 --heads 2").at("differential") == 3);
        CHECK(settings_of("--differential=3").at("differential") == 3);
        CHECK(settings_of("").at("differential") == "none");
    }

    TEST_CASE("a flag without a value is kept by --save-config and named in the command") {
        const Folder folder;
        const std::string file = folder / "settings.json";
        for (const std::string flag : {"--differential", "--heatmap"}) {
            const std::string flags = "--heads 2 --embed-dim 8 " + flag;
            const Result first = run(flags + " --only weights,context --save-config " + file);
            REQUIRE(first.exit_code == 0);
            CHECK(run("--only weights,context --config " + file).out == first.out);
            const Result figure = run(flags + " --only context --format svg");
            CHECK(figure.out.find(flag + " --only context") != std::string::npos);
        }
    }

    TEST_CASE("why names the readers of a number, also if heads are subtracted or features mixed") {
        const auto why = [](const std::string& words) { return run("why " + words).out; };
        const std::string heads = " --differential --heads 2 --embed-dim 8 --seq-len 3";
        CHECK(why("'weights[3,0,1]'" + heads).find("used by differential_weights[1,0,1]") !=
              std::string::npos);
        CHECK(why("'weights[0,2,1]'" + heads).find("used by differential_weights[0,2,1]") !=
              std::string::npos);
        const std::string absorbed = " --preset deepseek --mla-absorbed --seq-len 3";
        for (const char* cell : {"'rotated_query[2,1,5]'", "'rotated_query[0,0,0]'"}) {
            CHECK(
                why(cell + absorbed).find("used by absorbed_query, the whole row of this token") !=
                std::string::npos);
        }
    }

    TEST_CASE("the settings of a latent are in the record, with their defaults") {
        const nlohmann::json config = settings_of("--heads 2 --head-dim 8 --mla 5");
        CHECK(config.at("mla") == 5);
        CHECK(config.at("mla_query_rank") == "none");
        CHECK(config.at("mla_absorbed") == false);
        CHECK(config.at("rope") == "interleaved");
        CHECK(config.at("rotary_dim") == 4);
        CHECK(config.at("head_dim") == 8);
        CHECK(config.at("value_dim") == 8);
    }

    TEST_CASE("saved tensors of a walk are read back, and no digit changes") {
        const Folder folder;
        for (const std::string flags :
             {"--preset deepseek --seq-len 4 ", "--preset deepseek --mla-absorbed --seq-len 4 ",
              "--differential 2 --heads 2 --embed-dim 8 --output-projection --seq-len 4 "}) {
            const std::string file = folder / "walk.npz";
            REQUIRE(run(flags + "-o " + file).exit_code == 0);
            const Result again =
                run(flags + "--seed 7 --x " + file + ":x --weights " + file + " --only output -q");
            INFO(flags << again.err);
            CHECK(again.err.find("drawn, as it does not hold") == std::string::npos);
            CHECK(again.out == run(flags + "--only output -q").out);
        }
    }

    TEST_CASE("chunks of a prefill are the rows of the whole") {
        const Result result =
            run("--preset deepseek --mla-absorbed --seq-len 6 --prefill 4 --variant loop --only "
                "context");
        CHECK(result.exit_code == 0);
        CHECK(result.out.find("in 2 chunks") != std::string::npos);
    }
}
