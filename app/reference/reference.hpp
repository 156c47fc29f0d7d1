#pragma once
#include <string>
#include <vector>

#include "app/commands/commands.hpp"

namespace app {

/// How to use a command: what it does, its arguments and examples.
std::string short_help(const Command& command);

/// The same with all of its flags, in lines of at most 80 columns.
std::string whole_help(const Command& command);

/// The man page of one command, section 1.
std::string man_page(const Command& command);
/// `attn-explain-why`
std::string man_page_name(const Command& command);

// What a shell reads to complete the words of a command line.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// Pieces of them.
std::vector<const Flag*> flags_of(const Command& command);
std::vector<const Flag*> positionals_of(const Command& command);
/// The groups of its flags, in their order.
std::vector<std::string> groups_of(const Command& command);
/// `NAME`, or `[NAME]` where it can be left out.
std::string placeholder(const Flag& positional);
std::vector<std::string> words_in(const Takes& takes);
/// `text` with a backslash before each of these characters.
std::string escaped(const std::string& text, const std::string& characters);

}  // namespace app
