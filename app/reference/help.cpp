#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "app/flags/output_flags.hpp"
#include "app/reference/reference.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t name_columns = 26;

constexpr const char* topics =
    "input model positions masks cache numbers rules output notebooks mistakes";

/// Flags for a beginner, as they could be typed.
constexpr std::pair<const char*, const char*> first_month[] = {
    {"--text 'the cat sat'", "words to attend over"},
    {"--example adjective", "an interpretable head with matrices set by hand"},
    {"--heads 2", "number of heads; --head-dim 8: features of each"},
    {"--embed-dim 8", "features of a token; --seq-len 5: random tokens"},
    {"--mask causal", "no token sees later ones; or padding, window:4, ..."},
    {"--preset llama3", "the settings of a family of models (--list-presets)"},
    {"--model-file stories", "walk through a trained model; --layer 2: its layer 2"},
    {"--notebook 002", "the settings of a replayed notebook"},
    {"--variant loop", "computed by loops; or vectorized, fused; --seed 7"},
    {"--bug scale-missing", "make a known mistake (attn-explain bugs)"},
    {"--only weights,context", "these steps only; --detail shows parameters too"},
    {"-o walk.html", "write to a file; or --format numpy, json, svg, ..."}};

/// Rarely used flags, which the list of all flags omits by default.
constexpr const char* rare =
    "--merge --no-merge --model --norm-eps --x-norm-eps --qk-norm-place --mla-query-rank "
    "--mla-absorbed --embed --theme --width --columns --linewidth --edgeitems --sci-mode --pace "
    "--memory-len --mask-true --causal-align";

bool is_rare(const Flag& flag) {
    const std::vector<std::string> names = split(rare, ' ');
    return flag.group == last_group || std::ranges::find(names, flag.name) != names.end();
}

/// Formats an entry of a list: a name, and its description next to it.
std::string entry(const std::string& name, const std::string& text) {
    std::string result = "  " + name;
    std::size_t used = attn::display_width(result);
    for (const std::string& line : attn::wrap(text, columns - name_columns)) {
        if (used + 2 > name_columns) {
            result += "\n";
            used = 0;
        }
        result += std::string(name_columns - used, ' ') + line;
        used = columns;
    }
    return result + "\n";
}

std::string flag_entry(const Flag& flag) {
    std::string name = flag.letter.empty() ? "    " : flag.letter + ", ";
    if (flag.is_positional() || flag.name.size() == 2) name.clear();
    name += flag.name;
    if (!flag.is_positional()) name += flag.value_text();
    return entry(name, flag.whole_help() + (flag.repeats ? "; can be repeated" : ""));
}

/// Lists the flags that `fits` selects, each group under its heading.
std::string flag_list(const Command& command, const std::string& owner, const auto& fits) {
    std::string text;
    for (const std::string& group : groups_of(command)) {
        std::string heading = "\n" + owner + group + "\n";
        for (const Flag* flag : own_flags_of(command)) {
            if (flag->group != group || !fits(*flag)) continue;
            text += std::exchange(heading, "") + flag_entry(*flag);
        }
    }
    return text;
}

std::string usage(const Command& command) {
    std::string text = "Usage: attn-explain";
    if (!command.name.empty()) text += " " + command.name;
    for (const Flag* positional : positionals_of(command)) text += " " + placeholder(*positional);
    return text + (command.name.empty() ? " [COMMAND] [FLAGS]\n" : " [FLAGS]\n");
}

std::string head(const Command& command) {
    const std::string name = command.name.empty() ? "" : " " + command.name;
    return "attn-explain" + name + ": " + command.help + "\n\n" + usage(command);
}

std::string command_list() {
    std::string text = "\nCommands\n";
    for (const Command& command : commands()) {
        if (!command.name.empty()) text += entry(command.name, command.help);
    }
    return text;
}

std::string example_list(const Command& command) {
    std::string text = "\nExamples\n";
    for (const Example& example : command.examples) {
        text += "  " + example.words + "\n";
        std::string before = "    $ ";
        const std::vector<std::string> lines = attn::wrap(example.line, columns - 8);
        for (const std::string& line : lines) {
            text += before + line + (&line == &lines.back() ? "\n" : " \\\n");
            before = "        ";
        }
    }
    return text;
}

}  // namespace

std::vector<const Flag*> flags_of(const Command& command) {
    std::vector<const Flag*> flags = Arguments(command.tables).rows();
    std::erase_if(flags, [](auto* flag) { return flag->is_positional() || flag->is(of_pages); });
    return flags;
}

std::vector<const Flag*> own_flags_of(const Command& command) {
    Command own = command;
    const std::vector<FlagTable>& walk = commands().front().tables;
    std::erase_if(own.tables, [&](FlagTable table) {
        const bool is_common = table == common_flags || table == file_flags || table == json_flags;
        return !command.name.empty() && !is_common && std::ranges::find(walk, table) != walk.end();
    });
    return flags_of(own);
}

std::string about_other_flags(const Command& command) {
    const bool has_others = flags_of(command).size() > own_flags_of(command).size();
    return has_others
               ? "and every flag of a walk (attention computed step by step): attn-explain --help"
               : "";
}

std::vector<const Flag*> positionals_of(const Command& command) {
    std::vector<const Flag*> flags = Arguments(command.tables).rows();
    std::erase_if(flags, std::not_fn(std::mem_fn(&Flag::is_positional)));
    return flags;
}

