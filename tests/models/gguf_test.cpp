#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "attn/files/io/gguf.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/gguf.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/refusal.hpp"

// The files are made by make_gguf.py, as llama.cpp's converter makes them from the checkpoints
// beside them.
namespace {

using namespace attn;
using namespace attn::models;
namespace fs = std::filesystem;

const fs::path gguf_checkpoints = ATTN_SOURCE_DIR "/tests/models/fixtures";
const fs::path gguf_blocks = ATTN_SOURCE_DIR "/tests/files/io/fixtures";

std::string bytes_of_file(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

Array<double> logits_in(const std::string& path) {
    const Model model = open_model(path);
    Runtime<double> runtime(model);
    return runtime.logits(runtime.advance(std::vector<std::int64_t>{3, 1, 4, 12, 5, 9}));
}

/// The error for a checkpoint's GGUF file in which a part is replaced by another of its size.
std::string refusal_of_gguf(const std::string& family, const std::string& from,
                            const std::string& to) {
    const ScratchFolder scratch;
    std::string bytes = bytes_of_file(gguf_checkpoints / family / "model.gguf");
    const std::size_t at = bytes.find(from);
    REQUIRE(at != bytes.npos);
    REQUIRE(from.size() == to.size());
    write_file((scratch / "a.gguf").string(), bytes.replace(at, from.size(), to));
    return refusal<Error>([&] { logits_in((scratch / "a.gguf").string()); });
}

bool names_in_gguf(const std::string& message, const std::string& part) {
    CHECK_MESSAGE(message.find(part) != message.npos, message);
    return message.find(part) != message.npos;
}

nlohmann::json tokenizer_metadata(const std::string& model, const std::string& pre) {
    return {{"tokenizer.ggml.model", model}, {"tokenizer.ggml.pre", pre}};
}

}  // namespace

TEST_SUITE("models: gguf") {
    TEST_CASE("block-quantized numbers are what their formulas give in NumPy") {
        for (const std::string type : {"Q8_0", "Q4_0", "Q4_K", "Q6_K", "Q5_0", "Q5_1", "Q5_K"}) {
            INFO(type);
            const Tensor ours = read_tensor((gguf_blocks / "blocks.gguf").string() + ":" + type);
            const Tensor theirs = read_tensor((gguf_blocks / (type + ".npy")).string());
            REQUIRE(ours.shape() == theirs.shape());
            CHECK(ours.as<float>() == theirs.as<float>());
        }
        CHECK(names_in_gguf(
            refusal<Error>([] { read_tensor((gguf_blocks / "blocks.gguf").string() + ":Q2_K"); }),
            "holds Q2_K, which is not supported: run llama-quantize"));
    }
    TEST_CASE("rows are read individually, and a number finds its block") {
        const InputFile file((gguf_blocks / "blocks.gguf").string());
        for (const GgufTensor& each : read_gguf(file).tensors) {
            if (each.type == "Q2_K") continue;
            INFO(each.type);
            const Tensor all = each.array.read().tensor;
            const Tensor rows = each.array.read_rows({each.shape[0] - 1, 0}).tensor;
            const std::size_t width = each.shape[1];
            CHECK(rows.at(3) == all.at(all.size() - width + 3));
            CHECK(rows.at(width + 20) == all.at(20));
            const std::string printed = each.derivation(file, width + 21);
            CHECK(std::stod(printed.substr(printed.rfind('=') + 1)) ==
                  doctest::Approx(all.at(width + 21)).epsilon(1e-5));
        }
    }
    TEST_CASE("blocks kept packed give the products of their numbers, and take their own bytes") {
        const Model model = open_model(ATTN_SOURCE_DIR "/data/models/stories-q4_0.gguf");
        Array<float> rows = empty_array<float>({40, 64});
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows.data()[i] = std::sin(static_cast<float>(i));
        }
        for (const char* name : {"3.w_up", "embedding"}) {
            INFO(name);
            REQUIRE(model.keep(name) != nullptr);
            const Linear<float> kept(model, name, "");
            Linear<float> opened;
            opened.matrix = StoredMatrix(model.read(name));
            CHECK(kept(rows) == opened(rows));
        }
        // 18 bytes for 32 numbers of the MLP's first two matrices, 2 each for those of the third.
        const double layer = 2 * 172 * 64 * 18 / 32.0 + 172 * 64 * 2 + 2 * 64 * 4;
        const double attention = 64 * 64 * 2 + 64 * 32 * 2;
        const Cost cost = cost_of(model, 5, 1, KeepWeights::all, 4);
        const double all = 5 * (layer + 4 * attention) + 512 * 64 * 34 / 32.0;
        CHECK(cost.in_memory == doctest::Approx(all + 4 * 172 * 64).epsilon(0.01));
        CHECK(cost.read == doctest::Approx(all - 5 * attention * (4 - 18 / 32.0)).epsilon(0.01));
    }
    TEST_CASE(
        "metadata with more values than any model has is refused before memory is allocated") {
        const ScratchFolder scratch;
        constexpr std::uint64_t many = 5'000'000;
        std::string file = "GGUF" + little_endian_bytes(3, 4) + little_endian_bytes(0, 8) +
                           little_endian_bytes(1, 8) + little_endian_bytes(1, 8) + "x" +
                           little_endian_bytes(9, 4) + little_endian_bytes(0, 4) +
                           little_endian_bytes(many, 8);
        write_file((scratch / "a.gguf").string(), file + std::string(many, '\1'));
        CHECK(names_in_gguf(refusal<InputError>([&] { open_model((scratch / "a.gguf").string()); }),
                            "metadata of more than 4194304 values"));
    }
    TEST_CASE("a GGUF file computes what its source folder computes") {
        std::size_t compared = 0;
        for (const fs::directory_entry& entry : fs::directory_iterator(gguf_checkpoints)) {
            const fs::path file = entry.path() / "model.gguf";
            if (!fs::exists(file)) continue;
            INFO(file.string());
            const ScratchFolder scratch;
            fs::copy(entry.path(), scratch.path(), fs::copy_options::recursive);
            // The format has no field for Gemma's divisor, which follows from its sizes.
            auto config = nlohmann::json::parse(bytes_of_file(scratch / "config.json"));
            if (config.contains("query_pre_attn_scalar")) config["query_pre_attn_scalar"] = 4;
            write_file((scratch / "config.json").string(), config.dump());
            const Array<double> theirs = logits_in(scratch.path().string());
            const Array<double> ours = logits_in(file.string());
            REQUIRE(ours.shape() == theirs.shape());
            double largest = 0;
            for (std::size_t i = 0; i < ours.size(); ++i) {
                largest = std::max(largest, std::abs(ours.data()[i] - theirs.data()[i]));
            }
            // Factors of frequencies, cosines and gains that hold 1 + g are rounded to float32 in
            // the file.
            const std::string family = entry.path().filename().string();
            const bool rounded =
                family == "llama" || family == "phi3" || family.starts_with("gemma");
            CHECK(largest < (rounded ? 1e-5 : 1e-9));
            ++compared;
        }
        CHECK(compared == 18);
    }
    TEST_CASE("a weight stored in another order equals the folder's") {
        const Model folder = open_model((gguf_checkpoints / "llama").string());
        const Model file = open_model((gguf_checkpoints / "llama" / "model.gguf").string());
        for (const char* name : {"1.w_query", "0.w_key", "0.w_value", "1.w_down"}) {
            CHECK(same_numbers(cast(folder.read(name), DType::float32), file.read(name)));
        }
        CHECK(file.architecture.end_ids == std::vector<std::int64_t>{2});
    }
    TEST_CASE("unknown contents of a file are named") {
        CHECK(names_in_gguf(refusal_of_gguf("qwen2", "qwen2", "qwen9"),
                            "the architecture 'qwen9' is not known"));
        CHECK(names_in_gguf(refusal_of_gguf("qwen2", "rope.freq_base", "rope.freq_bass"),
                            "says 'qwen2.rope.freq_bass', which is not known here"));
        CHECK(names_in_gguf(refusal_of_gguf("qwen2", "qwen2.block_count", "other.block_count"),
                            "lacks qwen2.block_count"));
        CHECK(names_in_gguf(refusal_of_gguf("qwen2", "blk.1.ffn_up.weight", "blk.1.ffn_op.weight"),
                            "lacks blk.1.ffn_up.weight"));
        CHECK(names_in_gguf(
            refusal_of_gguf("qwen2", std::string("GGUF\2\0", 6), std::string("GGUF\1\0", 6)),
            "GGUF version 1"));
        CHECK(names_in_gguf(refusal_of_gguf("qwen2", std::string("GGUF\2\0\0\0", 8),
                                            std::string("GGUF\0\0\0\3", 8)),
                            "greatest byte first"));
    }
    TEST_CASE("a truncated file is refused at any length") {
        const ScratchFolder scratch;
        const std::string whole = bytes_of_file(gguf_checkpoints / "gemma" / "model.gguf");
        const std::string name = (scratch / "a.gguf").string();
        for (std::size_t size = 4; size < whole.size(); size += 97) {
            write_file(name, whole.substr(0, size));
            CHECK(refusal<InputError>([&] { open_model(name); }) != "not refused");
        }
    }
    TEST_CASE("byte pairs and scored pieces are tokenizers, others are named") {
        nlohmann::json bytes = tokenizer_metadata("gpt2", "llama-bpe");
        bytes["tokenizer.ggml.tokens"] = {"a", "b", "ab", "\u0120", "\u0120ab", "<s>", "<end>"};
        bytes["tokenizer.ggml.token_type"] = {1, 1, 1, 1, 1, 3, 3};
        bytes["tokenizer.ggml.merges"] = {"a b", "\u0120 ab"};
        bytes["tokenizer.ggml.bos_token_id"] = 5;
        const auto ids = [](const nlohmann::json& metadata, const std::string& text) {
            return tokenizer_of_json(tokenizer_of_gguf(metadata, "f"), "f", 12)->encode(text);
        };
        using Ids = std::vector<std::int64_t>;
        CHECK(ids(bytes, "ab ab<end>ba") == Ids{5, 2, 4, 6, 1, 0});
        bytes["tokenizer.ggml.add_bos_token"] = false;
        CHECK(ids(bytes, "ab") == Ids{2});
        nlohmann::json scored = tokenizer_metadata("llama", "default");
        scored["tokenizer.ggml.tokens"] = {"<unk>", "<s>",     "a",        "b",      "\u2581",
                                           "ab",    "\u2581a", "\u2581ab", "<0xC3>", "<0xA9>"};
        scored["tokenizer.ggml.token_type"] = {2, 3, 1, 1, 1, 1, 1, 1, 6, 6};
        scored["tokenizer.ggml.scores"] = {0, 0, -9, -9, -9, -2, -1, -3, 0, 0};
        scored["tokenizer.ggml.bos_token_id"] = 1;
        scored["tokenizer.ggml.unknown_token_id"] = 0;
        // The mark and a are joined before a and b, then b; text without a piece falls back to
        // bytes.
        CHECK(ids(scored, "ab") == Ids{1, 7});
        CHECK(ids(scored, "b\u00E9") == Ids{1, 4, 3, 8, 9});
        scored["tokenizer.ggml.add_space_prefix"] = false;
        CHECK(ids(scored, "ab") == Ids{1, 5});
        scored["tokenizer.ggml.scores"] = {0, 0};
        CHECK(names_in_gguf(refusal<InputError>([&] { ids(scored, "ab"); }),
                            "tokenizer.ggml.scores are 2 for 10 tokens"));
        CHECK(names_in_gguf(refusal<InputError>([&] { ids(tokenizer_metadata("t5", ""), ""); }),
                            "tokenizer.ggml.model is 't5', but only gpt2 and llama are read"));
        CHECK(names_in_gguf(
            refusal<InputError>([&] { ids(tokenizer_metadata("gpt2", "tekken"), ""); }),
            "tokenizer.ggml.pre is 'tekken'"));
    }
}
