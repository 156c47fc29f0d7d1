#include "app/flags/flag.hpp"

#include <algorithm>
#include <stdexcept>

#include "app/terminal/messages.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

using Kind = Takes::Kind;

/// The values of a flag, for a message: `a whole number`, `a FILE`, `one of key, query, head or
/// batch`.
std::string expected_value(const Flag& flag) {
    const Takes& takes = flag.takes;
    if (takes.kind == Kind::integer) return "a whole number";
    if (takes.kind == Kind::number) return "a number";
    if (takes.only_these && takes.kind == Kind::word) return "one of " + listed(takes.words());
    return flag.value;
}

[[noreturn]] void refuse(const std::string& message) { throw attn::ConfigError(message); }

/// Checks one text against the values of its flag.
void check(const Flag& flag, const std::string& text) {
    const Takes& takes = flag.takes;
    if (text.empty() && flag.value_is_optional) return;
    if (text.empty() && !takes.or_nothing) refuse_empty(flag);
    if (flag.is(flags::model) && (names_a_file(text) || text == "stories")) {
        refuse("--model is the family of a file of --weights: did you mean --model-file " +
               shell_quoted(text) + "?");
    }
    attn::check(takes, flag.name, text);
}

}  // namespace

std::vector<std::string> Flag::names() const {
    if (letter.empty()) return {name};
    return {letter, name};
}

std::string Flag::whole_help() const {
    std::string text = help;
    if (takes.only_these) text += ": " + listed(takes.words());
    return default_value.empty() ? text : text + " (" + default_value + ")";
}

std::string key_of(const Flag& flag) {
    if (flag.is(flags::name)) return "notebook";
    if (!flag.name.starts_with("--")) return {};
    std::string key = flag.name.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    return key;
}

const Flag* Arguments::find(std::string_view name) const {
    for (const FlagTable table : tables_) {
        for (const Flag& flag : table()) {
            if (flag.name == name || (!flag.letter.empty() && flag.letter == name)) return &flag;
        }
    }
    return nullptr;
}

std::vector<const Flag*> Arguments::rows() const {
    std::vector<const Flag*> all;
    for (const FlagTable table : tables_) {
        for (const Flag& flag : table()) all.push_back(&flag);
    }
    return all;
}

const Flag* Arguments::named_by(const std::string& word) const {
    if (!word.starts_with("-")) return nullptr;
    const std::string name = before(word, '=');
    if (word.starts_with("--")) return find(name);
    const Flag* flag = nullptr;
    for (std::size_t i = 1; i < name.size(); ++i) {
        if (i > 1 && (flag == nullptr || flag->takes_value())) return nullptr;
        flag = find("-" + name.substr(i, 1));
    }
    return flag;
}

const Flag& Arguments::row(const Name& name) const {
    if (const Flag* flag = find(name)) return *flag;
    throw std::logic_error("no row says what " + std::string(name) + " is");
}

bool Arguments::has(const Flag& flag) const {
    return std::ranges::find(specified_, &flag, &SpecifiedFlag::flag) != specified_.end();
}

bool Arguments::has(const Name& name) const {
    const Flag* flag = find(name);
    return flag != nullptr && has(*flag);
}

bool Arguments::has_any(const std::vector<Name>& names) const {
    return std::ranges::any_of(names, [&](const Name& name) { return has(name); });
}

bool Arguments::has(Trait trait) const {
    return std::ranges::any_of(
        specified_, [&](const SpecifiedFlag& specified) { return specified.flag->is(trait); });
}

std::vector<std::string> Arguments::all(const Flag& flag) const {
    std::vector<std::string> texts;
    for (const SpecifiedFlag& specified : specified_) {
        if (specified.flag == &flag) texts.push_back(specified.text);
    }
    return texts;
}

std::string Arguments::text(const Flag& flag) const {
    const std::vector<std::string> texts = all(flag);
    return texts.empty() ? flag.default_value : texts.back();
}

void Arguments::set(const Flag& flag, const std::string& text) {
    forget(flag);
    specified_.push_back({&flag, text});
}

void Arguments::forget(const Flag& flag) {
    origins_.erase(&flag);
    std::erase_if(specified_,
                  [&](const SpecifiedFlag& specified) { return specified.flag == &flag; });
}

void Arguments::forget_any(const std::vector<Name>& names) {
    for (const Name& name : names) {
        if (const Flag* flag = find(name)) forget(*flag);
    }
}

