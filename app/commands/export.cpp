#include <filesystem>

#include "app/commands/commands.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/gguf.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/models/open_model.hpp"

namespace app {
namespace {

using attn::models::Model;

/// Writes config.json, model.safetensors and, if the tokenizer was read from JSON or llama2.c,
/// tokenizer.json.
void write_hugging_face(const Model& model, const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored) && !std::filesystem::is_empty(path, ignored)) {
        throw attn::ConfigError("-o " + path +
                                ": a folder of that name exists and is not empty: choose another "
                                "name, or remove it first");
    }
    const std::string config = attn::models::config_json(model);
    const std::vector<attn::NamedTensor> tensors = attn::models::tensors_for_hugging_face(model);
    attn::OutputFolder folder(path);
    attn::write_file(folder.file("config.json"), config);
    attn::OutputFile file(folder.file("model.safetensors"));
    attn::write_safetensors(file, refs_of(tensors));
    file.commit();
    const std::string tokenizer = model.tokenizer ? model.tokenizer->as_json() : "";
    if (!tokenizer.empty()) attn::write_file(folder.file("tokenizer.json"), tokenizer);
    folder.commit();
    if (!tokenizer.empty()) return;
    report_note(path + " has no tokenizer.json: to read it with a text, name one with --tokenizer");
}

/// Writes one file, with matrices in float16 if `half` is true.
void write_gguf(const Model& model, const std::string& path, bool half) {
    const nlohmann::json metadata = attn::models::metadata_for_gguf(model, half);
    const std::vector<attn::NamedTensor> tensors = attn::models::tensors_for_gguf(model, half);
    attn::OutputSet set;
    attn::OutputFile file(set.file(path));
    attn::write_gguf(file, metadata, refs_of(tensors));
    file.commit();
    set.commit();
    if (metadata.contains("tokenizer.ggml.model")) return;
    report_note(path + " has no tokenizer: to read it with a text, name one with --tokenizer");
}

/// Refuses to overwrite the model that is read, or a file in its folder.
void refuse_own_file(const std::string& model, const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return;
    const fs::path folder = fs::absolute(path).parent_path();
    if (!fs::equivalent(path, model, ignored) && !fs::equivalent(folder, model, ignored)) return;
    throw attn::ConfigError("-o " + path +
                            " is a file of the model being read: choose another name");
}

int run_export(const Arguments& arguments) {
    const std::string path = arguments[flags::output];
    if (path.empty() || path == "-") {
        throw attn::ConfigError(
            "export writes files: pass -o with a folder (--as hf) or a file (--as gguf)");
    }
    const Model model = model_of(arguments);
    refuse_own_file(arguments[flags::model_file], path);
    if (arguments[flags::as].starts_with("gguf")) {
        write_gguf(model, path, arguments[flags::as] == "gguf-f16");
    } else {
        write_hugging_face(model, path);
    }
    return 0;
}

std::vector<Flag> export_flags() {
    std::vector<Flag> rows =
        grouped("Model", {{"--as", "KIND",
                           "hf: a folder that Hugging Face's transformers load; gguf, gguf-f16: a "
                           "file that llama.cpp loads, in float32 or float16",
                           one_of("hf gguf gguf-f16"), "hf"}});
    for (const Flag& flag : model_flags()) {
        if (!flag.is(flags::text) && !flag.is(flags::ids)) rows.push_back(flag);
    }
    rows.push_back(output_flag({".gguf", "*"}));
    return rows;
}

}  // namespace

Command export_command() {
    return {"export",
            "write a trained model for other programs",
            {table<export_flags>},
            run_export,
            {{"attn-explain export --model-file stories --as hf -o stories",
              "A folder with config.json, model.safetensors and tokenizer.json."}}};
}

}  // namespace app
