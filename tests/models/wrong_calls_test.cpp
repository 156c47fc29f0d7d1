// One invalid call per function of models: each ends in an error of the library, none in a crash.
#include <doctest/doctest.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "attn/files/io/gguf.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/models/branches.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/generate.hpp"
#include "attn/models/gguf.hpp"
#include "attn/models/layer_walk.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "tests/files/io/scratch.hpp"

// A name of its own, as the files of a wing are compiled together.
namespace wrong_model_calls {
namespace {

using namespace attn;
using namespace attn::models;
using Json = nlohmann::json;

const std::vector<std::int64_t> few{1, 2, 3};

void write_metadata(const Json& metadata, const std::vector<TensorRef>& tensors = {}) {
    const ScratchFolder scratch;
    OutputFile file((scratch / "a.gguf").string());
    write_gguf(file, metadata, tensors);
}

}  // namespace

TEST_SUITE("models: wrong calls") {
    TEST_CASE("a wrong call ends in an error") {
        const Model stories = open_model("stories");
        const auto parameters = parameters_of<double>(stories);
        const Architecture& a = stories.architecture;
        const Tensor integers({"x"}, Array<std::int64_t>{1, 2});
        const auto without = [&](Without part) { edits_of({part}, a); };
        const auto part77 = Without{1, static_cast<Without::Part>(77)};
        const std::vector<std::pair<const char*, std::function<void()>>> calls{
            {"a layer beyond the last",
             [&] {
                 Runtime<double>(parameters).through_layer(99, empty_array<double>({1, 1}));
             }},
            {"layer 99 of x of its width",
             [&] {
                 Runtime<double>(parameters).through_layer(99, empty_array<double>({1, 64}));
             }},
            {"x without rows",
             [&] {
                 Runtime<double>(parameters).through_layer(0, empty_array<double>({0, 64}));
             }},
            {"x with one axis",
             [&] { Runtime<double>(parameters).through_layer(0, empty_array<double>({64})); }},
            {"no parameters", [] { Runtime<double>(std::shared_ptr<const Parameters<double>>()); }},
            {"an edit of layer 99",
             [&] { Runtime<double>(parameters, nullptr, {LayerEdit(99, TableEdit())}); }},
            {"layer 99 left out", [&] { without({99}); }},
            {"head 99 left out",
             [&] {
                 without({0, Without::Part::head, 99});
             }},
            {"part 77 left out", [&] { without(part77); }},
            {"a branch at layer 99", [&] { run_branches(stories, few, {}, {{99}}); }},
            {"a branch that makes x shorter",
             [&] {
                 const auto cut = [](Array<double>& x) { x = empty_array<double>({1, 64}); };
                 run_branches(stories, few, {}, {{1, cut, {}}});
             }},
            {"the piece of token 99999", [&] { stories.tokenizer->piece(99999, 1); }},
            {"the piece of token -1", [&] { stories.tokenizer->piece(-1, 1); }},
            {"the label of token 512", [&] { stories.tokenizer->label(512); }},
            {"the label of token -1", [&] { stories.tokenizer->label(-1); }},
            {"a token of JSON beyond the last",
             [] {
                 const Json file{{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}}}};
                 tokenizer_of_json(file, "f", 1)->label(1);
             }},
            {"the walk through layer 99",
             [&] {
                 WalkConfig config;
                 set_layer(stories, 99, config);
             }},
            {"the last logits of no rows",
             [&] {
                 Runtime<double>(parameters).last_logits(empty_array<double>({0, 64}));
             }},
            {"logits of x of another width",
             [&] {
                 Runtime<double>(parameters).logits(empty_array<double>({2, 63}));
             }},
            {"logits of x twice as wide",
             [&] {
                 Runtime<double>(parameters).logits(empty_array<double>({2, 128}));
             }},
            {"the next tokens after no token", [&] { NextTokens(stories, nullptr, {}); }},
            {"the inputs of layer 99", [&] { inputs_of_layers(stories, few, 99); }},
            {"a row beyond a vector", [&] { stories.read_rows("g_final", {64}); }},
            {"a file of llama2.c that is none", [] { read_llama2c(nullptr); }},
            {"a GGUF file that is none", [] { open_gguf(nullptr, "", ""); }},
            {"the tokenizer of null", [] { tokenizer_of_gguf(Json(), "f"); }},
            {"no callback",
             [&] {
                 Runtime<double> runtime(parameters);
                 Sampler sampler(Sampling{});
                 generate(runtime, few, 1, sampler, 1, {});
             }},
            {"metadata of null", [] { write_metadata(Json()); }},
            {"a value of null",
             [] {
                 write_metadata({{"a", nullptr}});
             }},
            {"a value that is an object",
             [] {
                 write_metadata({{"a", Json::object()}});
             }},
            {"a list of two kinds",
             [] {
                 write_metadata({{"a", {1, "b"}}});
             }},
            {"a list of lists",
             [] {
                 write_metadata({{"a", {Json::array({1}), Json::array()}}});
             }},
            {"a tensor of integers",
             [&] {
                 write_metadata(Json::object(), {{"a", integers}});
             }},
        };
        for (const auto& [what, call] : calls) {
            INFO(what);
            CHECK_THROWS_AS(call(), Error);
        }
        CHECK_FALSE(find_divergence(parameters, nullptr, few, 9).has_value());
    }
    TEST_CASE("a number in GGUF is read from any width") {
        const ScratchFolder scratch;
        const std::string path = (scratch / "a.gguf").string();
        const Json metadata{{"a", std::uint64_t{1} << 40U},
                            {"b", -(std::int64_t{1} << 40U)},
                            {"c", std::uint64_t{4294967295U}},
                            {"d", -7}};
        OutputFile file(path);
        write_gguf(file, metadata, {});
        file.commit();
        CHECK(read_gguf(InputFile(path)).metadata == metadata);
    }
}

}  // namespace wrong_model_calls