std::vector<std::string> groups_of(const Command& command) {
    std::vector<std::string> groups;
    for (const Flag* flag : own_flags_of(command)) {
        if (std::find(groups.begin(), groups.end(), flag->group) == groups.end()) {
            groups.push_back(flag->group);
        }
    }
    std::ranges::stable_partition(groups, [](const auto& group) { return group != last_group; });
    return groups;
}

std::string placeholder(const Flag& positional) {
    return positional.required ? positional.name : "[" + positional.name + "]";
}

std::string escaped(const std::string& text, const std::string& characters) {
    std::string result;
    for (const char c : text) {
        if (characters.find(c) != std::string::npos) result += '\\';
        result += c;
    }
    return result;
}

std::string short_help(const Command& command) {
    if (!command.name.empty()) {
        return head(command) + example_list(command) + "\nattn-explain " + command.name +
               " --help describes every flag.\n";
    }
    std::string text = head(command);
    text.insert(text.find('\n'), "\nNew here? attn-explain tour answers twenty-five questions.");
    for (const auto& [flag, words] : first_month) text += entry(flag, words);
    text += "  $ attn-explain --text 'the cat sat' --heads 2 --mask causal\n";
    std::string group;
    for (const Command& each : commands()) {
        if (each.name.empty()) continue;
        if (each.group != group) text += "\n" + fmt::format("{:<7}", group = each.group);
        text += " " + each.name;
    }
    text += "\n";
    text += "Every flag: --help. A command, flag, subject or word: attn-explain help softmax\n";
    return text;
}

std::vector<std::string> help_topics() {
    std::vector<std::string> all = command_names();
    for (const std::string& topic : split(topics, ' ')) all.push_back(topic);
    return all;
}

std::string topic_help(const std::string& word) {
    if (word == "rules") {
        return std::string("Rules: attention in index notation\n\n") + attn::rule_grammar() +
               "\nAttention files: each line is a word and its value\n\n" +
               attn::attention_grammar() + "\n" + topic_help("rule");
    }
    std::string topic = attn::lower(word);
    if (topic.size() > 4 && topic.ends_with('s')) topic.pop_back();
    const auto is_in = [&](std::string_view text) {
        return attn::lower(text).find(topic) != std::string::npos;
    };
    const auto fits = [&](const Flag& flag) {
        if (word.starts_with('-')) return flag.name == word || flag.letter == word;
        const std::vector<std::string> choices = flag.takes.words();
        const bool is_choice =
            flag.takes.only_these && std::ranges::find(choices, word) != choices.end();
        return is_choice || is_in(flag.name) || is_in(flag.group) || is_in(flag.need.what);
    };
    const std::string meaning = word_help(word);
    std::string text = flag_list(commands().front(), "", fits);
    // A word such as causal, if it is in the help of only a few flags, lists these flags.
    const auto mentions_word = [&](const Flag& flag) {
        const std::string help = " " + attn::lower(flag.whole_help()) + " ";
        const std::size_t at = help.find(topic);
        return at != help.npos && std::isalpha(static_cast<unsigned char>(help[at - 1])) == 0 &&
               std::isalpha(static_cast<unsigned char>(help[at + topic.size()])) == 0;
    };
    constexpr std::ptrdiff_t few = 6;
    const std::vector<const Flag*> walk = own_flags_of(commands().front());
    if (!meaning.empty() && std::ranges::count_if(walk, [&](const Flag* each) {
                                return mentions_word(*each);
                            }) <= few) {
        text = flag_list(commands().front(), "",
                         [&](const Flag& flag) { return fits(flag) || mentions_word(flag); });
    }
    for (const Command& other : commands()) {
        if (!meaning.empty()) break;
        if (text.empty()) text = flag_list(other, other.name + ": ", fits);
    }
    std::string heading = "\nCommands\n";
    for (const Command& other : commands()) {
        if (meaning.empty() && is_in(other.help))
            text += std::exchange(heading, "") + entry(other.name, other.help);
    }
    if (!meaning.empty()) return meaning + text;
    if (!text.empty()) return text.substr(1);
    for (const Command& other : commands()) {  // internal commands of pages are not listed
        for (const Flag* flag : Arguments(other.tables).rows()) {
            if (flag->name == word) return flag->group + "\n" + flag_entry(*flag);
        }
    }
    const std::string here = flag_for_word(Arguments(commands().front().tables), word);
    if (here.starts_with("--")) return topic_help(before(here, ' '));
    std::vector<std::string> known = help_words();
    std::ranges::copy(help_topics(), std::back_inserter(known));
    throw attn::ConfigError("there is no help on '" + word + "'" +
                            attn::did_you_mean(word, known, "; see attn-explain --help"));
}

std::string whole_help(const Command& command, bool with_rare) {
    std::string text = head(command);
    if (command.name.empty()) {
        text +=
            "\nWithout a command attention is computed over one input, step by step, and each\n"
            "step is printed: that is a walk.\n" +
            command_list();
    }
    if (!positionals_of(command).empty()) text += "\nArguments\n";
    for (const Flag* positional : positionals_of(command)) text += flag_entry(*positional);
    const bool shows_all = with_rare || !command.name.empty();
    const std::vector<const Flag*> own = own_flags_of(command);
    const auto hidden =
        std::ranges::count_if(own, [&](const Flag* flag) { return !shows_all && is_rare(*flag); });
    text += flag_list(command, "", [&](const Flag& flag) { return shows_all || !is_rare(flag); });
    if (hidden > 0) {
        text += fmt::format(
            "\nattn-explain --help all lists {} more flags that are rarely needed\n", hidden);
    }
    const std::string others = about_other_flags(command);
    return text + (others.empty() ? "" : "\n" + others + "\n") + example_list(command);
}

}  // namespace app
