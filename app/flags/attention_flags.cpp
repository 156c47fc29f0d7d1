#include <algorithm>
#include <filesystem>
#include <system_error>

#include "app/flags/config_file.hpp"
#include "app/flags/setting.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/example_file.hpp"
#include "attn/core/plan/given_sizes.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

bool is_whole_text(const std::string& specified) { return specified.find('\n') != specified.npos; }

bool has_attention(const Plan& plan) { return !plan.config.attentions.empty(); }

/// A kind of text that a flag accepts: shipped texts by name, and the user's files.
struct TextKind {
    const char *flag, *one, *what;  ///< `--attention`, `attention`, `an attention`
    std::string (*shipped)(std::string_view name);
    std::vector<std::string> (*names)();
};
constexpr TextKind attention_texts{"--attention", "attention", "an attention",
                                   attn::shipped_attention, attn::shipped_attention_names};
constexpr TextKind example_texts{"--example", "example", "an example", attn::shipped_example,
                                 attn::shipped_example_names};

/// Returns the text for a name, a file, or a text of several lines.
std::string text_of(const TextKind& kind, const std::string& specified) {
    if (is_whole_text(specified)) return specified;
    const std::string shipped = kind.shipped(specified);
    if (!shipped.empty()) return shipped;
    if (!names_a_file(specified)) {
        throw attn::ConfigError(std::string(kind.flag) + ": there is no " + kind.one + " '" +
                                specified + "'" +
                                attn::did_you_mean(specified, kind.names(),
                                                   ": attn-explain " + std::string(kind.one) +
                                                       "s lists them, and your own file has a "
                                                       "dot or a folder in its name"));
    }
    attn::InputFile file(specified, std::size_t{1} << 20U);
    if (file.size() == 0) throw attn::InputError(file.label() + ": is empty: give " + kind.what);
    constexpr std::uint64_t longest = 65536;
    if (file.size() > longest) {
        throw attn::InputError(file.label() + " is larger than 64 KB: " + kind.what +
                               " is a text of a few lines");
    }
    return std::string(file.all());
}

std::string label_of(const TextKind& kind, const std::string& specified) {
    return is_whole_text(specified) ? kind.flag : attn::file_label(specified);
}

/// Replaces the name of a pipe or device by its text, since it can be read only once.
void take_streams(Arguments& typed, const TextKind& kind) {
    const auto is_stream = [&](const std::string& specified) {
        std::error_code none;
        return specified == "-" ||
               (!is_whole_text(specified) && kind.shipped(specified).empty() &&
                names_a_file(specified) && std::filesystem::is_other(specified, none));
    };
    const Flag& flag = *typed.find(kind.flag);
    const std::vector<std::string> all = typed.all(flag);
    if (std::ranges::none_of(all, is_stream)) return;
    std::vector<Arguments::SpecifiedFlag> read;
    for (const std::string& specified : all) {
        read.push_back({&flag, is_stream(specified) ? text_of(kind, specified) : specified});
    }
    typed.specify(read);
}

/// Errors  ConfigError for a flag that names a file or sets more than a walk.
void check_begin(const Arguments::SpecifiedFlag& specified) {
    const bool names_file = specified.flag->takes.kind == Takes::Kind::file ||
                            (specified.flag->may_name_file() && names_a_file(specified.text)) ||
                            specified.text.starts_with('@');
    const bool may = makes_walk(*specified.flag) && !specified.flag->never_in_files &&
                     !names_file && !specified.flag->is(flags::attentions) &&
                     !specified.flag->is(flags::notebook) && !specified.flag->is(flags::example) &&
                     !specified.flag->is(flags::preset) &&
                     (specified.flag->traits & (sets_x | sets_memory)) == 0;
    if (may) return;
    throw attn::ConfigError(
        "a file of an attention or an example begins with flags of a walk that name no file, and " +
        specified.flag->name + " is none");
}

/// Adds the flags at the beginning of a file below those that were typed.
void set_example_defaults(Arguments& typed, const auto& file) {
    if (file.begins.empty()) return;
    Arguments begins(typed.tables());
    file.at(file.begins_line, [&] {
        begins.parse(shell_words(file.begins), true);
        for (const Arguments::SpecifiedFlag& specified : begins.specified()) check_begin(specified);
    });
    begins.came_from({file.label, file.begins_line});
    typed.set_defaults_from(begins);
}

bool walks(const Arguments& arguments) {
    const std::vector<FlagTable>& tables = arguments.tables();
    return std::ranges::find(tables, FlagTable(walk_flags)) != tables.end();
}

}  // namespace

std::shared_ptr<const attn::AttentionFile> attention_of(const std::string& specified) {
    return std::make_shared<const attn::AttentionFile>(attn::parse_attention(
        text_of(attention_texts, specified), label_of(attention_texts, specified)));
}

std::shared_ptr<const attn::ExampleFile> example_of(const std::string& specified) {
    return std::make_shared<const attn::ExampleFile>(
        attn::parse_example(text_of(example_texts, specified), label_of(example_texts, specified)));
}

std::string example_text(const std::string& specified) {
    return attn::shipped_example(specified).empty() ? text_of(example_texts, specified) : specified;
}

attn::Tensor set_example(const std::string& specified, WalkConfig& config) {
    const auto file = example_of(specified);
    config.example = file;
    for (const attn::ExampleTable& table : file->tables) {
        if (table.name == "x") {
            config.names = {table.rows};
            config.feature_names["x"] = table.columns;
            continue;
        }
        config.parameters.record(table.name, table.numbers);
        if (table.name.starts_with("w_")) config.feature_names[table.name.substr(2)] = table.rows;
    }
    attn::take_names(config.parameters, {}, config);
    return file->find("x")->numbers;
}

std::vector<std::string> attentions_of(const Arguments& arguments) {
    std::vector<std::string> all;
    for (const std::string& specified : arguments[flags::attentions]) {
        const bool is_shipped = !attn::shipped_attention(specified).empty();
        all.push_back(is_shipped ? specified : text_of(attention_texts, specified));
    }
    return all;
}

Arguments with_attentions(Arguments typed) {
    if (!walks(typed) || !typed.has(flags::attentions)) return typed;
    take_streams(typed, attention_texts);
    for (const std::string& each : typed[flags::attentions]) {
        set_example_defaults(typed, *attention_of(each));
    }
    return typed;
}

Arguments with_example(Arguments typed) {
    if (!walks(typed) || !typed.has(flags::example)) return typed;
    take_streams(typed, example_texts);
    set_example_defaults(typed, *example_of(typed[flags::example]));
    return typed;
}

std::vector<Flag> attention_rows() {
    const Need attention{has_attention, "an attention: add --attention retention"};
    return {
        setting(flags::attentions, "NAME",
                "compute an attention from a file: a name that attn-explain attentions lists, or a "
                "file of your own; several apply in order")
            .taking(such_as(attn::shipped_attention_names, Takes::Kind::file))
            .set_by([](WalkConfig& config, const Flag&, const std::string& text) {
                config.attentions.push_back(attention_of(text));
            })
            .repeatable(),
        setting(flags::form, "NAME",
                "which form of the attention to compute: recurrent; with several attentions, name "
                "each: retention=recurrent,mamba2=parallel")
            .needing(attention),
        setting(flags::settings, "NAME=X", "a number for a setting of the attention: chunk=3")
            .repeatable()
            .needing(attention),
    };
}

}  // namespace app
