#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/plan/example_file.hpp"
#include "attn/ground/text/json.hpp"

namespace app {
namespace {

std::vector<Flag> examples_flags() {
    return {{flags::name, "NAME", "the example to show, or your own file",
             such_as(attn::shipped_example_names, Takes::Kind::file)},
            output_flag({".txt", ".text", ".log", ".out", ".json"}).in_group("Output")};
}

attn::JsonText json_of(const attn::ExampleFile& file) {
    return {{"name", file.name},
            {"title", file.title},
            {"walk_flags", file.begins},
            {"text", file.text}};
}

int run_examples(const Arguments& arguments) {
    if (arguments.has(flags::name)) {
        const auto file = example_of(arguments[flags::name]);
        write_text_or_json(arguments, file->text, json_of(*file));
        return 0;
    }
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const std::string& name : attn::shipped_example_names()) {
        const auto file = example_of(name);
        text += fmt::format("{:12}{}\n", name, file->title);
        rows.push_back(json_of(*file));
    }
    write_text_or_json(arguments, text, rows);
    return 0;
}

}  // namespace

Command examples_command() {
    return {"examples",
            "list the examples with named features, or show one",
            {table<examples_flags>, json_flags},
            run_examples,
            {{"attn-explain examples", "Lists the names for --example."},
             {"attn-explain examples adjective", "Shows its file: words, features, matrices."},
             {"attn-explain examples adjective -o mine.txt",
              "Writes it for you to edit; attn-explain --example ./mine.txt runs your copy."}}};
}

}  // namespace app
