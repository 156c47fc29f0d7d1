#include <CLI/CLI.hpp>

#include "app/commands/commands.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/mistakes/mistake.hpp"
#include "attn/text/width.hpp"

namespace app {
namespace {

/// All mistakes under the step where they show first, in the order of the step table.
void list_mistakes() {
    StandardOutput output;
    bool first = true;
    for (const attn::Step& step : attn::step_table()) {
        bool headed = false;
        for (const attn::Mistake& mistake : attn::mistakes()) {
            if (mistake.step != step.name) continue;
            if (!headed) output.write((first ? "" : "\n") + step.name + "\n");
            headed = true;
            first = false;
            std::string id = "  " + mistake.id;
            id.resize(std::max<std::size_t>(id.size() + 2, 28), ' ');
            output.write(id + mistake.title + "\n");
        }
    }
    output.flush();
}

void describe(const attn::Mistake& mistake) {
    StandardOutput output;
    const auto paragraph = [&output](const std::string& head, const std::string& text) {
        for (const std::string& line : attn::wrap(head + text, 80)) output.write(line + "\n");
    };
    paragraph(mistake.id + ": ", mistake.title);
    paragraph("shows first at ", mistake.step);
    paragraph("effect: ", mistake.effect);
    if (!mistake.tie_class.empty()) {
        paragraph("gives the same numbers as the others of: ", mistake.tie_class);
    }
    output.write("fix, PyTorch: " + mistake.fix_torch + "\n");
    output.write("fix, NumPy:   " + mistake.fix_numpy + "\n");
    paragraph("", mistake.learner);
    output.flush();
}

}  // namespace

void setup_bugs(CLI::App& cli, int& exit_code) {
    auto id = std::make_shared<std::string>();
    cli.add_option("ID", *id, "one mistake, whole");
    cli.callback([id, &exit_code] {
        if (id->empty()) {
            list_mistakes();
        } else {
            describe(attn::find_mistake(*id));
        }
        exit_code = 0;
    });
}

}  // namespace app
