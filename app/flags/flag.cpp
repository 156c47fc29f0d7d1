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
std::string taken_by(const Flag& flag) {
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
    if (text.empty() && flag.may_stand_alone) return;
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
    return usual.empty() ? text : text + " (" + usual + ")";
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
    return std::ranges::find(said_, &flag, &Said::flag) != said_.end();
}

bool Arguments::has(const Name& name) const {
    const Flag* flag = find(name);
    return flag != nullptr && has(*flag);
}

bool Arguments::has_any(const std::vector<Name>& names) const {
    return std::ranges::any_of(names, [&](const Name& name) { return has(name); });
}

bool Arguments::has(Trait trait) const {
    return std::ranges::any_of(said_, [&](const Said& said) { return said.flag->is(trait); });
}

std::vector<std::string> Arguments::all(const Flag& flag) const {
    std::vector<std::string> texts;
    for (const Said& said : said_) {
        if (said.flag == &flag) texts.push_back(said.text);
    }
    return texts;
}

std::string Arguments::text(const Flag& flag) const {
    const std::vector<std::string> texts = all(flag);
    return texts.empty() ? flag.usual : texts.back();
}

void Arguments::set(const Flag& flag, const std::string& text) {
    forget(flag);
    said_.push_back({&flag, text});
}

void Arguments::forget(const Flag& flag) {
    origins_.erase(&flag);
    std::erase_if(said_, [&](const Said& said) { return said.flag == &flag; });
}

void Arguments::forget_any(const std::vector<Name>& names) {
    for (const Name& name : names) {
        if (const Flag* flag = find(name)) forget(*flag);
    }
}

void Arguments::drop_implied() {
    std::erase_if(said_, [](const Said& said) { return said.implied; });
}

void Arguments::put_under(const Arguments& base, bool implied) {
    std::vector<Said> all = base.said_;
    std::erase_if(all, [&](const Said& theirs) {
        return has(*theirs.flag) || std::ranges::find(off_, theirs.flag) != off_.end();
    });
    for (Said& said : all) said.implied = implied;
    for (const Said& theirs : all) {
        if (const Origin* place = base.origin(*theirs.flag)) origins_[theirs.flag] = *place;
    }
    all.insert(all.end(), said_.begin(), said_.end());
    said_ = std::move(all);
}

Arguments Arguments::narrowed_to(std::vector<FlagTable> tables) const {
    Arguments narrow(std::move(tables));
    std::copy_if(said_.begin(), said_.end(), std::back_inserter(narrow.said_),
                 [&](const Said& said) { return narrow.find(said.flag->name) == said.flag; });
    return narrow;
}

std::vector<Arguments::Said> Arguments::in_order() const {
    // A default of the walk may override a model or a notebook.
    const bool says_defaults = has_any({flags::model_file, flags::notebook});
    std::vector<Said> ordered;
    for (const Flag* flag : rows()) {
        for (const Said& said : said_) {
            const bool is_usual = flag->takes_next_word() && said.text == flag->usual;
            if (said.flag == flag && !said.implied && (!is_usual || says_defaults)) {
                ordered.push_back(said);
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
    std::erase_if(said_, [&](const Said& said) { return origins_.contains(said.flag); });
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
void check_all(const std::vector<Arguments::Said>& all) {
    for (auto said = all.begin(); said != all.end(); ++said) {
        const Flag& flag = *said->flag;
        const bool is_second = std::any_of(
            all.begin(), said, [&](const Arguments::Said& one) { return one.flag == &flag; });
        if (is_second && flag.takes_value() && !flag.repeats) {
            refuse(flag.name + " is given twice: " +
                   (flag.takes.kind == Kind::list ? "give it once, with commas between its words"
                                                  : "leave one of them out"));
        }
        if (!flag.takes_value() && !said->text.empty() &&
            !(flag.may_be_off() && (said->text == switched_off || said->text == "true"))) {
            refuse_value(flag, said->text);
        }
        if (flag.takes_value()) check(flag, said->text);
    }
}

}  // namespace

void refuse_empty(const Flag& flag) {
    refuse(flag.name + " is empty: " +
           (flag.required ? flag.whole_help()
                          : "give " + taken_by(flag) + ", or leave it out for the default"));
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
                              meant_by(*this, *place, looks_like_flag(next) ? "" : next));
        }
        refuse(flag->name + " needs a value, " + flag->name + " " + flag->value + ": " +
               flag->whole_help());
    }
    const auto extra = std::ranges::find(typed.said, nullptr, &Said::flag);
    const std::vector<Said> all(typed.said.begin(), extra);
    for (const Said& said : all) {
        if (!said.flag->is(of_pages)) continue;
        refuse(said.flag->name +
               " is a setting of the replayed notebooks: pass --notebook NAME[:CELL]");
    }
    check_all(all);
    if (extra != typed.said.end()) {
        const std::string word(attn::trimmed(extra->text));
        if (word == extra->text || !looks_like_flag(word)) throw UnexpectedWord(extra->text);
        throw UnknownFlag(before(word, '='), meant_by(*this, word, ""));
    }
    keep(all);
}

void Arguments::say(const std::vector<Said>& flags) {
    check_all(flags);
    keep(flags);
}

void Arguments::keep(const std::vector<Said>& flags) {
    for (const Said& said : flags) {
        forget(*said.flag);
        std::erase(off_, said.flag);
    }
    for (const Said& said : flags) {
        const bool is_off = !said.flag->takes_value() && said.text == switched_off;
        std::erase_if(said_, [&](const Said& one) { return is_off && one.flag == said.flag; });
        is_off ? off_.push_back(said.flag) : said_.push_back(said);
        if (!is_off && !said.flag->takes_value()) said_.back().text.clear();
        const Flag* opposite = is_off ? find("--no-" + said.flag->name.substr(2)) : nullptr;
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
    return std::ranges::any_of(
        said_, [&](const Said& said) { return said.flag == &flag && !said.implied; });
}

void note_useless_flags(const std::vector<FlagUse>& uses) {
    if (uses.empty()) return;
    for (const Flag* flag : uses.front().arguments.rows()) {
        const Need& need = flag->need;
        const auto says_it = [&](const FlagUse& use) { return use.arguments.is_typed(*flag); };
        const auto has_effect = [&](const FlagUse& use) {
            return says_it(use) &&
                   (need.among_flags == nullptr || need.among_flags(use.arguments)) &&
                   (need.in_walk == nullptr || use.plan == nullptr || need.in_walk(*use.plan));
        };
        if (std::ranges::none_of(uses, says_it) || std::ranges::any_of(uses, has_effect)) continue;
        report_note(flag->name + " has no effect here: it needs " + std::string(need.what));
    }
}

void note_unused_flags(const Arguments& arguments, const std::vector<Name>& used,
                       const std::string& what) {
    for (const Arguments::Said& said : arguments.said()) {
        const bool is_used = std::ranges::find(used, said.flag->name, &Name::text) != used.end();
        if (said.implied || is_used) continue;
        report_note(said.flag->name + " has no effect here: it needs " + what);
    }
}

}  // namespace app
