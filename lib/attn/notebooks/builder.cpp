#include "attn/notebooks/builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/cards/step_table.hpp"
#include "attn/mistakes/mistake.hpp"
#include "attn/plan/words.hpp"
#include "attn/render/numpy_text.hpp"
#include "attn/render/torch_text.hpp"
#include "attn/text/json.hpp"

namespace attn {

NotebookBuilder::NotebookBuilder(CodeLanguage language, const ReplayOptions& replay,
                                 const char* page)
    : language_(language), replay_(replay) {
    std::vector<std::pair<std::string, std::string>>* fields = nullptr;
    std::size_t empty_lines = 0;  // of the code, if it goes on behind them
    for (std::string_view rest = page; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.starts_with('[')) {
            fields = &page_[std::string(line.substr(1, line.size() - 2))];
        } else if (line.starts_with("    ") && fields->back().first.starts_with("code")) {
            std::string& code = fields->back().second;
            code += std::string(empty_lines + !code.empty(), '\n') + std::string(line.substr(4));
        } else if (line.starts_with("    ")) {
            fields->back().second += line.substr(3);
        } else if (!line.empty()) {
            const std::size_t colon = line.find(':');
            fields->emplace_back(line.substr(0, colon),
                                 line.substr(std::min(colon + 2, line.size())));
        }
        empty_lines = line.empty() ? empty_lines + 1 : 0;
    }
}

Section& NotebookBuilder::begin(std::string name) {
    Section& section = document_.sections.emplace_back();
    section.name = std::move(name);
    section.walk = walk_;
    constexpr std::string_view ending = "_shape";
    section.parts = walk_.empty() ? ""
                    : section.name.ends_with(ending)
                        ? section.name.substr(0, section.name.size() - ending.size())
                        : section.name;
    for (const auto& [field, text] : page_[section.name]) {
        const std::size_t condition = field.find(" if ");
        const bool wants_corrected = field.ends_with(" if corrected");
        if (condition == field.npos || wants_corrected == replay_.corrected) {
            describe(field.substr(0, condition), text);
        }
    }
    for (const auto& [step, lines] : codes_) fill(step, lines);
    return section;
}

void NotebookBuilder::codes(const Plan& plan, Gradients gradients) {
    if (!replay_.code) return;
    codes_ = {{"setup", setup_code(plan, language_)}};
    for (const StepCode& step : program_of(plan, step_table(), language_, gradients)) {
        codes_.emplace_back(step.step, step.code);
    }
}

void NotebookBuilder::describe(const std::string& field, const std::string& text) {
    constexpr std::string_view mistake_of = "mistake ";
    if (field.starts_with(mistake_of)) mistake(field.substr(mistake_of.size()), text);
    if (field == "title") title(text);
    if (field == "from") from(text);
    if (field == "made") made(text);
    if (field == "code") code(text);
    if (field == "printed_by") printed_by(text);
    if (field == "note") note(text);
    if (field == "grad") grad(text);
    if (field == "kept") kept();
}

NotebookBuilder& NotebookBuilder::fill(const std::string& name, const std::string& words) {
    Section& section = document_.sections.back();
    const std::string place = "{" + name + "}";
    for (std::string* text : {&section.code, &section.note, &section.margin}) {
        const std::size_t at = text->find(place);
        if (at != text->npos) text->replace(at, place.size(), words);
    }
    return *this;
}

NotebookBuilder& NotebookBuilder::title(std::string words) {
    document_.sections.back().title = std::move(words);
    return *this;
}

NotebookBuilder& NotebookBuilder::tensor(std::string name, Tensor content) {
    begin(std::move(name)).content = std::move(content);
    return *this;
}

NotebookBuilder& NotebookBuilder::text(std::string name, std::string content) {
    begin(std::move(name)).content = std::move(content);
    return *this;
}

NotebookBuilder& NotebookBuilder::shape(std::string name, const Shape& shape) {
    Section& section = begin(std::move(name));
    section.content = language_ == CodeLanguage::torch ? torch_size_text(shape) : shape_text(shape);
    constexpr std::string_view ending = "_shape";
    if (section.name.ends_with(ending) && section.expression.empty()) {
        printed_by(section.name.substr(0, section.name.size() - ending.size()) + ".shape");
    }
    return *this;
}

NotebookBuilder& NotebookBuilder::from(std::string parts) {
    Section& section = document_.sections.back();
    section.parts = std::move(parts);
    if (section.parts.empty()) section.walk.clear();
    return *this;
}

NotebookBuilder& NotebookBuilder::remade(Section::Remake remake) {
    document_.sections.back().remake = std::move(remake);
    return *this;
}

NotebookBuilder& NotebookBuilder::made(std::string formula) {
    document_.sections.back().formula = std::move(formula);
    return *this;
}

NotebookBuilder& NotebookBuilder::code(std::string lines) {
    if (replay_.code) document_.sections.back().code = std::move(lines);
    return *this;
}

NotebookBuilder& NotebookBuilder::printed_by(std::string expression) {
    document_.sections.back().expression = std::move(expression);
    return *this;
}

NotebookBuilder& NotebookBuilder::note(std::string words) {
    document_.sections.back().note = std::move(words);
    return *this;
}

NotebookBuilder& NotebookBuilder::grad(const std::string& function) {
    document_.sections.back().suffix = "grad_fn=<" + function + "Backward0>";
    return *this;
}

NotebookBuilder& NotebookBuilder::kept() {
    document_.sections.back().shown = false;
    return *this;
}

NotebookBuilder& NotebookBuilder::mistake(const std::string& id, const std::string& words) {
    const Mistake& mistake = find_mistake(id);
    const std::string& fix =
        language_ == CodeLanguage::torch ? mistake.fix_torch : mistake.fix_numpy;
    std::string& margin = document_.sections.back().margin;
    margin += margin.empty() ? "" : "\n";
    margin += replay_.corrected ? "[" + id + ", corrected] " + fix : "[" + id + "] " + words;
    return *this;
}

Document NotebookBuilder::finish(const std::string& notebook, const Plan& plan) {
    const WalkConfig& config = plan.config;
    document_.query_tokens = plan.query_tokens;
    document_.key_tokens = plan.key_tokens;
    document_.config = {{"notebook", json_string(notebook)},
                        {"corrected", replay_.corrected ? "true" : "false"},
                        {"seed", std::to_string(config.seed)},
                        {"rng", json_string(word(config.rng))},
                        {"torch_build", json_string(word(config.torch_build))},
                        {"variant", json_string(word(config.variant))}};
    return std::move(document_);
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

NotebookWalk walk_of(const ReplayOptions& replay, std::string name, WalkConfig config,
                     std::vector<std::string> mistakes) {
    settle(config, replay);
    if (replay.corrected) mistakes.clear();
    return {std::move(name), std::move(config), std::move(mistakes)};
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

namespace {

std::string sums(const Tensor& matrix, bool along_rows) {
    const Shape shape = matrix.shape();
    const std::size_t count = shape[along_rows ? 0 : 1];
    const std::size_t length = shape[along_rows ? 1 : 0];
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < length; ++j) {
            sum += matrix.at(along_rows ? i * length + j : j * count + i);
        }
        text += (text.empty() ? "" : " ") + four(sum);
    }
    return text;
}

}  // namespace

std::string row_sums(const Tensor& matrix) { return sums(matrix, true); }
std::string column_sums(const Tensor& matrix) { return sums(matrix, false); }

}  // namespace attn
