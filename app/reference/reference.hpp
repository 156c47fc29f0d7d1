#pragma once
#include <string>
#include <vector>

#include "app/commands/commands.hpp"

namespace app {

/// Returns the purpose, arguments and examples of a command; for the walk, the flags for beginners
/// on one screen.
std::string short_help(const Command& command);

/// Describes all of the command's own flags, in lines of at most 80 columns. Leaves out the rare
/// flags of a walk unless `with_rare`.
std::string whole_help(const Command& command, bool with_rare = true);

/// Explains a term in three sentences, with a formula, a command to try and a page of the tour;
/// empty for a word that is not in words.txt.
std::string word_help(const std::string& word);

/// Returns the words that word_help explains.
std::vector<std::string> help_words();

/// Returns the number of the tour's page on a term; empty if there is none.
std::string page_on(const std::string& word);

/// Returns the meaning of a word, and the commands and flags on that subject: a topic such as
/// masks, part of a name, or a flag.  Errors  ConfigError if there are none.
std::string topic_help(const std::string& word);
/// Commands and topics that help suggests.
std::vector<std::string> help_topics();

/// The man page of one command, section 1.
std::string man_page(const Command& command);
/// `attn-explain-why`
std::string man_page_name(const Command& command);

// Completion scripts of the shells.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();
/// The types of attn_explain.py, with the flags of each command as keywords: attn_explain.pyi.
std::string python_stub();

// Parts of these texts.
std::vector<const Flag*> flags_of(const Command& command);
/// The flags in the command's own help: without those of a walk, except for the walk itself.
std::vector<const Flag*> own_flags_of(const Command& command);
/// The command that describes the other flags; empty if there are none.
std::string about_other_flags(const Command& command);
std::vector<const Flag*> positionals_of(const Command& command);
/// The groups of its own flags, in their order.
std::vector<std::string> groups_of(const Command& command);
/// Returns `NAME`, or `[NAME]` if it is optional.
std::string placeholder(const Flag& positional);
/// `text` with a backslash before each of these characters.
std::string escaped(const std::string& text, const std::string& characters);

}  // namespace app