void Arguments::drop_implied() {
    std::erase_if(specified_, [](const SpecifiedFlag& specified) { return specified.implied; });
}

void Arguments::set_defaults_from(const Arguments& base, bool implied) {
    std::vector<SpecifiedFlag> all = base.specified_;
    std::erase_if(all, [&](const SpecifiedFlag& base_flag) {
        return has(*base_flag.flag) || std::ranges::find(off_, base_flag.flag) != off_.end();
    });
    for (SpecifiedFlag& specified : all) specified.implied = implied;
    for (const SpecifiedFlag& base_flag : all) {
        if (const Origin* place = base.origin(*base_flag.flag)) origins_[base_flag.flag] = *place;
    }
    all.insert(all.end(), specified_.begin(), specified_.end());
    specified_ = std::move(all);
}

Arguments Arguments::narrowed_to(std::vector<FlagTable> tables) const {
    Arguments narrow(std::move(tables));
    std::copy_if(specified_.begin(), specified_.end(), std::back_inserter(narrow.specified_),
                 [&](const SpecifiedFlag& specified) {
                     return narrow.find(specified.flag->name) == specified.flag;
                 });
    return narrow;
}

std::vector<Arguments::SpecifiedFlag> Arguments::in_order() const {
    // A default of the walk may override a model or a notebook.
    const bool includes_defaults = has_any({flags::model_file, flags::notebook});
    std::vector<SpecifiedFlag> ordered;
    for (const Flag* flag : rows()) {
        for (const SpecifiedFlag& specified : specified_) {
            const bool is_usual = flag->takes_next_word() && specified.text == flag->default_value;
            if (specified.flag == flag && !specified.implied && (!is_usual || includes_defaults)) {
                ordered.push_back(specified);
            }
        }
    }
    return ordered;
}

const Arguments::Origin* Arguments::origin(const Flag& flag) const {
    const auto found = origins_.find(&flag);
    return found == origins_.end() || !has(flag) ? nullptr : &found->second;
}

void Arguments::forget_origins() {
    std::erase_if(specified_, [&](const SpecifiedFlag& specified) {
        return origins_.contains(specified.flag);
    });
    origins_.clear();
}

std::string Arguments::origins_in(std::string_view message) const {
    const auto is_part_of_word = [](char c) {
        return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
    };
    const auto names = [&](const std::string& name) {
        for (std::size_t at = message.find(name); at != message.npos;
             at = message.find(name, at + 1)) {
            const std::string_view before = message.substr(0, at);
            const std::size_t end = at + name.size();
            const bool begins = at == 0 || !is_part_of_word(before.back()) || before == "--" ||
                                before.ends_with(" --");
            if (begins && (end == message.size() || !is_part_of_word(message[end]))) return true;
        }
        return false;
    };
    std::string places;
    for (const Flag* flag : rows()) {
        const Origin* place = flag->is_positional() ? nullptr : origin(*flag);
        const std::string name = flag->is_positional() ? flag->name : flag->name.substr(2);
        if (place == nullptr || !names(name)) continue;
        places += (places.empty() ? " (" : ", ") + name + ": " + place->file +
                  (place->line == 0 ? "" : ":" + std::to_string(place->line));
    }
    return places.empty() ? places : places + ")";
}

namespace {

/// Checks the texts against their rows, in the order of the command line.
void check_all(const std::vector<Arguments::SpecifiedFlag>& all) {
    for (auto specified = all.begin(); specified != all.end(); ++specified) {
        const Flag& flag = *specified->flag;
        const bool is_second =
            std::any_of(all.begin(), specified,
                        [&](const Arguments::SpecifiedFlag& one) { return one.flag == &flag; });
        if (is_second && flag.takes_value() && !flag.repeats) {
            refuse(flag.name + " is given twice: " +
                   (flag.takes.kind == Kind::list ? "give it once, with commas between its words"
                                                  : "leave one of them out"));
        }
        if (!flag.takes_value() && !specified->text.empty() &&
            !(flag.may_be_off() &&
              (specified->text == switched_off || specified->text == "true"))) {
            refuse_value(flag, specified->text);
        }
        if (flag.takes_value()) check(flag, specified->text);
    }
}

}  // namespace

void refuse_empty(const Flag& flag) {
    refuse(flag.name + " is empty: " +
           (flag.required ? flag.whole_help()
                          : "give " + expected_value(flag) + ", or leave it out for the default"));
}

