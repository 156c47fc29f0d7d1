#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using nlohmann::json;
using program::check_refused;
using program::run;

TEST_SUITE("app: generate") {
    TEST_CASE("a page has a row for each token, with its probability and the likeliest ones") {
        const std::string text = "generate --tokens 4 --top 3 --seed 7";
        const std::string page = run(text + " --format html").out;
        const json written = json::parse(run(text + " --json").out);
        REQUIRE(written["tokens"].size() == 4);
        for (const auto& token : written["tokens"]) {
            const std::string printed =
                fmt::format("{} {:.4f}", "&#39;" + token["piece"].get<std::string>() + "&#39;",
                            token["probability"].get<double>());
            INFO(printed);
            CHECK(program::has(page, printed + "\" data-command"));
        }
        const std::vector<std::string> lines = program::lines_of(page);
        CHECK(std::ranges::count_if(lines, [](const std::string& line) {
                  return program::has(line, "<tr><th scope=\"row\">");
              }) == 4);
        CHECK(program::has(page, "<th scope=\"col\">likeliest 3</th></tr>"));
    }

    TEST_CASE("a model file with its tokenizer next to it writes the same text") {
        CHECK(run("generate -q --tokens 30 --model-file data/models/stories260K.bin").out ==
              run("generate -q --tokens 30").out);
    }
    TEST_CASE("a model without a tokenizer writes ids") {
        const program::Folder folder;
        const std::string copy = folder / "alone.bin";
        std::filesystem::copy_file(ATTN_SOURCE_DIR "/data/models/stories260K.bin", copy);
        CHECK(run("generate -q --tokens 3 --ids 1 --model-file " + copy).out == "1 403 407 261\n");
        check_refused("generate --text x --model-file " + copy, "comes without a tokenizer");
        CHECK(run("generate -q --tokens 3 --tokenizer data/models/tok512.bin --model-file " + copy)
                  .out == "Once upon a\n");
    }
    TEST_CASE("the tokenizer that is named is used, or is refused") {
        const program::Folder folder;
        const std::string hf = folder / "hf";
        REQUIRE(run("export --model-file stories -o " + hf).exit_code == 0);
        const std::string other = folder / "other.json";
        std::filesystem::rename(hf + "/tokenizer.json", other);
        const std::string generate = "generate -q --tokens 3 --model-file " + hf;
        check_refused(generate, "comes without a tokenizer");
        CHECK(run(generate + " --tokenizer " + other).out == "Once upon a\n");
        check_refused(generate + " --tokenizer missing.json", "missing.json: cannot be read");
        check_refused(generate + " --tokenizer data/models/tok512.bin", "data/models/tok512.bin");
    }
    TEST_CASE(
        "sampling with a seed is repeatable, and sampling the likeliest token only is greedy") {
        const std::string drawn = run("generate -q --tokens 40 --seed 7").out;
        CHECK(drawn == run("generate -q --tokens 40 --seed 7 --temperature 1").out);
        CHECK(drawn != run("generate -q --tokens 40 --seed 8").out);
        const std::string greedy = run("generate -q --tokens 40").out;
        CHECK(run("generate -q --tokens 40 --top-k 1 --seed 7").out == greedy);
        CHECK(run("generate -q --tokens 40 --top-p 0.01 --seed 7").out == greedy);
        CHECK(run("generate -q --tokens 40 --temperature 0.01").out == greedy);
    }
    TEST_CASE("--top lists the likeliest tokens; all probabilities sum to 1") {
        const json all = json::parse(run("generate --top 512 --tokens 1 --json").out);
        double sum = 0;
        for (const json& each : all["tokens"][0]["top"]) sum += each["probability"].get<double>();
        CHECK(sum == doctest::Approx(1));
        CHECK(all["tokens"][0]["top"].size() == 512);
        CHECK(all["text"] == "Once");
    }
    TEST_CASE("--bug shows both texts and where they diverge") {
        const json bug = json::parse(run("generate --bug window=32 --tokens 40 --json").out)["bug"];
        CHECK(bug["first_difference"].is_null());
        CHECK(bug["first_divergence"]["token"] == 32);
        CHECK(run("generate --bug scale-missing --tokens 5 --model-file tests/models/fixtures/gpt2 "
                  "--ids 1,2")
                  .exit_code == 0);
    }
    TEST_CASE("why decomposes the logit of a token: the parts add up to it") {
        for (const std::string model :
             {"stories --text 'Once'", "tests/models/fixtures/gpt2 --ids 2,1,0"}) {
            const std::string token = model.starts_with("stories") ? "upon" : "7";
            const json next =
                json::parse(run("why 'next[" + token + "]' --json --model-file " + model).out);
            double sum = 0;
            for (const json& part : next["parts"]) sum += part["logit"].get<double>();
            CHECK(sum == doctest::Approx(next["logit"].get<double>()).epsilon(1e-9));
            const json written = json::parse(
                run("generate --json --top 1 --tokens 1 --dtype float64 --model-file " + model)
                    .out);
            const json& likeliest = written["tokens"][0]["top"][0];
            CHECK(likeliest["logit"].get<double>() >= next["logit"].get<double>());
            CHECK((likeliest["logit"] == next["logit"]) == (likeliest["id"] == next["id"]));
        }
        CHECK(run("why 'next[7]' --model-file tests/models/fixtures/gpt2 --ids 2,1,0")
                  .out.find("   sum\n") != std::string::npos);
        // Not a byte token, but the piece with that spelling.
        CHECK(run("why 'next[,]' --model-file stories --text 'Once upon a time'")
                  .out.find("next[47]") == std::string::npos);
    }
    TEST_CASE("heads prints one line per head, and JSON contains the same figures") {
        const std::string arguments = "heads --text 'Once upon a time, there was a little girl'";
        const std::string text = run(arguments).out;
        CHECK(text.find("previous token\n") != std::string::npos);
        const json heads = json::parse(run(arguments + " --json").out)["heads"];
        REQUIRE(heads.size() == 40);
        CHECK(heads[11]["layer"] == 1);
        CHECK(heads[11]["name"] == "previous token");
        CHECK(heads[11]["previous"].get<double>() > 0.5);
    }
    TEST_CASE("why of a next token accepts a mistake for the whole model, but no flags of a walk") {
        const std::string why = "why 'next[upon]' --model-file stories --text Once ";
        for (const std::string flag :
             {"--layer 2", "--depth 3", "--mask none", "--what-if mask=none", "--dtype float64"}) {
            const std::string name = flag.substr(0, flag.find(' '));
            program::check_refused(why + flag, name + " applies to a walk");
        }
    }
    TEST_CASE("the numbers diverge in the generated text, because the prompt runs in one piece") {
        // A query rotated as at position 0 is right while it is in the prompt.
        const auto written =
            run("generate --text 'Once upon a time, there was a little girl' --bug rope-offset-q "
                "--tokens 20");
        CHECK(written.out.find(", at token 13: ") != std::string::npos);
    }
    TEST_CASE("text, JSON and page of a model report the parts that were left out") {
        const program::Folder folder;
        const std::string parts = " --without 4.attn --without 0.1=mean";
        const std::string text = " --text 'Tom gave the ball to'";
        for (const std::string& command : std::vector<std::string>{
                 "heads" + text, "heads --effect" + text, "heads --repeat 5", "lens" + text,
                 "generate --tokens 3" + text, "why 'next[the]' --model-file stories" + text,
                 "patch --from 'Tom gave the doll to' --token ' the- her'" + text}) {
            INFO(command);
            const std::string printed = run(command + parts).out;
            CHECK_MESSAGE(program::has(printed, "stories without 4.attn, 0.1=mean"), printed);
            CHECK_FALSE(program::has(run(command).out, "without 4.attn"));
            const json with = json::parse(run(command + parts + " --json").out);
            CHECK(with.at("without") == json({"4.attn", "0.1=mean"}));
            CHECK(with.at("model") == "stories");
            CHECK_FALSE(json::parse(run(command + " --json").out).contains("without"));
            if (command.starts_with("why") || command.starts_with("generate")) continue;
            if (command == "heads" + text) continue;  // a page of walks, whose own text says so
            const std::string page = folder / "a.html";
            REQUIRE(run(command + parts + " -o " + page).exit_code == 0);
            CHECK(program::has(program::read_file(page), "stories without 4.attn, 0.1=mean"));
        }
    }
}
