#include <doctest/doctest.h>

#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "attn/io/atomic_file.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "attn/tensor/error.hpp"
#include "tests/io/scratch.hpp"
#include "tests/support/refusal.hpp"

// The checkpoints and what they compute are made by make_checkpoints.py.
namespace {

using namespace attn;
using namespace attn::models;
namespace fs = std::filesystem;

const fs::path checkpoints = ATTN_SOURCE_DIR "/tests/models/fixtures";

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

/// What is said when a copy of a checkpoint is opened and read after `damage`.
template <class Damage>
std::string refusal_after(const std::string& family, Damage damage) {
    const ScratchFolder scratch;
    fs::copy(checkpoints / family, scratch.path(), fs::copy_options::recursive);
    damage(scratch.path());
    return refusal<Error>([&] {
        const Model model = open_model(scratch.path().string());
        Runtime<double>(model).advance(std::vector<std::int64_t>{1, 2, 3});
    });
}

std::string config_with(const std::string& family, const std::string& key,
                        const nlohmann::json& value) {
    return refusal_after(family, [&](const fs::path& folder) {
        std::ifstream stream(folder / "config.json");
        nlohmann::json config = nlohmann::json::parse(stream);
        config[key] = value;
        write_file((folder / "config.json").string(), config.dump());
    });
}

}  // namespace

TEST_SUITE("models: families") {
    TEST_CASE("a checkpoint of each family computes what NumPy computes of its numbers") {
        for (const std::string family :
             {"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "olmo2", "phi", "phi3",
              "gpt_neox", "gpt_neox-one-after-the-other", "gpt2", "bert", "gpt_oss",
              "gpt_oss-packed"}) {
            INFO(family);
            const Model model = open_model((checkpoints / family).string());
            std::ifstream stream(checkpoints / family / "expected.json");
            const auto expected = nlohmann::json::parse(stream);
            const std::vector<std::int64_t> ids = expected.at("ids");
            Runtime<double> runtime(model);
            std::size_t compared = 0;
            runtime.watch([&](const Passing& passing) {
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
    }
    TEST_CASE("the folder, its index and its only file name the same model") {
        CHECK(open_model((checkpoints / "qwen2" / "model.safetensors").string())
                  .read("0.w_key")
                  .at(5) == open_model((checkpoints / "qwen2").string()).read("0.w_key").at(5));
        CHECK(open_model((checkpoints / "olmo2" / "model.safetensors.index.json").string())
                  .has("1.g_key"));
    }
    TEST_CASE("of a table of gigabytes only the rows of the text are read") {
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
        // Everything is 0, but for one number: the file has 10 GB and takes a few kB of the disk.
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
    TEST_CASE("what is missing or contradicts is one line that names it") {
        CHECK(refusal_after("llama", [](const fs::path& folder) {
                  fs::remove(folder / "config.json");
              }).find("there is no config.json beside it") != std::string::npos);
        CHECK(refusal_after("llama", [](const fs::path& folder) {
                  fs::remove(folder / "model.safetensors");
              }).find("has neither model.safetensors nor its index") != std::string::npos);
        CHECK(refusal_after("olmo2", [](const fs::path& folder) {
                  write_file((folder / "model.safetensors.index.json").string(),
                             "{\"weight_map\": {\"a\": \"../model.safetensors\"}}");
              }).find("names what is no file beside it") != std::string::npos);
        CHECK(config_with("llama", "model_type", "mamba").find("the model_type 'mamba' is not") !=
              std::string::npos);
        CHECK(
            config_with("llama", "num_attention_heads", 0).find("num_attention_heads is no size") !=
            std::string::npos);
        CHECK(config_with("llama", "num_key_value_heads", 3).find("does not divide") !=
              std::string::npos);
        CHECK(config_with("llama", "num_hidden_layers", 3)
                  .find("lacks layers.2.self_attn.q_proj.weight (llama), which makes w_query "
                        "(16, 8)") != std::string::npos);
        CHECK(config_with("llama", "head_dim", 8).find("has the shape (16, 8), not (32, 8)") !=
              std::string::npos);
        CHECK(config_with("gpt_oss", "num_local_experts", 2)
                  .find("b_router has the shape (4,), not (2,)") != std::string::npos);
        CHECK(config_with("gpt_oss", "num_experts_per_tok", 5).find("asks for more than") !=
              std::string::npos);
        CHECK(config_with("qwen3", "hidden_act", "relu6").find("the activation 'relu6'") !=
              std::string::npos);
        CHECK(config_with("qwen3", "rope_scaling", {{"rope_type", "su"}, {"factor", 2}})
                  .find("rope_scaling") != std::string::npos);
        CHECK(config_with("gpt2", "n_embd", "many").find("is no size") != std::string::npos);
    }
}