void refuse_value(const Flag& flag, const std::string& text) {
    refuse(flag.name + " takes no value: leave out =" + text);
}

void Arguments::parse(const std::vector<std::string>& words, bool flags_alone) {
    const TypedWords typed = read_words(*this, words, flags_alone);
    if (typed.trouble < words.size()) {
        // Errors in the words before it are reported first.
        const auto place = words.begin() + static_cast<std::ptrdiff_t>(typed.trouble);
        Arguments(tables_).parse({words.begin(), place}, flags_alone);
        const std::string next = words.end() - place > 1 ? place[1] : "";
        const Flag* flag = named_by(*place);
        if (flag == nullptr || !flag->takes_next_word()) {
            throw UnknownFlag(before(*place, '='),
                              suggestion_for(*this, *place, looks_like_flag(next) ? "" : next));
        }
        refuse(flag->name + " needs a value, " + flag->name + " " + flag->value + ": " +
               flag->whole_help());
    }
    const auto extra = std::ranges::find(typed.specified, nullptr, &SpecifiedFlag::flag);
    const std::vector<SpecifiedFlag> all(typed.specified.begin(), extra);
    for (const SpecifiedFlag& specified : all) {
        if (!specified.flag->is(of_pages)) continue;
        refuse(specified.flag->name +
               " is a setting of the replayed notebooks: pass --notebook NAME[:CELL]");
    }
    check_all(all);
    if (extra != typed.specified.end()) {
        const std::string word(attn::trimmed(extra->text));
        if (word == extra->text || !looks_like_flag(word)) throw UnexpectedWord(extra->text);
        throw UnknownFlag(before(word, '='), suggestion_for(*this, word, ""));
    }
    keep(all);
}

void Arguments::specify(const std::vector<SpecifiedFlag>& flags) {
    check_all(flags);
    keep(flags);
}

void Arguments::keep(const std::vector<SpecifiedFlag>& flags) {
    for (const SpecifiedFlag& specified : flags) {
        forget(*specified.flag);
        std::erase(off_, specified.flag);
    }
    for (const SpecifiedFlag& specified : flags) {
        const bool is_mismatch = !specified.flag->takes_value() && specified.text == switched_off;
        std::erase_if(specified_, [&](const SpecifiedFlag& one) {
            return is_mismatch && one.flag == specified.flag;
        });
        is_mismatch ? off_.push_back(specified.flag) : specified_.push_back(specified);
        if (!is_mismatch && !specified.flag->takes_value()) specified_.back().text.clear();
        const Flag* opposite =
            is_mismatch ? find("--no-" + specified.flag->name.substr(2)) : nullptr;
        if (opposite != nullptr) set(*opposite, "");
    }
}

std::vector<Flag> grouped(const std::string& group, std::vector<Flag> rows) {
    for (Flag& flag : rows) {
        if (flag.group == "Options") flag.group = group;
    }
    return rows;
}

bool Arguments::is_typed(const Flag& flag) const {
    return std::ranges::any_of(specified_, [&](const SpecifiedFlag& specified) {
        return specified.flag == &flag && !specified.implied;
    });
}

void note_useless_flags(const std::vector<FlagUse>& uses) {
    if (uses.empty()) return;
    for (const Flag* flag : uses.front().arguments.rows()) {
        const Need& need = flag->need;
        const auto is_use_of = [&](const FlagUse& use) { return use.arguments.is_typed(*flag); };
        const auto has_effect = [&](const FlagUse& use) {
            return is_use_of(use) &&
                   (need.among_flags == nullptr || need.among_flags(use.arguments)) &&
                   (need.in_walk == nullptr || use.plan == nullptr || need.in_walk(*use.plan));
        };
        if (std::ranges::none_of(uses, is_use_of) || std::ranges::any_of(uses, has_effect))
            continue;
        report_note(flag->name + " has no effect here: it needs " + std::string(need.what));
    }
}

void note_unused_flags(const Arguments& arguments, const std::vector<Name>& used,
                       const std::string& what) {
    for (const Arguments::SpecifiedFlag& specified : arguments.specified()) {
        const bool is_used =
            std::ranges::find(used, specified.flag->name, &Name::text) != used.end();
        if (specified.implied || is_used) continue;
        report_note(specified.flag->name + " has no effect here: it needs " + what);
    }
}

}  // namespace app
