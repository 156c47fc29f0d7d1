#include "attn/learn/notebooks/builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/core/settings/parse.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {
namespace {

/// Returns the blocks of a page, its walks or its sections, each with its fields.
std::vector<std::pair<std::string, NotebookBuilder::Fields>> blocks_of(std::string_view page,
                                                                       bool of_walks) {
    std::vector<std::pair<std::string, NotebookBuilder::Fields>> blocks;
    std::size_t empty_lines = 0;  // in the code, if it continues after them
    for (std::string_view rest = page; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.starts_with('[')) {
            blocks.emplace_back(line.substr(1, line.size() - 2), NotebookBuilder::Fields());
        } else if (line.starts_with("    ")) {
            auto& [field, text] = blocks.back().second.back();
            const bool is_code = field.starts_with("code");
            if (is_code) text += std::string(empty_lines + !text.empty(), '\n');
            text += line.substr(is_code ? 4 : 3);
        } else if (!line.empty()) {
            const std::size_t colon = line.find(':');
            blocks.back().second.emplace_back(line.substr(0, colon),
                                              line.substr(std::min(colon + 2, line.size())));
        }
        empty_lines = line.empty() ? empty_lines + 1 : 0;
    }
    std::erase_if(blocks,
                  [&](const auto& block) { return block.first.starts_with("walk ") != of_walks; });
    return blocks;
}

/// Removes the condition from a name; returns whether the replay meets it.
bool applies(std::string& name, const ReplayOptions& replay) {
    const std::size_t condition = name.find(" if ");
    if (condition == name.npos) return true;
    const bool wants_corrected = name.substr(condition) == " if corrected";
    name.resize(condition);
    return wants_corrected == replay.corrected;
}

}  // namespace

std::vector<NotebookWalk> walks_in(const char* page, const ReplayOptions& replay) {
    std::vector<NotebookWalk> walks;
    for (auto& [name, fields] : blocks_of(page, true)) {
        NotebookWalk& walk = walks.emplace_back();
        walk.name = name.substr(name.find(' ') + 1);
        for (auto& [field, text] : fields) {
            if (!applies(field, replay)) continue;
            if (field == "settings") configure(walk.config, text);
            if (field == "mistakes" && !replay.corrected) walk.mistakes = split(text, ' ');
        }
        settle(walk.config, replay);
    }
    return walks;
}

NotebookBuilder::NotebookBuilder(CodeLanguage language, const ReplayOptions& replay,
                                 const char* page, std::vector<NotebookWalk> walks)
    : language_(language),
      replay_(replay),
      walks_(std::move(walks)),
      page_(blocks_of(page, false)) {}

const Walked& NotebookBuilder::walked(const std::string& name) {
    const auto known = walked_.find(name);
    if (known != walked_.end()) return known->second;
    return walked_.emplace(name, performed(find_walk(walks_, name))).first->second;
}

void NotebookBuilder::codes(const Plan& plan, Gradients gradients, const std::string& section) {
    if (!replay_.code) return;
    Fields& lines = section.empty() ? codes_ : fills_[section];
    lines.emplace_back("setup", setup_code(plan, language_));
    for (const StepCode& step : program_of(plan, step_table(), language_, gradients)) {
        lines.emplace_back(step.step, step.code);
    }
}

void NotebookBuilder::remade(const std::string& section, Section::Remake remake) {
    remade_[section] = std::move(remake);
}

void NotebookBuilder::own(const std::string& section, decltype(Section::content) content) {
    own_[section] = std::move(content);
}

void NotebookBuilder::fill(const std::string& section, const std::string& name,
                           const std::string& words) {
    fills_[section].emplace_back(name, words);
}

void NotebookBuilder::describe(Section& section, const std::string& field,
                               const std::string& text) {
    constexpr std::string_view mistake_of = "mistake ";
    if (field.starts_with(mistake_of)) {
        const std::string id = field.substr(mistake_of.size());
        const Mistake& mistake = find_mistake(id);
        const bool torch = language_ == CodeLanguage::torch;
        const Prose& fix = torch ? mistake.fix_torch : mistake.fix_numpy;
        section.margin += section.margin.empty() ? "" : "\n";
        section.margin +=
            replay_.corrected ? "[" + id + ", corrected] " + fix : Prose("[" + id + "] " + text);
    }
    if (field == "title") section.title = text;
    if (field == "from") section.parts = text;
    if (field == "called") section.called = text;
    if (field == "made") section.formula = text;
    if (field == "code" && replay_.code) section.code = text;
    if (field == "printed_by") section.expression = text;
    if (field == "note") section.note = text;
    if (field == "grad") section.suffix = "grad_fn=<" + text + "Backward0>";
    if (field == "kept") section.shown = false;
    if (field == "shape") section.content = "";
}

