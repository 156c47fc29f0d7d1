#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {

namespace {

/// Returns the mistakes of the paragraphs for which `is_meant` is true, a numbered one once per
/// number that its paragraph lists.
template <class IsMeant>
const std::vector<Mistake>& listed(IsMeant is_meant) {
    // Never destroyed: that would take as long as building it, just before the program ends.
    auto* const list = new std::vector<Mistake>;
    list->reserve(mistake_texts().size());  // moving them to a larger list takes a while
    for (const MistakeText& text : mistake_texts()) {
        if (!is_meant(text)) continue;
        if (!text.is_numbered()) {
            list->push_back(mistake_of(text));
            continue;
        }
        const std::string numbers = text.specified("numbers");
        for (std::string_view rest = numbers; !rest.empty();) {
            list->push_back(mistake_of(text, *parse_number(next_token(rest))));
        }
    }
    return *list;
}

}  // namespace

const std::vector<Mistake>& mistakes() {
    static const std::vector<Mistake>& all = listed(
        [](const MistakeText& text) { return !text.has("harmless") && !text.has("backward"); });
    return all;
}

const std::vector<Mistake>& harmless_differences() {
    static const std::vector<Mistake>& all =
        listed([](const MistakeText& text) { return text.has("harmless"); });
    return all;
}

const NamedEdit* find_edit(std::string_view name) {
    static constexpr NamedEdit edits[]{{"repeated words counted", count_repeats},
                                       {"batch and tokens exchanged", exchange_batch_and_tokens},
                                       {"no bias", leave_biases_out},
                                       {"tokens repeated", repeat_tokens},
                                       {"T5's bias added", add_bias_of_t5},
                                       {"a tenth dropped", drop_a_tenth},
                                       {"mean of heads shown", show_mean_of_heads}};
    const auto known = std::ranges::find(edits, name, &NamedEdit::name);
    return known == std::end(edits) ? nullptr : &*known;
}

namespace {

/// Parses `finite-fill=-9e15`: returns the entry of that family for that number.
const Mistake* fill_of_id(std::string_view id) {
    const std::size_t equals = id.find('=');
    if (equals == std::string_view::npos) return nullptr;
    const std::string_view word = id.substr(equals + 1);
    double fill = 0;
    const auto [end, trouble] = std::from_chars(word.data(), word.data() + word.size(), fill);
    if (trouble != std::errc() || end != word.data() + word.size() || !std::isfinite(fill)) {
        return nullptr;
    }
    for (const MistakeText& text : mistake_texts()) {
        if (text.is_numbered() && text.id.substr(0, equals + 1) == id.substr(0, equals + 1)) {
            const bool is_fill = text.id == "mask-sign=N" || text.id == "mask-fill-too-small=N";
            const Mistake& mistake =
                is_fill ? mistaken_fill(fill) : numbered_mistake(text.id, fill);
            return mistake.id.starts_with(id.substr(0, equals + 1)) ? &mistake : nullptr;
        }
    }
    return nullptr;
}

}  // namespace

const Mistake& find_mistake(std::string_view id) {
    std::vector<const Mistake*> family;
    for (const std::vector<Mistake>* entries : {&mistakes(), &harmless_differences()}) {
        for (const Mistake& mistake : *entries) {
            if (mistake.id == id) return mistake;
            if (mistake.family() == id) family.push_back(&mistake);
        }
    }
    if (const Mistake* fill = fill_of_id(id)) return *fill;
    if (family.size() == 1) return *family.front();
    // Suggest ids with a similar spelling or the same prefix.
    const std::string start =
        family.empty() ? std::string(id.substr(0, id.find_first_of("-="))) : std::string(id) + "=";
    std::string close;
    std::vector<std::string> families;
    for (const Mistake& mistake : mistakes()) {
        if (!start.empty() && mistake.id.starts_with(start)) close += " " + mistake.id;
        families.push_back(mistake.family());
    }
    if (const std::string meant = closest(id, families); close.empty() && !meant.empty()) {
        close = " " + meant;
    }
    const std::string here = known_name_for(id, families);
    throw ConfigError("there is no mistake '" + std::string(id) + "'" +
                      (!here.empty()   ? "; did you mean " + here + "?"
                       : close.empty() ? ": attn-explain bugs lists them"
                                       : "; do you mean one of:" + close));
}

namespace {

/// Adds titles and remarks of a mistake to a table that has it, and marks lines that differ from
/// those of the table without it.
void write_mistake(StepTable& table, const StepTable& without, const Plan& plan,
                   const Mistake& mistake) {
    std::string title = mistake.title.raw();
    // Keep the case of names such as ALiBi and T5.
    const bool is_name = std::isupper(title[1]) != 0 || std::isdigit(title[1]) != 0;
    if (!is_name) title[0] = static_cast<char>(std::tolower(title[0]));
    const auto right = std::make_shared<const StepTable>(without);
    for (std::size_t i = 0; i < table.size(); ++i) {
        Step& step = table[i];
        if (!has_lines(step)) continue;
        step.code = [wrong = step.code, right, i, title](const StepLines& lines) {
            const std::string code = wrong ? wrong(lines) : card_lines(lines);
            const Step& before = (*right)[i];
            const StepLines of{{lines.plan, *right, before}, lines.language};
            const bool differs = !has_lines(before) || code != lines_of(of);
            return differs ? "# a mistake: " + visible(title) + "\n" + code : code;
        };
    }
    const auto shows = [&](const std::string& name) {
        const auto step = std::ranges::find(table, name, &Step::name);
        return step != table.end() && step->applies(plan) ? &*step : nullptr;
    };
    // Without heads to split, the projection is the query (key, value) itself.
    const std::string itself = mistake.step.substr(mistake.step.find('_') + 1);
    Step* const first = shows(mistake.step) ? shows(mistake.step) : shows(itself);
    if (first == nullptr) return;
    if (first->mistake_ids == users_rule) {
        throw ConfigError("$rule and $bug "_message + mistake.id + " both make " + first->name +
                          ": leave one out");
    }
    first->title = title;
    first->mistake_ids += (first->mistake_ids.empty() ? "" : ", ") + mistake.id;
    first->mistake += (first->mistake.empty() ? "[" : " [") + mistake.id + "] " + mistake.title +
                      ": " + mistake.effect + ".";
}

}  // namespace

StepTable with_mistake(StepTable table, const Plan& plan, const Mistake& mistake) {
    if (const std::string reason = mistake.why_not(plan); !reason.empty()) {
        throw ConfigError("the mistake " + mistake.id + " has no effect here: " + reason +
                          "; change the settings, or choose another with attn-explain bugs");
    }
    const StepTable without = table;
    table = mistake.apply(std::move(table), plan);
    write_mistake(table, without, plan, mistake);
    return table;
}

StepTable with_mistakes(StepTable table, const Plan& plan, const std::vector<std::string>& ids) {
    for (const std::string& id : ids)
        table = with_mistake(std::move(table), plan, find_mistake(id, plan));
    return table;
}

StepTable with_mistakes_hidden(StepTable right, const StepTable& wrong) {
    for (Step& step : right) {
        const Step& new_step = find_step(wrong, step.name);
        step.compute = new_step.compute;
        step.replaces_given = new_step.replaces_given;
        step.is_reported = false;
    }
    return right;
}

}  // namespace attn
