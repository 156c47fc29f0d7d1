#include <doctest/doctest.h>

#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "attn/core/settings/settings.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/generate.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/models/checkpoints.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/walked.hpp"

// The checkpoints and their expected results are made by make_checkpoints.py.
namespace {

using namespace attn;
using namespace attn::models;
namespace fs = std::filesystem;

using checkpoints::change_config;
using checkpoints::has;
using checkpoints::small_models;

double largest_difference(const nlohmann::json& expected, const Array<double>& ours) {
    double largest = 0;
    for (std::size_t r = 0; r < ours.shape(0); ++r) {
        for (std::size_t f = 0; f < ours.shape(1); ++f) {
            const double theirs = expected.at(r).at(f);
            largest = std::max(largest, std::abs(theirs - ours(r, f)));
        }
    }
    return largest;
}

}  // namespace

TEST_SUITE("models: families") {
    TEST_CASE("a checkpoint of each family computes what NumPy computes from its numbers") {
        std::size_t tried = 0;
        for (const fs::directory_entry& entry : fs::directory_iterator(small_models)) {
            ++tried;
            const std::string family = entry.path().filename().string();
            INFO(family);
            const Model model = open_model((small_models / family).string());
            std::ifstream stream(small_models / family / "expected.json");
            const auto expected = nlohmann::json::parse(stream);
            const std::vector<std::int64_t> ids = expected.at("ids");
            Runtime<double> runtime(model);
            std::size_t compared = 0;
            runtime.watch([&](const LayerPass& passing) {
                if (passing.name != "output") return;
                CHECK(largest_difference(expected["outputs"][passing.layer],
                                         passing.tensor.as<double>()) < 1e-9);
                ++compared;
            });
            const Array<double> x = runtime.advance(ids);
            CHECK(compared == model.architecture.layers.size());
            CHECK(model.has("0.sink") == family.starts_with("gpt_oss"));
            if (!expected.contains("logits")) continue;
            CHECK(largest_difference(expected["logits"], runtime.logits(x)) < 1e-9);
        }
        CHECK(tried > 38);
    }
    TEST_CASE("the folder, its index and its only file name the same model") {
        CHECK(open_model((small_models / "qwen2" / "model.safetensors").string())
                  .read("0.w_key")
                  .at(5) == open_model((small_models / "qwen2").string()).read("0.w_key").at(5));
        CHECK(open_model((small_models / "olmo2" / "model.safetensors.index.json").string())
                  .has("1.g_key"));
    }
    TEST_CASE("from a table of gigabytes only the rows of the text are read") {
        const ScratchFolder scratch;
        const std::size_t vocab = 1U << 22U;
        const std::size_t width = 640;
        write_file((scratch / "config.json").string(), nlohmann::json{{"model_type", "llama"},
                                                                      {"hidden_size", width},
                                                                      {"intermediate_size", 1},
                                                                      {"num_hidden_layers", 1},
                                                                      {"num_attention_heads", 1},
                                                                      {"head_dim", 2},
                                                                      {"vocab_size", vocab},
                                                                      {"tie_word_embeddings", true}}
                                                           .dump());
        // All numbers but one are 0: the file is 10 GB long and takes a few kB on disk.
        nlohmann::json header;
        std::size_t end = 0;
        const auto lay = [&](const std::string& name, std::vector<std::size_t> shape) {
            std::size_t bytes = 4;
            for (const std::size_t length : shape) bytes *= length;
            header[name] = {
                {"dtype", "F32"}, {"shape", shape}, {"data_offsets", {end, end + bytes}}};
            end += bytes;
        };
        for (const char* part : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}) {
            lay("model.layers.0." + std::string(part) + ".weight", {2, width});
        }
        lay("model.layers.0.self_attn.o_proj.weight", {width, 2});
        lay("model.layers.0.mlp.gate_proj.weight", {1, width});
        lay("model.layers.0.mlp.up_proj.weight", {1, width});
        lay("model.layers.0.mlp.down_proj.weight", {width, 1});
        for (const char* norm :
             {"layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"}) {
            lay("model." + std::string(norm) + ".weight", {width});
        }
        const std::size_t table = end;
        lay("model.embed_tokens.weight", {vocab, width});
        const std::string text = header.dump();
        const std::string file = (scratch / "model.safetensors").string();
        const std::size_t first = 8 + text.size();
        {
            std::ofstream stream(file, std::ios::binary);
            const std::uint64_t length = text.size();
            stream.write(reinterpret_cast<const char*>(&length), 8);
            stream << text;
            const float number = 2.5F;
            stream.seekp(static_cast<std::streamoff>(first + table + 4 * (4'000'000 * width + 3)));
            stream.write(reinterpret_cast<const char*>(&number), 4);
        }
        fs::resize_file(file, first + end);
        rusage before{};
        getrusage(RUSAGE_SELF, &before);
        const Model model = open_model(scratch.path().string());
        const Array<double> x =
            Runtime<double>(model).advance(std::vector<std::int64_t>{7, 4'000'000});
        CHECK(x(0, 3) == 0);
        CHECK(x(1, 3) == 2.5);
        rusage after{};
        getrusage(RUSAGE_SELF, &after);
        const long kilobytes = after.ru_maxrss - before.ru_maxrss;
        CHECK_MESSAGE(kilobytes < 64 * 1024, kilobytes);
    }
    TEST_CASE("a model without an output matrix runs, and writes no text") {
        const ScratchFolder scratch;
        fs::copy(small_models / "qwen2", scratch.path(), fs::copy_options::recursive);
        change_config(scratch.path(), {{"tie_word_embeddings", false}});
        const Model model = open_model(scratch.path().string());
        Runtime<double> runtime(model);
        const Array<double> x = runtime.advance(std::vector<std::int64_t>{1, 2});
        CHECK(has(refusal<InputError>([&] { runtime.logits(x); }), "lm_head.weight"));
        const ScratchFolder other;
        fs::copy(small_models / "mistral", other.path(), fs::copy_options::recursive);
        change_config(other.path(), {{"tie_word_embeddings", true}});
        const Model tied = open_model(other.path().string());
        Runtime<double> again(tied);
        const Array<double> y = again.advance(std::vector<std::int64_t>{1, 2});
        CHECK(has(refusal<InputError>([&] { again.logits(y); }),
                  "lm_head.weight is not model.embed_tokens.weight"));
    }
    TEST_CASE("an adapter next to a model is reported, and not applied") {
        const ScratchFolder scratch;
        fs::copy(small_models / "llama", scratch.path(), fs::copy_options::recursive);
        CHECK(open_model(scratch.path().string()).note.empty());
        write_file((scratch.path() / "adapter_config.json").string(), "{}");
        CHECK(has(open_model(scratch.path().string()).note,
                  "adapter_config.json is of an adapter, which is not applied"));
    }
    TEST_CASE("a download cache stands for its main branch") {
        const ScratchFolder scratch;
        const fs::path commit = scratch / "snapshots" / "0123abcd";
        fs::create_directories(commit);
        fs::copy(small_models / "qwen3", commit, fs::copy_options::recursive);
        fs::create_directory(scratch / "refs");
        write_file((scratch / "refs" / "main").string(), "0123abcd");
        CHECK(open_model(scratch.path().string()).architecture.family == "qwen3");
    }
    TEST_CASE("a text that a tokenizer cannot split leaves ids as the only input") {
        const auto with_tokenizer = [](const std::string& text) {
            const ScratchFolder scratch;
            fs::copy(small_models / "qwen2", scratch.path(), fs::copy_options::recursive);
            write_file((scratch / "tokenizer.json").string(), text);
            write_file((scratch / "generation_config.json").string(), "{\"eos_token_id\": [4, 7]}");
            return open_model(scratch.path().string());
        };
        const Model broken = with_tokenizer("{");
        CHECK(broken.architecture.end_ids == std::vector<std::int64_t>{4, 7});
        CHECK(has(refusal<Error>([&] { broken.encode("a"); }), "or pass ids"));
        const Model unigram = with_tokenizer(
            "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"<unk>\", 0], [\"▁ab\", -2.5]]}}");
        CHECK(has(refusal<Error>([&] { unigram.encode("ab"); }), "Unigram"));
        CHECK(unigram.tokenizer->label(1) == " ab");
    }
    TEST_CASE("another base of the frequencies is scaled as the model's own") {
        for (const std::string family : {"llama", "phi3", "gemma3_text-by-kind-of-layer"}) {
            INFO(family);
            const Model model = open_model((small_models / family).string());
            const ModelMistake mistake = find_model_mistake("rope-theta", model);
            const auto parameters = parameters_of<double>(model);
            for (std::size_t n = 0; n < parameters->layers(); ++n) {
                const LayerKind& own = model.architecture.layers[n];
                const double theta = own.theta == 10000 ? 500000 : 10000;
                WalkConfig alone = configured("dtype float64, seq-len 2");
                alone.embed_dim = static_cast<std::int64_t>(own.rotary_dim);
                alone.rotary = {Pairing::half, theta, {}, own.scaling};
                const Tensor other = attn::testing::walked(alone)["inverse_frequencies"];
                LayerWalk walk(parameters->layer(n)->attention, &mistake);
                const auto x = Array<double>::filled({2, model.architecture.embed_dim}, 1);
                const Ledger ledger = walk.advance({{"token", "feature"}, x});
                CHECK(same_numbers(ledger["inverse_frequencies"], other));
            }
        }
    }
    TEST_CASE("weights of nan write no text") {
        const ScratchFolder scratch;
        fs::copy(small_models / "mistral", scratch.path(), fs::copy_options::recursive);
        {
            std::fstream file(scratch / "model.safetensors",
                              std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(-2, std::ios::end);
            file.write("\xff\x7f", 2);
        }
        const Model model = open_model(scratch.path().string());
        Runtime<double> runtime(model);
        Sampler sampler{Sampling{}};
        CHECK(has(refusal<InputError>([&] {
                      generate(runtime, {1, 2}, 3, sampler, 0, [](const auto&) {});
                  }),
                  "are nan"));
    }
}
