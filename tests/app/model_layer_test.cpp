#include <nlohmann/json.hpp>

#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "tests/support/program.hpp"

using nlohmann::json;
using program::run;

namespace {

/// The numbers of a JSON tensor of any rank.
void flatten(const json& data, std::vector<double>& numbers) {
    if (data.is_array()) {
        for (const json& each : data) flatten(each, numbers);
    } else {
        numbers.push_back(data.is_string() ? -std::numeric_limits<double>::infinity()
                                           : data.get<double>());
    }
}

/// Compares every step of the walk through a layer with the same model's own forward pass.
void check_layer(const std::string& name, std::size_t layer, const std::string& input,
                 const std::vector<std::int64_t>& ids) {
    const std::string flags = "--model-file " + name + " --layer " + std::to_string(layer) + input +
                              " --dtype float64 --format json";
    const json walk = json::parse(run(flags).out);
    const attn::models::Model model = attn::models::open_model(name);
    attn::models::Runtime<double> runtime(model);
    std::size_t compared = 0;
    runtime.watch([&](const attn::models::LayerPass& passing) {
        if (passing.layer != layer) return;
        for (const json& step : walk["steps"]) {
            const std::string correct = step["name"];
            const bool unmasked = correct == "scaled_scores";
            if ((unmasked                     ? ""
                 : correct == "masked_scores" ? "scaled_scores"
                                              : correct) != passing.name) {
                continue;
            }
            std::vector<double> numbers;
            flatten(step["data"], numbers);
            REQUIRE(numbers.size() == passing.tensor.size());
            double largest = 0;
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                const double other = passing.tensor.at(i);
                if (numbers[i] != other) largest = std::max(largest, std::abs(numbers[i] - other));
            }
            INFO(flags << ": " << correct);
            CHECK(largest < 1e-12);
            ++compared;
        }
    });
    runtime.advance(ids);
    CHECK(compared >= 9);
}

}  // namespace

TEST_SUITE("app: model layers") {
    TEST_CASE("a walk through any layer has the numbers of the model's own run") {
        const std::string text = "Once upon a time, there was a cat";
        const auto ids = attn::models::open_model("stories").encode(text);
        for (const std::size_t layer : {0U, 2U, 4U}) {
            check_layer("stories", layer, " --text '" + text + "'", ids);
        }
        for (const std::size_t layer : {0U, 1U}) {
            check_layer(ATTN_SOURCE_DIR "/tests/models/fixtures/gpt2", layer, " --ids 2,1,0,1,1,2",
                        {2, 1, 0, 1, 1, 2});
        }
    }
    TEST_CASE("a walk through a checkpoint of each family has the output that NumPy computes") {
        const std::string folder = ATTN_SOURCE_DIR "/tests/models/fixtures/";
        for (const std::string family :
             {"gpt_oss", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "olmo2",
              "phi", "phi3", "gpt_neox", "gpt2", "bert"}) {
            const json expected =
                json::parse(program::read_file(folder + family + "/expected.json"));
            for (std::size_t layer = 0; layer < expected["outputs"].size(); ++layer) {
                const std::string flags = "--model-file " + folder + family + " --layer " +
                                          std::to_string(layer) +
                                          " --ids 3,1,4,12,5,9 --dtype float64 --format json";
                INFO(flags);
                std::vector<double> correct, actual;
                const json walk = json::parse(run(flags + " --only output").out);
                flatten(walk["steps"][0]["data"], correct);
                flatten(expected["outputs"][layer], actual);
                REQUIRE(correct.size() == actual.size());
                double largest = 0;
                for (std::size_t i = 0; i < correct.size(); ++i) {
                    largest = std::max(largest, std::abs(correct[i] - actual[i]));
                }
                CHECK(largest < 1e-9);
            }
        }
    }
    TEST_CASE("tokens are labels, and why traces back to the embeddings") {
        const std::string flags = " --model-file stories --text 'Once upon a time'";
        CHECK(run("why 'weights[0,upon,Once]' --layer 1" + flags)
                  .out.find("query 'upon', key 'Once'") != std::string::npos);
        CHECK(run("why 'normed_x[upon,3]'" + flags)
                  .out.find("x[t,c] / sqrt((mean i: x[t,i] ^ 2) + 1e-05) * g_x[c]") !=
              std::string::npos);
    }
    TEST_CASE("the loop, other formats, mistakes and comparisons work on a model") {
        const std::string flags = "--model-file stories --layer 3 --text 'Once upon a time' ";
        CHECK(run(flags + "--variant loop --only 'weights[0]' -q").out ==
              run(flags + "--only 'weights[0]' -q").out);
        CHECK(run(flags + "--bug rope-missing --only scores").exit_code == 0);
        CHECK(run(flags + "--bug scale-missing --only 'scaled_scores[0]' -q").out ==
              run(flags + "--only 'scores[0]' -q").out);
        CHECK(run("compare '--layer 0' '--layer 1' --model-file stories --text Once")
                  .out.find("first difference: x[0,0]") != std::string::npos);
        CHECK(run("lint " + flags).exit_code == 0);
        const json config = json::parse(run(flags + "--format json").out)["config"];
        CHECK(config["model_file"] == "stories");
        CHECK(config["layer"] == 3);
        CHECK(config["kv_heads"] == 4);
        CHECK(config["x_norm"] == "rms");
    }
    TEST_CASE("--list-layers lists the layers") {
        const std::string list = run("--list-layers --model-file stories").out;
        CHECK(std::count(list.begin(), list.end(), '\n') == 5);
        CHECK(list.starts_with("layer 0  8 heads on 4 key/value heads of 8 features, rotary"));
    }
    TEST_CASE("diagnose uses the mask of the model") {
        const program::Folder folder;
        const std::string flags = " --model-file stories --layer 1 --text 'Once upon a time' ";
        const std::string actual = folder / "theirs.npz";
        REQUIRE(run(flags + "--bug mask-not-applied -o " + actual).exit_code == 0);
        const program::Result mistaken = run("diagnose " + actual + flags);
        CHECK(mistaken.exit_code == 1);
        CHECK(mistaken.out.find("mask-not-applied") != std::string::npos);
        REQUIRE(run(flags + "-o " + actual).exit_code == 0);
        const program::Result right = run("diagnose " + actual + flags);
        CHECK_MESSAGE(right.exit_code == 0, right.out);
        CHECK(right.out.find("assumed: --mask") == std::string::npos);
    }
    TEST_CASE("flags next to a model are refused, or marked if they change it") {
        const std::string model = "--model-file stories --text 'Lily saw a cat' --layer 1 ";
        for (const std::string flags :
             {"--rope half", "--rope-theta 100", "--scale 1", "--softcap 5", "--sink zero",
              "--position-bias alibi", "--mask window:2", "--mask none"}) {
            INFO(flags);
            const program::Result marked = run(model + flags + " --only weights,value");
            CHECK(marked.exit_code == 0);
            CHECK(marked.out.find("Differs from the model: " + flags) != std::string::npos);
            // Values are computed as before.
            const std::size_t value = marked.out.find("# value");
            CHECK(marked.out.find("Differs from", value) > marked.out.find("# weights"));
            CHECK(run("why 'weights[0,2,1]' " + model + flags)
                      .err.find("differs from the model: " + flags) != std::string::npos);
        }
        for (const std::string flags :
             {"--mask causal", "--rope interleaved", "--dtype float32", "--x-norm rms"}) {
            INFO(flags);
            const program::Result same = run(model + flags);
            CHECK(same.exit_code == 0);
            CHECK(same.out.find("Differs from") == std::string::npos);
        }
    }
}
