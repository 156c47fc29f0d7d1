#include <algorithm>
#include <cctype>

#include "app/flags/output_flags.hpp"
#include "app/reference/reference.hpp"
#include "attn/ground/text/strings.hpp"

// The template of the stub, embedded by texts.S.
extern "C" const char attn_python_stub[];

namespace app {
namespace {

/// The flags that a call in Python can set: not those of help and of terminals.
std::vector<const Flag*> keywords_among(std::vector<const Flag*> flags) {
    std::erase_if(flags, [](const Flag* flag) {
        return flag->group == common_flags().front().group || flag->is(flags::json) ||
               flag->is(flags::color) || flag->is(flags::watch) || flag->is(flags::pace);
    });
    return flags;
}

/// `kv_heads`; `from_`, as Python reserves `from`.
std::string keyword_of(const Flag& flag) {
    std::string name = key_of(flag);
    return name == "from" ? name + "_" : name;
}

/// Types that stand for the words of flags: `_RopeWord = Literal["half", "interleaved"]`.
class WordTypes {
public:
    /// Returns the type for the words of a flag. Flags with the same words share it.
    std::string name_for(const Flag& flag) {
        const std::string words = attn::joined(
            collected(flag.takes.words(), [](const auto& word) { return "\"" + word + "\""; }));
        const auto known = std::ranges::find(types_, words, &Type::words);
        if (known != types_.end()) return known->name;
        std::string name = "_";
        bool begins = true;
        for (const char c : key_of(flag)) {
            if (c != '_') name += begins ? static_cast<char>(std::toupper(c)) : c;
            begins = c == '_';
        }
        name += "Word";
        while (std::ranges::count(types_, name, &Type::name) > 0) name += "s";
        types_.push_back({name, words});
        return name;
    }
    std::string text() const {
        std::string text;
        for (const auto& [name, words] : types_) text += name + " = Literal[" + words + "]\n";
        return text;
    }

private:
    struct Type {
        std::string name, words;
    };
    std::vector<Type> types_;
};

/// The type of the values that a flag takes, as a Python annotation.
std::string annotation(const Flag& flag, WordTypes& types) {
    const Takes& takes = flag.takes;
    const auto is_kind = [&takes](Takes::Kind kind) { return takes.kind == kind; };
    if (!flag.takes_value()) return "bool | None";
    std::string type = is_kind(Takes::Kind::integer)  ? "int"
                       : is_kind(Takes::Kind::number) ? "float"
                       : is_kind(Takes::Kind::list)   ? "_Words"
                       : is_kind(Takes::Kind::cell)   ? "str"
                       : is_kind(Takes::Kind::folder) ? "_Path"
                       : is_kind(Takes::Kind::text)   ? "_Text"
                                                      : "";
    const auto add = [&type](const std::string& more) {
        type += (type.empty() ? "" : " | ") + more;
    };
    const bool is_choice = !takes.words().empty() && !is_kind(Takes::Kind::list);
    if (is_choice && !is_kind(Takes::Kind::cell)) add(types.name_for(flag));
    if (is_kind(Takes::Kind::word) && !takes.only_these) add("_Text");
    if (flag.may_name_file()) add("_File");
    if (flag.is(flags::mask)) add("_Tensor");  // is given as --mask-file
    if (flag.repeats) type = "_Repeated[" + type + "]";
    return type + (flag.value_is_optional ? " | bool | None" : " | None");
}

std::string parameters_of(const Command& command, WordTypes& types) {
    std::string text;
    for (const Flag* flag : keywords_among(flags_of(command))) {
        text += "    " + keyword_of(*flag) + ": " + annotation(*flag, types) + " = None,\n";
    }
    return text;
}

/// Describes the command's own flags, one per line.
std::string described(const Command& command) {
    std::string text;
    for (const Flag* flag : keywords_among(own_flags_of(command))) {
        text += "    " + keyword_of(*flag) + ": " + escaped(flag->whole_help(), "\\") + "\n";
    }
    if (!about_other_flags(command).empty()) text += "    and every flag of walk()\n";
    return text;
}

}  // namespace

std::string python_stub() {
    WordTypes types;
    return attn::filled(attn_python_stub, [&](std::string_view word) -> std::optional<std::string> {
        if (word == "types") return types.text();
        const std::size_t end = std::min(word.find(' '), word.size());
        const std::string_view name = word.substr(0, end);
        const Command* command = find_command(name == "walk" ? "" : name);
        if (command == nullptr) return std::nullopt;
        return word.ends_with(" flags") ? parameters_of(*command, types) : described(*command);
    });
}

}  // namespace app
