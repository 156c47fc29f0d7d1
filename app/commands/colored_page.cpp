#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/svg.hpp"

namespace app {

std::string page_with(const ColoredPage& page, const std::string& command) {
    std::string text = "<p>" + attn::xml_text(page.words) +
                       "</p>\n<div class=\"scroll\"><table data-from=\"" +
                       attn::xml_text(page.from) + "\">\n<thead><tr><td></td>";
    for (const std::string& each : page.head) {
        text += "<th scope=\"col\">" + attn::xml_text(each) + "</th>";
    }
    text += "</tr></thead>\n<tbody>";
    const auto size = [](const ColoredCell& cell) {
        return std::isfinite(cell.share) ? std::abs(cell.share) : 0;
    };
    const auto largest = std::ranges::max_element(page.cells, {}, size) - page.cells.begin();
    const std::size_t opened = page.opened.value_or(static_cast<std::size_t>(largest));
    for (std::size_t i = 0; i < page.cells.size(); ++i) {
        const std::size_t row = i / page.head.size(), column = i % page.head.size();
        if (column == 0) {
            text += "<tr><th scope=\"row\">" + attn::xml_text(page.name(row)) + "</th>";
        }
        const ColoredCell& cell = page.cells[i];
        text += fmt::format(
            "<td id=\"{},{}\" class=\"{}\" data-told=\"{}\" data-command=\"{}\"{}>{}</td>", row,
            column, attn::scale_class(cell.share, cell.scale), attn::xml_text(cell.description),
            attn::xml_text(cell.command), i == opened ? " aria-current" : "",
            attn::xml_text(cell.text));
        if (column + 1 == page.head.size()) text += "</tr>\n";
    }
    return attn::plain_page({page.title, command, text + "</tbody></table></div>\n"});
}

Arguments walk_of_model(const Arguments& arguments) {
    Arguments walk({walk_flags, bug_flags});
    if (arguments.has(flags::tokenizer)) {
        walk.set(flags::tokenizer, arguments.text(*arguments.find(flags::tokenizer)));
    }
    for (const std::string& part : arguments[flags::without]) {
        walk = with_flags(walk, {flags::without, part});
    }
    walk.set(flags::model_file, arguments[flags::model_file]);
    return walk;
}

static Arguments walk_of_text(const Arguments& arguments) {
    Arguments walk = walk_of_model(arguments);
    for (const Name& name : {Name(flags::text), Name(flags::ids)}) {
        if (arguments.has(name)) walk.set(name, arguments.text(*arguments.find(name)));
    }
    return walk;
}

Arguments walk_of_layer(const Arguments& arguments, std::size_t layer) {
    Arguments walk = walk_of_text(arguments);
    walk.set(flags::layer, std::to_string(layer));
    return walk;
}

std::string why_token_command(const Arguments& arguments, const attn::models::Model& model,
                              const TokenPlace& at) {
    const std::string label = model.tokenizer ? model.tokenizer->label(at.token) : "";
    const bool is_word =
        std::ranges::any_of(label, [](unsigned char c) { return std::isalpha(c) != 0; });
    Arguments why = at.ids.empty() ? walk_of_text(arguments) : walk_of_model(arguments);
    if (!at.ids.empty()) why.set(flags::ids, fmt::format("{}", fmt::join(at.ids, ",")));
    if (!at.without.empty()) why = with_flags(why, {flags::without, at.without});
    return "attn-explain why " +
           shell_quoted(at.place + "[" + (is_word ? label : std::to_string(at.token)) + "]") +
           command_line("", why).substr(std::string_view("attn-explain").size());
}

std::string layer_command(const Arguments& arguments, std::size_t layer, const std::string& only) {
    return command_line("", walk_of_layer(arguments, layer)) + " --only " + shell_quoted(only);
}

}  // namespace app
