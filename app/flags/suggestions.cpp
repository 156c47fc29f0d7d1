#include <algorithm>

#include "app/flags/flag.hpp"
#include "attn/ground/text/strings.hpp"

// What a user meant by a word that is no flag here: the name of another program, of an earlier
// version, or a typing error.

namespace app {
namespace {

std::vector<std::string> names_of(const Arguments& arguments) {
    std::vector<std::string> names;
    for (const Flag* flag : arguments.rows()) {
        if (flag->name.starts_with("--") && !flag->is(of_pages)) names.push_back(flag->name);
    }
    return names;
}

/// Flags of earlier versions, and their replacement.
constexpr std::pair<std::string_view, std::string_view> gone[] = {
    {"--all-bugs", "pass --bug ID, one mistake at a time"},
};

std::string instead_of(const std::string& flag) {
    const auto row =
        std::ranges::find(gone, flag, &std::pair<std::string_view, std::string_view>::first);
    return row == std::end(gone) ? "" : flag + " was removed in 2.0.0: " + std::string(row->second);
}

}  // namespace

std::string suggestion_for(const Arguments& arguments, const std::string& word,
                           const std::string& next) {
    const std::string name = before(word, '=');
    if (arguments.find("-" + name) != nullptr) return "-" + name;
    const std::string here = flag_for_word(arguments, word, next);
    if (!here.empty()) return here;
    const Flag* switched_off_flag =
        name.starts_with("--no-") ? arguments.find("--" + name.substr(5)) : nullptr;
    if (switched_off_flag != nullptr && switched_off_flag->may_be_off())
        return switched_off_flag->name + "=" + std::string(switched_off);
    return name == "-V" ? "--version" : attn::closest(name, names_of(arguments));
}

std::string flag_for_word(const Arguments& arguments, const std::string& word,
                          const std::string& next) {
    const std::string name = before(word, '=');
    const std::string typed = word == name ? next : word.substr(name.size() + 1);
    std::string here = attn::known_name_for(name + "=" + typed, names_of(arguments));
    if (here.empty()) here = attn::known_name_for(name, names_of(arguments));
    const std::string value = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    const bool is_count = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    for (const char* flag : {"--preset", "--only", "--model-file", "--mask", "--format", "--bug",
                             "--variant", "--dtype", "--example", "--topic", "--count"}) {
        const Flag* row = here.empty() ? arguments.find(flag) : nullptr;
        if (row == nullptr) continue;
        const std::vector<std::string> words = row->takes.words();
        const bool counts = is_count && row->takes.kind == Takes::Kind::integer;
        if (counts || std::ranges::find(words, value) != words.end()) return flag + (" " + value);
    }
    if (here.empty()) return {};
    const std::string flag = "--" + before(here, ' ');
    // Other programs have a step of that name, not a file of parameters.
    if (flag == "--weights") return arguments.find(flags::only) != nullptr ? "--only weights" : "";
    const Flag& row = *arguments.find(flag);
    if (!row.takes_value() && !row.letter.empty()) return row.letter;
    const std::string values = here.substr(flag.size() - 2);
    std::vector<std::string> meant{flag + attn::replaced_all(values, ", ", " --")};
    const bool takes_number = here.ends_with(':');
    if (takes_number) meant = {meant[0] + (typed.empty() ? "4" : typed), meant[0] + "4"};
    if (flag == "--" + here && !typed.empty()) meant = {flag + " " + shell_quoted(typed), flag};
    for (const std::string& each : meant) {
        try {
            Arguments(arguments.tables()).parse(shell_words(each), true);
            return each;
        } catch (const attn::ConfigError&) {
        }
    }
    return meant.back();
}

UnknownFlag::UnknownFlag(const std::string& text, const std::string& meant)
    : ConfigError(!instead_of(text).empty()
                      ? instead_of(text)
                      : "there is no flag " + text +
                            (meant.empty() ? "" : "; did you mean " + meant + "?")),
      name(text),
      has_guess(!meant.empty() || !instead_of(text).empty()) {}

UnexpectedWord::UnexpectedWord(const std::string& text)
    : ConfigError("unexpected argument '" + text + "': flags begin with --"), word(text) {}

}  // namespace app
