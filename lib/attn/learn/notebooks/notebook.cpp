#include "attn/learn/notebooks/notebook.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/torch_text.hpp"

#include <algorithm>
#include <stdexcept>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "attn/learn/notebooks/builder.hpp"

namespace attn {
namespace {

constexpr std::string_view ending = "_corrected";

const Section* find(const Document& document, const std::string& name) {
    for (const Section& section : document.sections) {
        if (section.name == name) return &section;
    }
    return nullptr;
}

/// True if both have the same text, or the same numbers.
bool same_content(const Section& a, const Section& b) {
    if (a.content.index() != b.content.index()) return false;
    if (const auto* text = std::get_if<std::string>(&a.content)) {
        return *text == std::get<std::string>(b.content);
    }
    return same_numbers(std::get<Tensor>(a.content), std::get<Tensor>(b.content));
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines{""};
    for (const char c : text) {
        if (c == '\n') {
            lines.emplace_back();
        } else {
            lines.back() += c;
        }
    }
    return lines;
}

/// Formats both texts under their headings: in two columns if they fit.
std::string beside(const std::string& faithful, const std::string& corrected, std::size_t columns) {
    std::vector<std::string> left = lines_of("as in the notebook\n" + faithful);
    std::vector<std::string> right = lines_of("corrected\n" + corrected);
    const auto width_of = [](const std::vector<std::string>& lines) {
        std::size_t width = 0;
        for (const std::string& line : lines) width = std::max(width, line.size());
        return width;
    };
    const std::size_t width = width_of(left);
    if (width + 3 + width_of(right) > columns) {
        return "as in the notebook\n" + faithful + "\ncorrected\n" + corrected;
    }
    left.resize(std::max(left.size(), right.size()));
    right.resize(left.size());
    std::string text;
    for (std::size_t i = 0; i < left.size(); ++i) {
        left[i].resize(width, ' ');
        std::string line = left[i] + " | " + right[i];
        line.erase(line.find_last_not_of(' ') + 1);
        text += (i == 0 ? "" : "\n") + line;
    }
    return text;
}

}  // namespace

const std::vector<Notebook>& notebooks() {
    static const std::vector<Notebook> all{
        {"000", "padding-heads",
         "two heads cut from one fused projection, over a batch with padding", CodeLanguage::torch,
         padding_heads,
         [](const ReplayOptions& replay) { return walks_in(attn_notebook_padding_heads, replay); }},
        {"001", "numpy-loops", "attention by NumPy loops, then by whole arrays, then head by head",
         CodeLanguage::numpy, numpy_loops,
         [](const ReplayOptions& replay) { return walks_in(attn_notebook_numpy_loops, replay); }},
        {"002", "causal-heads", "running averages become causal attention, with two and five heads",
         CodeLanguage::torch, causal_heads,
         [](const ReplayOptions& replay) { return walks_in(attn_notebook_causal_heads, replay); }},
        {"003", "sentence", "one sentence: a single word first, then all words, then three heads",
         CodeLanguage::torch, sentence, sentence_walks},
    };
    return all;
}

const Notebook& find_notebook(std::string_view name) {
    std::string names;
    std::vector<const Notebook*> found;
    for (const Notebook& notebook : notebooks()) {
        if (notebook.name == name || notebook.number == name) return notebook;
        if (notebook.name.starts_with(name) || notebook.number.ends_with(name)) {
            found.push_back(&notebook);
        }
        names += (names.empty() ? "" : ", ") + notebook.name + " (" + notebook.number + ")";
    }
    if (found.size() == 1 && !name.empty()) return *found.front();
    throw ConfigError("there is no notebook '" + std::string(name) + "': use one of " + names);
}

const NotebookWalk& find_walk(const std::vector<NotebookWalk>& walks, std::string_view name) {
    const auto walk = std::ranges::find(walks, name, &NotebookWalk::name);
    if (walk == walks.end()) throw std::out_of_range("no walk " + std::string(name));
    return *walk;
}

decltype(Section::content) content_of(const Section& section, const Plan& plan,
                                      const Ledger& ledger, CodeLanguage language) {
    if (section.remake) return section.remake(plan, ledger);
    const std::string step = section.parts.substr(0, section.parts.find('['));
    if (!ledger.has(step)) throw ConfigError("there is no " + step + " with these settings");
    const bool is_part = step != section.parts;
    const Tensor tensor =
        is_part ? slice(ledger[step], section.parts.substr(step.size() + 1,
                                                           section.parts.size() - step.size() - 2))
                : ledger[step];
    if (std::holds_alternative<Tensor>(section.content)) return tensor;
    return language == CodeLanguage::torch ? torch_size_text(tensor.shape())
                                           : shape_text(tensor.shape());
}

Walked performed(const NotebookWalk& walk) {
    Walked result{resolve(walk.config), {}, {}};
    const Plan& plan = result.plan;
    result.table = with_mistakes(step_table(plan), plan, walk.mistakes);
    result.ledger = attn::walk(plan, draw(plan), result.table, Details::skipped);
    return result;
}

Document both_replays(const Document& faithful, const Document& corrected) {
    Document both;
    both.config = corrected.config;
    for (const Section& section : faithful.sections) {
        both.sections.push_back(section);
        const Section* corrected_section = find(corrected, section.name);
        if (corrected_section == nullptr || same_content(section, *corrected_section)) continue;
        both.sections.back().shown = true;
        both.sections.push_back(*corrected_section);
        both.sections.back().name += ending;
        both.sections.back().shown = true;
    }
    for (const Section& section : corrected.sections) {
        if (find(faithful, section.name) == nullptr) both.sections.push_back(section);
    }
    return both;
}

Document one_after_the_other(const Document& faithful, const Document& corrected) {
    Document both = faithful;
    both.config = corrected.config;
    for (const Section& section : corrected.sections) {
        const auto other = std::ranges::find(both.sections, section.name, &Section::name);
        Section added = section;
        if (added.expression.empty()) added.expression = section.name;
        if (other != both.sections.end()) {
            // Shared lines run again, but are not shown again.
            added.shown = !same_content(*other, section);
            added.name += added.shown ? ending : "_again";
            other->shown = other->shown || added.shown;
        }
        both.sections.push_back(std::move(added));
    }
    return both;
}

Document side_by_side(const Document& document, TextForm form, const PrintOptions& options,
                      std::size_t columns) {
    Document result;
    result.config = document.config;
    for (const Section& section : document.sections) {
        const bool pairs = !result.sections.empty() &&
                           section.name == result.sections.back().name + std::string(ending);
        if (!pairs || !result.sections.back().shown || !section.shown) {
            result.sections.push_back(section);
            continue;
        }
        Section& pair = result.sections.back();
        pair.content = beside(content_text(pair, form, options),
                              content_text(section, form, options), columns);
        if (section.formula != pair.formula) pair.formula += "; corrected: " + section.formula;
        if (!section.note.empty() && section.note != pair.note) {
            pair.note += (pair.note.empty() ? "Corrected: " : " Corrected: ") + section.note;
        }
        pair.margin += (pair.margin.empty() ? "" : "\n") + section.margin;
        if (!section.code.empty()) pair.code += "\n# corrected\n" + section.code;
    }
    return result;
}

}  // namespace attn