Section NotebookBuilder::section_of(const std::string& name, const Fields& fields) {
    constexpr std::string_view ending = "_shape";
    const bool is_shape = name.ends_with(ending);
    const std::string step = name.substr(0, name.size() - (is_shape ? ending.size() : 0));
    for (auto [field, text] : fields) {
        if (field.starts_with("walk") && applies(field, replay_)) walk_ = text;
    }
    Section section;
    section.name = name;
    section.walk = walk_;
    if (is_shape) section.content = "";
    section.parts = walk_.empty() ? "" : step;
    for (auto [field, text] : fields) {
        if (applies(field, replay_)) describe(section, field, text);
    }
    if (section.parts.empty()) section.walk.clear();
    if (is_shape && section.expression.empty()) section.expression = step + ".shape";
    for (const Fields* words : {&fills_[name], &codes_}) {
        const auto word_of = [&](std::string_view place) -> std::optional<std::string> {
            const auto found = std::ranges::find(*words, place, &Fields::value_type::first);
            return found == words->end() ? std::nullopt : std::optional(found->second);
        };
        section.code = filled(section.code, word_of);
        for (Prose* text : {&section.note, &section.margin}) *text = filled(text->raw(), word_of);
    }
    if (const auto own = own_.find(name); own != own_.end()) {
        section.content = own->second;
    } else {
        const auto remade = remade_.find(name);
        if (remade != remade_.end()) section.remake = remade->second;
        const Walked& walk = walked(section.walk);
        section.content = content_of(section, walk.plan, walk.ledger, language_);
    }
    return section;
}

Document NotebookBuilder::finish(const std::string& notebook, const Plan& plan) {
    const WalkConfig& config = plan.config;
    Document document;
    document.query_tokens = plan.query_tokens;
    document.key_tokens = plan.key_tokens;
    document.config = {{"notebook", json_string(notebook)},
                       {"corrected", replay_.corrected ? "true" : "false"},
                       {"seed", std::to_string(config.seed)},
                       {"rng", json_string(word(config.rng))},
                       {"torch_build", json_string(word(config.torch_build))},
                       {"variant", json_string(word(config.variant))}};
    for (auto [name, fields] : page_) {
        if (applies(name, replay_)) document.sections.push_back(section_of(name, fields));
    }
    return document;
}

void settle(WalkConfig& config, const ReplayOptions& replay) {
    if (replay.seed) config.seed = *replay.seed;
    if (replay.torch_build) config.torch_build = *replay.torch_build;
    config.variant = replay.variant.value_or(config.variant);
}

Ledger walk_with(const Plan& plan, const Ledger& given, const ReplayOptions& replay,
                 const std::vector<std::string>& ids) {
    const StepTable table =
        replay.corrected ? step_table() : with_mistakes(step_table(), plan, ids);
    return walk(plan, given, table, Details::skipped);
}

std::unique_ptr<Generator> generator_of(const Plan& plan) {
    return make_generator(plan.config.rng, plan.config.seed, plan.config.torch_build);
}

double sum_of(const Tensor& tensor) {
    double sum = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) sum += tensor.at(i);
    return sum;
}

double variance_of(const Tensor& tensor) {
    const auto count = static_cast<double>(tensor.size());
    const double mean = sum_of(tensor) / count;
    double squares = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        squares += (tensor.at(i) - mean) * (tensor.at(i) - mean);
    }
    return squares / (count - 1);
}

std::string four(double number) { return fmt::format("{:.4f}", number); }

std::string sums_along(const Tensor& matrix, std::size_t axis) {
    std::vector<std::string> sums;
    for (std::size_t i = 0; i < matrix.shape()[1 - axis]; ++i) {
        sums.push_back(four(sum_of(slice(matrix, (axis == 0 ? ":," : "") + std::to_string(i)))));
    }
    return joined(sums, " ");
}

}  // namespace attn
