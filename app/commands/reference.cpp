#include "app/reference/reference.hpp"

#include <array>
#include <filesystem>
#include <optional>

#include "app/flags/output_flags.hpp"
#include "attn/files/io/output_files.hpp"

namespace app {
namespace {

constexpr std::array<std::pair<std::string_view, std::string (*)()>, 4> shells{
    {{"bash", bash_completion},
     {"zsh", zsh_completion},
     {"fish", fish_completion},
     {"python", python_stub}}};

std::vector<std::string> shell_names() {
    return collected<std::string>(shells, [](const auto& shell) { return shell.first; });
}

const Command& requested_command(const Arguments& arguments) {
    return *find_command(arguments[flags::command]);
}

std::vector<Flag> shell_flags() {
    return {Flag{flags::shell, "SHELL", "the shell, or python for attn_explain.pyi",
                 one_of(shell_names)}
                .demanded(),
            output_flag({"*"})};
}

std::vector<Flag> command_flags() {
    return {{flags::command, "COMMAND", "one of the commands", one_of(command_names)}};
}

std::vector<Flag> topic_flags() {
    return {
        Flag{flags::word, "TOPIC",
             "a command, a flag, a word such as softmax or kv cache, a topic such as masks, or all",
             such_as(help_topics)}
            .repeatable()};
}

std::vector<Flag> folder_flags() {
    return {Flag{flags::save_dir, "DIR", "write the pages of all commands into a folder", folder()}
                .writing({"*"}),
            output_flag({"*"})};
}

int run_completions(const Arguments& arguments) {
    for (const auto& [name, completion] : shells) {
        if (name == arguments[flags::shell]) write_text(arguments, completion());
    }
    return 0;
}

int run_man(const Arguments& arguments) {
    if (!arguments.has(flags::save_dir)) {
        write_text(arguments, man_page(requested_command(arguments)));
        return 0;
    }
    const std::filesystem::path folder = arguments[flags::save_dir];
    std::error_code failure;
    const bool is_new = !std::filesystem::exists(folder, failure);
    const std::filesystem::path parent =
        (folder.has_filename() ? folder : folder.parent_path()).parent_path();
    if (is_new && !parent.empty()) std::filesystem::create_directories(parent, failure);
    if (failure) {
        throw attn::OutputError(folder.string() + ": cannot be created: " + failure.message());
    }
    // A new folder is written at once; in a folder with other programs' pages, each page is
    // replaced.
    attn::OutputSet among_others;
    std::optional<attn::OutputFolder> own;
    if (is_new) own.emplace(folder.string());
    for (const Command& command : commands()) {
        const std::string name = man_page_name(command) + ".1";
        attn::write_file(own ? own->file(name) : among_others.file(folder / name),
                         man_page(command));
    }
    if (own) own->commit();
    among_others.commit();
    return 0;
}

int run_help(const Arguments& arguments) {
    const std::string topic = attn::joined(arguments.all(*arguments.find(flags::word.text)), " ");
    const Command* command = find_command(topic == "all" ? "" : topic);
    write_text(arguments, !arguments.has(flags::word) ? short_help(*command)
                          : command != nullptr        ? whole_help(*command)
                                                      : topic_help(topic));
    return 0;
}

}  // namespace

Command completions_command() {
    return {"completions",
            "print completions for bash, zsh, fish or Python",
            {table<shell_flags>},
            run_completions,
            {{"eval \"$(attn-explain completions bash)\"",
              "Lets bash complete commands, flags and their values."}}};
}

Command man_command() {
    return {"man",
            "print a man page",
            {table<command_flags>, table<folder_flags>},
            run_man,
            {{"attn-explain man why | man -l -", "Shows the page of one command."}}};
}

Command help_command() {
    return {"help",
            "explain how to use the program, a command, or a word",
            {table<topic_flags>, file_flags},
            run_help,
            {{"attn-explain help why", "Describes one command and its flags."},
             {"attn-explain help softmax", "Explains a word of the field."},
             {"attn-explain help masks", "Describes the flags on a subject."}}};
}

}  // namespace app
