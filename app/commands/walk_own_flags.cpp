#include "app/commands/walk.hpp"
#include "app/flags/output_flags.hpp"

namespace app {
namespace {

/// True if there are numbers whose digits can be marked or, in a figure, cut or left out.
bool has_such_digits(const Arguments& arguments) {
    const Format& format = format_of(arguments);
    const std::string which = arguments[flags::digits];
    if (which != "all" && which != "certain") {
        return format.has_figures && arguments[flags::figure] == attn::FigureKind::matrix;
    }
    return (format.has_words || format.answers) && !format.is_program && !format.has_figures &&
           !arguments.has_any({flags::heatmap, flags::summary, flags::hide_mistake, flags::live});
}

}  // namespace

const std::vector<Flag>& walk_own_flags() {
    static const std::vector<Flag> all = grouped(
        "Lists",
        {
            {flags::list_steps, "", "list the steps of this walk"},
            {"--list-rules", "", "list the rules of the steps: this attention on one screen"},
            {flags::list_layers, "", "list the layers of the model in --model-file"},
            Flag{flags::watch, "",
                 "compute again whenever a file named by a flag changes, and report the cells that "
                 "changed; Ctrl-C ends it"}
                .in_group("Output")
                .typed_only(),
            Flag{flags::bounds, "",
                 "print how much rounding in the step's own rule may change each number"}
                .in_group("Output")
                .typed_only()
                .needing(without<flags::hide_mistake>("a walk whose mistake is not hidden")),
            Flag{flags::digits, "WHICH",
                 "certain marks the printed digits that rounding could change: faint on a terminal "
                 "and a page, elsewhere in brackets, 0.16[45]; a number sets the decimals in the "
                 "cells of a figure, none omits them",
                 one_of("all certain none 0 1 2 3 4 5 6 7 8"), "all"}
                .in_group("Output")
                .typed_only()
                .needing({has_such_digits,
                          "numbers as text or on a page (certain; leave --heatmap, --summary, "
                          "--hide-mistake, --live and programs out), or --format svg (none and "
                          "numbers)"}),
            Flag{flags::blank, "STEPS",
                 "leave the cells of these steps empty in a workbook, for a student: a correct "
                 "number turns green",
                 such_as(step_names, Takes::Kind::list)}
                .in_group("Output")
                .typed_only()
                .needing(
                    {[](const Arguments& arguments) { return format_of(arguments).name == "xlsx"; },
                     "--format xlsx"}),
            {flags::list_presets, "", "list the families of models that --preset accepts"},
            Flag{flags::hide_mistake, "",
                 "make the mistake of --bug without naming it, as an exercise: there are no notes"}
                .in_group("Mistakes")
                .typed_only(),
            Flag{flags::html_compare, "FLAGS",
                 "show a second walk on the same page, with these flags added: '--mask none'",
                 Takes{.flags = true}}
                .needing({[](const Arguments& arguments) { return format_of(arguments).answers; },
                          "--format html"})
                .in_group("Output"),
            live_flag(),
        });
    return all;
}

}  // namespace app
