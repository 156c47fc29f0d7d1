#include <doctest/doctest.h>

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/open_model.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/refusal.hpp"

// A name of its own, as the files of a wing are compiled together.
namespace model_path_test {
namespace {

using namespace attn;
using namespace attn::models;
namespace fs = std::filesystem;

const fs::path fixtures = ATTN_SOURCE_DIR "/tests/models/fixtures";

/// A checkpoint as a download cache stores it.
fs::path cached(const fs::path& cache, const std::string& name, const std::string& snapshot) {
    const fs::path folder = cache / name;
    fs::create_directories(folder / "snapshots" / snapshot);
    fs::copy(fixtures / "qwen3", folder / "snapshots" / snapshot, fs::copy_options::recursive);
    fs::remove(folder / "snapshots" / snapshot / "model.gguf");
    return folder;
}

/// An environment variable, set for the lifetime of the object.
struct Variable {
    Variable(const char* name, const std::string& value) : name_(name) {
        ::setenv(name, value.c_str(), 1);
    }
    ~Variable() { ::unsetenv(name_); }
    const char* name_;
};

void check_opens(const fs::path& place, const std::string& family) {
    CHECK(refusal<Error>([&] {
              CHECK(open_model(place.string()).architecture.family == family);
          }) == "not refused");
}

void check_message(const fs::path& place, const std::string& part) {
    const std::string reported = refusal<Error>([&] { open_model(place.string()); });
    CHECK_MESSAGE(reported.find(part) != reported.npos, reported);
}

/// The error for a copy of a checkpoint after `damage`.
template <class Damage>
void check_message_after(const std::string& family, Damage damage, const std::string& part) {
    const ScratchFolder scratch;
    fs::copy(fixtures / family, scratch.path(), fs::copy_options::recursive);
    fs::remove(scratch / "model.gguf");
    damage(scratch.path());
    check_message(scratch.path(), part);
}

}  // namespace

TEST_SUITE("models: the door") {
    TEST_CASE("a name that is not a path is looked up in the caches, in their order") {
        const ScratchFolder scratch;
        const Variable home("HF_HOME", scratch.path().string());
        const fs::path folder = cached(scratch / "hub", "models--some-org--a.name", "0123");
        check_opens("some-org/a.name", "qwen3");
        check_opens(folder, "qwen3");
        check_opens(folder.string() + "/", "qwen3");
        check_opens(folder / "snapshots", "qwen3");
        check_message("some-org/another", "run hf download some-org/another, or give a folder");
        check_message("storis", "did you mean stories?");
        check_message(scratch / "hub", "is a cache of models: give one, such as some-org/a.name");
        const Variable first("HF_HUB_CACHE", (scratch / "other").string());
        cached(scratch / "other", "models--gpt2", "4567");
        check_opens("gpt2", "qwen3");
        check_opens("some-org/a.name", "qwen3");
    }
    TEST_CASE("among several snapshots, that of the main branch is used, otherwise none") {
        const ScratchFolder scratch;
        const fs::path folder = cached(scratch.path(), "models--a--b", "0123");
        cached(scratch.path(), "models--a--b", "4567");
        check_message(folder, "holds 0123, 4567, and refs/main names none of them: give one");
        fs::create_directory(folder / "refs");
        write_file((folder / "refs" / "main").string(), "89ab\n");
        check_message(folder, "refs/main names none of them");
        write_file((folder / "refs" / "main").string(), "4567\n");
        check_opens(folder, "qwen3");
        const fs::path weights = folder / "snapshots" / "4567" / "model.safetensors";
        fs::create_directory(folder / "blobs");
        fs::rename(weights, folder / "blobs" / "f00");
        check_message(folder, "run hf download a/b");
        check_message(folder / "blobs" / "f00",
                      "without its config.json: give '" + folder.string());
        check_message(folder / "blobs", "without its config.json: give '" + folder.string());
        fs::create_symlink("../../blobs/gone", weights);
        check_message(folder, "is a link to a file that is not there: run hf download a/b");
    }
    TEST_CASE("refs/main names a snapshot, and no path outside the snapshots") {
        const ScratchFolder scratch;
        const fs::path folder = cached(scratch.path(), "models--a--b", "0123");
        cached(scratch.path(), "models--a--b", "4567");
        fs::create_directory(folder / "refs");
        for (const std::string& out :
             {std::string("../../elsewhere"), std::string("."), (fixtures / "qwen3").string()}) {
            fs::create_directories(scratch / "elsewhere");
            write_file((folder / "refs" / "main").string(), out + "\n");
            check_message(folder, "refs/main names none of them");
        }
    }
    TEST_CASE(
        "a pipe next to a model is not waited for, and the family is checked before the weights") {
        for (const char* name : {"spiece.model", "tokenizer.model", "vocab.json", "x.bin"}) {
            INFO(name);
            const ScratchFolder scratch;
            fs::copy(fixtures / "qwen3", scratch.path());
            fs::remove(scratch / "model.gguf");
            REQUIRE(::mkfifo((scratch / name).c_str(), 0600) == 0);
            check_opens(scratch.path(), "qwen3");
            fs::remove(scratch / "model.safetensors");
            check_message(scratch.path(), "has neither model.safetensors nor its index");
        }
        const ScratchFolder scratch;
        write_file((scratch / "config.json").string(), R"({"model_type": "mamba"})");
        check_message(scratch.path(), "the model_type 'mamba' is not read");
    }
    TEST_CASE("safetensors are read under any name") {
        const ScratchFolder scratch;
        fs::copy(fixtures / "qwen2", scratch.path(), fs::copy_options::recursive);
        check_opens(scratch / "config.json", "qwen2");
        std::string last = "model.safetensors";
        for (const char* name : {"weights", "pytorch_model.bin", "model.fp16.safetensors",
                                 "model-00001-of-00001.safetensors"}) {
            fs::rename(scratch / last, scratch / name);
            last = name;
            check_opens(scratch / name, "qwen2");
        }
        check_opens(scratch.path(), "qwen2");
        fs::rename(scratch / last, scratch / "model-00001-of-00002.safetensors");
        check_message(scratch.path(), "has 1 of 2 shards and no index: run hf download");
        check_message(scratch / "model-00001-of-00002.safetensors",
                      "is shard 1 of 2: give the folder, '" + scratch.path().string());
    }
    TEST_CASE(
        "the index decides which shard a tensor comes from; without an index all shards are "
        "required") {
        const ScratchFolder scratch;
        fs::copy(fixtures / "olmo2", scratch.path(), fs::copy_options::recursive);
        const fs::path index = scratch / "model.safetensors.index.json";
        std::ifstream stream(index);
        nlohmann::json json = nlohmann::json::parse(stream);
        const fs::path second = scratch / "model-00002-of-00002.safetensors";
        fs::copy_file(scratch / "model-00001-of-00002.safetensors", scratch / "stale.safetensors");
        json["weight_map"].begin().value() = "stale.safetensors";
        write_file(index.string(), json.dump());
        check_opens(scratch.path(), "olmo2");  // one file contains what the other one has too
        fs::remove(index);
        fs::remove(scratch / "stale.safetensors");
        check_opens(scratch.path(), "olmo2");
        fs::remove(second);
        check_message(scratch.path(), "has 1 of 2 shards");
    }
    TEST_CASE("a file in place of a model is named, with a remedy") {
        const auto in_place = [](const std::string& name, const std::string& bytes) {
            return [=](const fs::path& folder) {
                fs::remove(folder / "model.safetensors");
                fs::create_directories((folder / name).parent_path());
                write_file((folder / name).string(), bytes + std::string(80, '0'));
            };
        };
        const std::string zip = "PK\x03\x04";
        for (const auto& [name, bytes, reported] :
             std::vector<std::tuple<std::string, std::string, std::string>>{
                 {"pytorch_model.bin", zip, "AutoModelForCausalLM as M; M.from_pretrained("},
                 {"flax_model.msgpack", "\x83", "from_flax=True"},
                 {"tf_model.h5", "\x89HDF", "from_tf=True"},
                 {"onnx/model.onnx", "\x08\x07", "is an ONNX file"},
                 {"model.ckpt.index", "", "a checkpoint of TensorFlow 1"},
                 {"old.bin", "tjgg", "a GGJT file, older than GGUF"},
                 {"original/consolidated.00.pth", zip, "a ZIP archive"},
                 {"model.safetensors", "<!DOCTYPE html>", "an HTML page"},
                 {"adapter_config.json", "{}", "merge_and_unload"},
                 {"x.incomplete", "", "an unfinished download"}}) {
            INFO(name);
            check_message_after("qwen2", in_place(name, bytes), reported);
        }
        const auto keys = [](const nlohmann::json& changed) {
            return [changed](const fs::path& folder) {
                std::ifstream stream(folder / "config.json");
                nlohmann::json config = nlohmann::json::parse(stream);
                config.merge_patch(changed);
                write_file((folder / "config.json").string(), config.dump());
            };
        };
        check_message_after("qwen2", keys({{"quantization", {{"bits", 4}}}}), "mlx_lm.convert");
        check_message_after("qwen2", keys({{"model_type", nullptr}}), "lacks model_type");
        check_message_after("qwen2", keys({{"_class_name", "UNet2DConditionModel"}}), "diffusers");
        check_message_after("qwen2", keys({{"hidden_act", "relu"}}), "give another model");
        check_message_after(
            "qwen2",
            [](const fs::path& folder) {
                write_file((folder / "quantize_config.json").string(), "{}");
            },
            "says \"gptq\"");
        check_message_after(
            "llama",
            [](const fs::path& folder) {
                fs::create_directory(folder / "checkpoint-500");
                fs::rename(folder / "config.json", folder / "checkpoint-500" / "config.json");
            },
            "contains models in its folders: give one, such as");
    }
    TEST_CASE("a tokenizer of another kind is named with the line that converts it") {
        const ScratchFolder scratch;
        fs::copy(fixtures / "qwen2", scratch.path(), fs::copy_options::recursive);
        for (const std::string name :
             {"spiece.model", "sentencepiece.bpe.model", "tiktoken.model", "tokenizer.model"}) {
            write_file((scratch / name).string(), "\n\x0f");
            const std::string reported =
                refusal<Error>([&] { open_model(scratch.path().string()).encode("a"); });
            CHECK_MESSAGE(reported.find("has " + name + " and no tokenizer.json: run python3 -c") !=
                              reported.npos,
                          reported);
            fs::remove(scratch / name);
        }
        write_file((scratch / "tokenizer.model").string(), "version https://git-lfs.github.com/");
        const std::string reported =
            refusal<Error>([&] { open_model(scratch.path().string()).encode("a"); });
        CHECK_MESSAGE(reported.find("git lfs pull") != reported.npos, reported);
    }
}

}  // namespace model_path_test
