#include <fmt/format.h>

#include "app/stepper/session.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/number_text.hpp"

namespace app {
namespace {

/// Returns the step alone, with its gradient if there is one, as a walk prints a single step.
attn::Document alone(const Session& session) {
    attn::Document document = session.document();
    document.sections = {session.section()};
    const std::string gradient = "d_" + session.section().name;
    for (const attn::Section& each : session.sections()) {
        if (each.name == gradient) document.sections.push_back(each);
    }
    for (attn::Section& section : document.sections) {
        section.shown = true;
        section.code.clear();
    }
    return document;
}

TextChoices text_choices(const Session& session) {
    TextChoices choices;
    choices.form = choices.program_form = session.scene().form;
    choices.options = session.options();
    choices.words =
        session.print_flags().has(flags::no_notes) ? attn::Words::none : attn::Words::all;
    return choices;
}

}  // namespace

std::string Session::cell_line() const {
    const attn::Cell at = cell();
    const attn::Tensor& shown = *tensor();
    const auto text = [&](double value) {
        if (shown.dtype() == attn::DType::boolean)
            return std::string(value != 0 ? "True" : "False");
        if (shown.dtype() == attn::DType::int64) return std::to_string(static_cast<long>(value));
        return attn::four_decimals(value);
    };
    std::string line = attn::cell_text(at) + " = " + text(at.value);
    if (before_ && is_changed(cursor())) {
        const attn::Tensor* before = whole_before(at.step);
        if (before == nullptr) {
            line += " (new)";
        } else {
            const std::size_t flat = attn::flat_index(at.indices, before->shape());
            line += " (was " + text(before->at(flat)) + ")";
        }
    }

    // Describe the place of the cell; a slice has lost the names of dropped axes.
    if (!section().part.empty()) return line;
    std::size_t batch = 0, head = 0;
    std::string where;
    for (std::size_t axis = 0; axis < at.indices.size(); ++axis) {
        const std::string& name = shown.axes()[axis];
        if (name == "batch") batch = at.indices[axis];
        if (name == "head") head = at.indices[axis];
        const auto* words = document_.words_on(section(), name, batch, head);
        where += (where.empty() ? "   " : ", ") + name + " " +
                 (words != nullptr ? attn::notes::quoted_token((*words)[at.indices[axis]])
                                   : std::to_string(at.indices[axis]));
    }
    return line + where;
}

std::string Session::trail_line() const {
    if (trail_.empty()) return {};
    std::string line = attn::cell_text(trail_.back().from) + " came from here";
    const auto& [cells, targets, source] = sources_;
    if (targets > 1) {
        line += " and from " + attn::cell_text(cells[(source + 1) % targets]) + " (x)";
    }
    return line + "; Backspace returns";
}

std::string Session::why(std::size_t depth, std::size_t top) const {
    if (scene_.page) {
        const Scene walk = walk_of_page();
        return attn::why_text(*walk.plan, walk.table, walk.ledger, cell_of_page(walk),
                              {depth, top});
    }
    return attn::why_text(*scene_.plan, scene_.table, scene_.ledger, cell(), {depth, top});
}

std::string Session::step_text() const {
    std::string text;
    const TextChoices choices = text_choices(*this);
    attn::render_text(alone(*this), choices.form, choices.options, choices.words,
                      [&](std::string_view piece) { text += piece; });
    return text;
}

std::string Session::list_text() const {
    std::string text;
    std::size_t number = 0;
    for (const std::size_t i : listed_steps()) {
        const attn::Section& section = sections()[i];
        const auto* tensor = std::get_if<attn::Tensor>(&section.content);
        std::string line =
            fmt::format("{} {:2} {}", i == step_ ? ">" : " ", ++number, section.name);
        if (tensor != nullptr) line += "   " + tensor->described();
        if (changed_[i] > 0) line += "   changed: " + std::to_string(changed_[i]);
        text += line + "\n";
    }
    return text;
}

void Session::write(const std::string& path) const {
    const Format* format = format_of_file(path);
    if (path.ends_with(".txt")) {
        format = &find_format(scene_.form == attn::TextForm::numpy ? "numpy" : "torch");
    }
    if (format == nullptr || format->runs) {
        std::vector<std::string_view> endings{".txt"};
        for (const Format& each : formats()) {
            if (!each.runs)
                endings.insert(endings.end(), each.suffixes.begin(), each.suffixes.end());
        }
        throw attn::ConfigError("write " + path + ": use a name that ends in " + listed(endings));
    }
    if (!format->is_text()) cell();
    const attn::Document document = alone(*this);
    attn::OutputFile file(path);
    if (format->is_text()) {
        format->render(document, text_choices(*this),
                       [&](std::string_view text) { file.write(text); });
    } else {
        format->write(document, file);
    }
    file.commit();
}

}  // namespace app
