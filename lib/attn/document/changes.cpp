#include "attn/document/changes.hpp"

#include <algorithm>
#include <vector>

#include "attn/tensor/same_numbers.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

/// The change of one section, in words; empty where it is as it was.
std::string change_of(const Section& section, const Document& before) {
    const auto old = std::find_if(before.sections.begin(), before.sections.end(),
                                  [&](const Section& each) { return each.name == section.name; });
    if (old == before.sections.end()) return section.name + " is new";
    const auto* now = std::get_if<Tensor>(&section.content);
    const auto* then = std::get_if<Tensor>(&old->content);
    if (now == nullptr || then == nullptr) {
        const auto* words = std::get_if<std::string>(&section.content);
        const auto* old_words = std::get_if<std::string>(&old->content);
        const bool same = words != nullptr && old_words != nullptr && *words == *old_words;
        return same ? "" : section.name;
    }
    if (now->shape() != then->shape()) {
        return section.name + " has shape " + shape_text(now->shape()) + ", had " +
               shape_text(then->shape());
    }
    const std::size_t other = differing_cells(*now, *then);
    if (other == 0) return {};
    return section.name + " " + std::to_string(other) + " of " + std::to_string(now->size()) +
           (now->size() == 1 ? " cell" : " cells");
}

/// The words of printed numbers, and where each begins.
std::vector<std::string_view> numbers_in(std::string_view text) {
    constexpr std::string_view between = " \n\t,[]()";
    std::vector<std::string_view> numbers;
    for (std::size_t at = text.find_first_not_of(between); at != text.npos;) {
        const std::size_t end = std::min(text.find_first_of(between, at), text.size());
        numbers.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(between, end);
    }
    return numbers;
}

}  // namespace

std::string changes_of(const Document& document, const Document& before) {
    std::vector<std::string> changes;
    for (const Section& section : document.sections) {
        if (!section.shown) continue;
        const std::string change = change_of(section, before);
        if (!change.empty()) changes.push_back(change);
    }
    return changes.empty() ? "nothing" : joined(changes);
}

std::string marked(std::string_view text, std::string_view before, const Ink& ink) {
    const std::vector<std::string_view> now = numbers_in(text);
    const std::vector<std::string_view> then = numbers_in(before);
    if (ink.differing.empty() || now.size() != then.size()) return std::string(text);
    std::string result;
    const char* done = text.data();
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i] == then[i]) continue;
        result.append(done, now[i].data());
        result += ink.of(ink.differing, now[i]);
        done = now[i].data() + now[i].size();
    }
    return result.append(done, text.data() + text.size());
}

}  // namespace attn
