#include <algorithm>
#include <sstream>

#include "app/reference/reference.hpp"
#include "attn/ground/text/strings.hpp"

/// The text of words.txt.
extern "C" const char attn_words[];

namespace app {
namespace {

/// One entry of words.txt.
struct Word {
    std::vector<std::string> names;
    std::string sentences, formula, command, page;
};

std::vector<Word> read_words() {
    std::vector<Word> all;
    std::istringstream text(attn_words);
    bool is_open = false;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with('#')) continue;
        const std::string rest = line.substr(std::min(line.find(' ') + 1, line.size()));
        if (line.empty()) {
            is_open = false;
        } else if (!is_open) {
            is_open = true;
            all.emplace_back();
            for (const std::string& name : split(line, ',')) {
                all.back().names.emplace_back(attn::trimmed(name));
            }
        } else if (line.starts_with("formula ")) {
            all.back().formula = rest;
        } else if (line.starts_with("try ")) {
            all.back().command = rest;
        } else if (line.starts_with("tour ")) {
            all.back().page = rest;
        } else {
            all.back().sentences = line;
        }
    }
    return all;
}

const std::vector<Word>& all_words() {
    static const std::vector<Word> all = read_words();
    return all;
}

/// Returns the entry of a word, in the singular or plural, or of a longer word that begins with it
/// if all such words are of one entry: decode. nullptr if there is none.
const Word* find_word(const std::string& word) {
    const std::vector<Word>& all = all_words();
    const auto parted = [](const std::string& name) {
        return attn::replaced_all(attn::lower(name), {{"-", " "}, {"_", " "}});
    };
    const auto is_it = [&](const std::string& name) {
        return parted(name) == parted(word) || parted(name) + "s" == parted(word);
    };
    const auto begins_so = [&](const std::string& name) {
        return parted(name).starts_with(parted(word));
    };
    const Word* longer = nullptr;
    std::size_t begun = 0;
    for (const Word& each : all) {
        if (std::ranges::any_of(each.names, is_it)) return &each;
        if (std::ranges::any_of(each.names, begins_so)) longer = &each, ++begun;
    }
    constexpr std::size_t shortest = 5;
    return begun == 1 && word.size() >= shortest ? longer : nullptr;
}

}  // namespace

std::vector<std::string> help_words() {
    std::vector<std::string> names;
    for (const Word& each : all_words()) {
        std::ranges::copy(each.names, std::back_inserter(names));
    }
    return names;
}

std::string page_on(const std::string& word) {
    const Word* found = find_word(word);
    return found == nullptr ? "" : found->page;
}

std::string word_help(const std::string& word) {
    const Word* found = find_word(word);
    if (found == nullptr) return "";
    const std::vector<std::string> others(found->names.begin() + 1, found->names.end());
    std::string text =
        found->names.front() + (others.empty() ? "" : " (" + attn::joined(others) + ")") + "\n\n";
    for (const std::string& line : attn::wrap(found->sentences, 78)) text += "  " + line + "\n";
    if (!found->formula.empty()) text += "\n  " + found->formula + "\n";
    text += "\n  $ " + found->command + "\n";
    if (!found->page.empty()) text += "  $ attn-explain tour " + found->page + "\n";
    return text;
}

}  // namespace app
