#include <nlohmann/json.hpp>

#include "attn/models/open_model.hpp"
#include "tests/support/program.hpp"

using nlohmann::json;
using program::check_refused;
using program::read_file;
using program::run;

namespace {

/// The small Llama checkpoint of the tests, with some keys of its configuration changed.
void copy_llama(const std::string& folder, const json& settings) {
    std::filesystem::copy(ATTN_SOURCE_DIR "/tests/models/fixtures/llama", folder);
    json config = json::parse(read_file(folder + "/config.json"));
    config.update(settings);
    std::ofstream(folder + "/config.json") << config;
}

}  // namespace

TEST_SUITE("app: export") {
    TEST_CASE("after export and import, every number of the model is the same") {
        const program::Folder folder;
        const std::string hf = folder / "hf", gguf = folder / "back.gguf";
        REQUIRE(run("export --model-file stories --as hf -o " + hf).exit_code == 0);
        REQUIRE(run("export --model-file " + hf + " --as gguf -o " + gguf).exit_code == 0);
        const std::string direct = folder / "direct.gguf";
        REQUIRE(run("export --model-file stories --as gguf -o " + direct).exit_code == 0);
        const attn::models::Model original = attn::models::open_model(direct);
        const attn::models::Model returned = attn::models::open_model(gguf);
        std::vector<std::string> names{"embedding", "g_final"};
        for (const char* correct : attn::models::llama2c_layer) {
            for (const char layer : {'0', '4'}) names.push_back(layer + std::string(".") + correct);
        }
        for (const std::string& name : names) {
            INFO(name);
            CHECK(returned.read(name).numbers() == original.read(name).numbers());
        }
    }
    TEST_CASE("the exported model writes the same text, and tokenizes text in the same way") {
        const program::Folder folder;
        const std::string hf = folder / "hf";
        REQUIRE(run("export --model-file stories -o " + hf).exit_code == 0);
        CHECK(run("generate -q --tokens 60 --model-file " + hf).out ==
              run("generate -q --tokens 60").out);
        const auto correct = attn::models::open_model("stories").tokenizer;
        const auto actual = attn::models::open_model(hf).tokenizer;
        REQUIRE(actual != nullptr);
        for (const std::string text : {"Once upon a time, there was a little girl named Lily.", "",
                                       "x", "\"Don't go!\" said the cat.\nThe end.",
                                       "na\u00efve caf\u00e9 \U0001F600", "  two  blanks "}) {
            INFO(text);
            CHECK(actual->encode(text) == correct->encode(text));
            CHECK(attn::models::text_of(*actual, actual->encode(text)) == text);
        }
    }
    TEST_CASE("rows of query and key change their order, rows of value do not") {
        const program::Folder folder;
        const std::string hf = folder / "hf";
        REQUIRE(run("export --model-file stories -o " + hf).exit_code == 0);
        const attn::models::Model correct = attn::models::open_model("stories");
        const attn::models::Model actual = attn::models::open_model(hf);
        // Row 1 of a head, the second of pair 0, moves to row 4: half a head of 8 further.
        for (const char* name : {"2.w_query", "2.w_key"}) {
            CHECK(actual.read(name).at(4 * 64) == correct.read(name).at(1 * 64));
            CHECK(actual.read(name).at((8 + 1) * 64) == correct.read(name).at((8 + 2) * 64));
        }
        CHECK(actual.read("2.w_value").numbers() == correct.read("2.w_value").numbers());
    }
    TEST_CASE("the tokens that end a text are those of the model") {
        const program::Folder folder;
        const std::string hf = folder / "hf";
        REQUIRE(run("export --model-file stories -o " + hf).exit_code == 0);
        CHECK(attn::models::open_model(hf).architecture.end_ids ==
              attn::models::open_model("stories").architecture.end_ids);
        // A Llama whose end token is 7, or whose configuration does not give one.
        for (const json& end : {json(7), json()}) {
            const std::string llama = folder / (end.is_null() ? "without" : "with");
            copy_llama(llama, {{"rope_scaling", {}}, {"eos_token_id", end}});
            REQUIRE(run("export --model-file " + llama + " -o " + llama + "-hf").exit_code == 0);
            const json config = json::parse(read_file(llama + "-hf/config.json"));
            CHECK(config.at("eos_token_id") == end);
            CHECK(config.at("bos_token_id").is_null());
        }
    }
    TEST_CASE("a tokenizer is exported too, or its absence is reported") {
        const program::Folder folder;
        const std::string hf = folder / "hf", gguf = folder / "s.gguf";
        const std::string q4 = "data/models/stories-q4_0.gguf";
        REQUIRE(run("export -o " + hf).exit_code == 0);
        CHECK(run("export --model-file " + hf + " -o " + (folder / "again")).err.empty());
        CHECK(read_file(folder / "again/tokenizer.json") == read_file(hf + "/tokenizer.json"));
        const auto result = run("export --model-file " + q4 + " -o " + (folder / "q4"));
        CHECK(result.exit_code == 0);
        CHECK(
            program::has(result.err, "q4 has no tokenizer.json: to read it with a text, name one"));
        CHECK(json::parse(read_file(folder / "q4/config.json")).at("bos_token_id") == 1);
        const auto named = run("export --model-file " + q4 + " --tokenizer " + hf +
                               "/tokenizer.json -o " + (folder / "named"));
        CHECK(named.err.empty());
        CHECK(read_file(folder / "named/tokenizer.json") == read_file(hf + "/tokenizer.json"));
        CHECK(run("export --model-file " + q4 + " --as gguf -o " + gguf).err.empty());
        const std::string text = "generate -q --tokens 20 --text Lily --model-file ";
        CHECK(run(text + gguf).out == run(text + q4).out);
    }
    TEST_CASE("the model that is read is not overwritten") {
        const program::Folder folder;
        const std::string gguf = folder / "s.gguf";
        REQUIRE(run("export --as gguf -o " + gguf).exit_code == 0);
        const std::string before = read_file(gguf);
        check_refused("export --model-file " + gguf + " --as gguf -o " + gguf,
                      "is a file of the model being read: choose another name");
        CHECK(read_file(gguf) == before);
        REQUIRE(run("export -o " + (folder / "hf")).exit_code == 0);
        std::ofstream(folder / "hf/old.gguf") << "another model";
        check_refused(
            "export --model-file " + (folder / "hf") + " --as gguf -o " + (folder / "hf/old.gguf"),
            "is a file of the model being read: choose another name");
    }
    TEST_CASE("a window of a later layer is not dropped silently") {
        const program::Folder folder;
        const std::string llama = folder / "llama";
        copy_llama(llama, {{"rope_scaling", {}},
                           {"sliding_window", 3},
                           {"layer_types", {"full_attention", "sliding_attention"}}});
        check_refused("export --model-file " + llama + " -o " + (folder / "hf"), "the attention");
        check_refused("export --model-file " + llama + " --as gguf -o " + (folder / "x.gguf"),
                      "the attention");
    }
}
