#pragma once
#include <string>
#include <vector>

namespace reference {

/// What can stand where a value is asked for.
struct Values {
    enum class Kind { any, words, list, cell, file, folder };
    Kind kind = Kind::any;
    std::vector<std::string> words{};  ///< for words, a comma-separated list of them, a cell's step
};

/// One flag, or one positional argument, of a command.
struct Flag {
    std::vector<std::string> names;  ///< `-o`, `--output`; empty for a positional argument
    std::string value;               ///< `FILE`; empty for a flag that stands alone
    std::string help;
    std::string group;
    bool repeats = false;
    bool required = false;
    Values values{};
};

/// A command: the walk itself has an empty name.
struct CommandDescription {
    std::string name;
    std::string help;
    std::vector<Flag> positionals;
    std::vector<Flag> flags;
};

/// Every command of the program with every flag, as it would parse them.
///
/// Errors  std::logic_error for a value of which nothing says what it can be.
std::vector<CommandDescription> describe_program();

/// What `flag` of `command` takes, where its type alone does not say it. Kind any when unknown.
Values values_of(const std::string& command, const std::string& flag);

// The files that are made of the description.
std::string bash_completion(const std::vector<CommandDescription>& commands);
std::string zsh_completion(const std::vector<CommandDescription>& commands);
std::string fish_completion(const std::vector<CommandDescription>& commands);
/// The man page of one command, section 1.
std::string man_page(const std::vector<CommandDescription>& commands,
                     const CommandDescription& command);

/// `text` with a backslash before each of these characters.
std::string escaped(const std::string& text, const std::string& characters);

/// `words` one after another, `between` them.
std::string joined(const std::vector<std::string>& words, const std::string& between);

}  // namespace reference
