#include "app/flags/output_flags.hpp"

#include "attn/ground/text/number_text.hpp"

namespace app {
namespace {

std::vector<std::string> shadings() {
    std::vector<std::string> all = words_of<attn::ScaleEnd>();
    all.emplace_back("compact");
    return all;
}

// --- needs of flags

bool summarises(const Arguments& arguments) { return arguments.has(flags::summary); }
template <bool Format::*member>
bool format_has(const Arguments& arguments) {
    return arguments.find(flags::format) == nullptr ||
           (format_of(arguments).*member && !summarises(arguments));
}
bool is_form_printed(const Arguments& arguments) {
    const Format& specified = find_format(arguments[flags::format]);
    return specified.printed == nullptr ||
           !(summarises(arguments) || arguments.has(flags::heatmap) ||
             (arguments.has(flags::code) && specified.has_code));
}
bool prints_in_steps(const Arguments& arguments) {
    const bool only_saves =
        arguments.has(flags::save_dir) && !arguments.has_any({flags::format, flags::json});
    return arguments.has(flags::output) ? output_file(arguments).empty()
                                        : !only_saves && !summarises(arguments);
}
bool leaves_steps_out(const Arguments& arguments) {
    return !arguments.has(flags::only) &&
           !(arguments.find(flags::format) != nullptr && format_of(arguments).has_everything);
}

constexpr Need colored_page{format_has<&Format::has_colors>, "--format svg or html"};

constexpr Need a_figure{format_has<&Format::has_figures>, "--format svg"};

bool draws_side_by_side(const Arguments& specified) {
    return format_of(specified).has_figures && specified[flags::figure] != attn::FigureKind::arcs;
}
bool draws_without_grid(const Arguments& specified) {
    return format_of(specified).has_figures && !specified.has(flags::grid);
}

constexpr Need printed_numbers{format_has<&Format::prints_numbers>,
                               "a printed form: this one has no such digits"};

}  // namespace

const std::vector<Flag>& print_flags() {
    static const std::vector<Flag> all = grouped(
        "Output",
        {
            Flag{flags::detail, "", "show parameters and the parts of softmax too"}.needing(
                {leaves_steps_out, "a printed form without --only"}),
            color_flags().front(),
            Flag{flags::only, "STEPS", "print only these steps, or slices: weights[0,:,1:3],output",
                 such_as(step_names, Takes::Kind::list)}
                .instead_of({flags::from, flags::until}),
            Flag{flags::from, "STEP", "leave out the steps before this one", such_as(step_names)},
            Flag{flags::until, "STEP", "leave out the steps after this one", such_as(step_names)},
            Flag{flags::precision, "N", "decimals", integer(0, attn::most_decimals), "4; NumPy: 8"}
                .needing(printed_numbers),
            Flag{flags::threshold, "N", "summarise tensors with more than N elements, or inf",
                 such_as("inf"), "1000"}
                .needing(printed_numbers),
            Flag{flags::edgeitems, "N",
                 "elements shown at each end of an axis if a tensor is too large to print whole",
                 integer(0), "3"}
                .needing(printed_numbers),
            Flag{flags::linewidth, "N", "columns of a printed line", integer(1), "80; NumPy: 75"}
                .needing(printed_numbers),
            Flag{flags::sci_mode, "WHEN", "print numbers as powers of ten", one_of("auto on off"),
                 "auto"}
                .needing(printed_numbers),
            Flag{flags::no_notes, "", "print only tensors, no words"}.with_short_name("-q").needing(
                {format_has<&Format::has_words>, "a format with words"}),
        });
    return all;
}

const std::vector<Flag>& output_flags() {
    static const std::vector<Flag> all = grouped(
        "Output",
        {
            Flag{flags::format, "FORMAT", "format of the output", one_of(format_names),
                 "from the extension of --output, otherwise torch, or numpy with a NumPy --rng"}
                .being(of_output)
                .needing({is_form_printed,
                          "tensors that are printed as such: leave "
                          "--heatmap, --summary and --code out"}),
            Flag{flags::save_dir, "DIR",
                 "write a .npy file for each step and walk.json into a folder", folder()}
                .writing({"*"}),
            Flag{flags::summary, "",
                 "print one line per tensor: shape, type, range, mean, nan and inf, row sums and "
                 "entropy"},
            Flag{flags::heatmap, "SCALE",
                 "print labelled cells, shaded by value; the scale ends at the largest of each "
                 "row, of the tensor, or at 1; compact draws matrices side by side, without digits",
                 some_of(shadings)}
                .with_optional_value()
                .needing({[](const Arguments& specified) { return !summarises(specified); },
                          "tensors that are printed: leave --summary out"}),
            Flag{flags::figure, "FIGURE", "the kind of figure of --format svg",
                 one_of<attn::FigureKind>(), "matrix"}
                .needing({draws_without_grid, "--format svg and no --grid"}),
            Flag{flags::grid, "RxC",
                 "draw one row of weights as tiles over --image, for a vision transformer whose "
                 "keys are patches, with or without one class token before them",
                 such_as("14x14")}
                .needing(colored_page),
            Flag{flags::image, "FILE", "the image under the tiles of --grid, png or jpeg", file()}
                .needing(with<flags::grid>("--grid")),
            Flag{flags::columns, "N",
                 "matrices side by side in a figure; 1 draws a flow as a list with formulas",
                 integer(1, 1000), "as many as fit"}
                .needing({draws_side_by_side, "--format svg and --figure matrix or flow"}),
            Flag{flags::width, "PX",
                 "width of a figure, to which it is scaled; digits that would be smaller than 6 pt "
                 "are left out",
                 integer(50, 20000), "fits the cells"}
                .needing(a_figure),
            Flag{flags::theme, "THEME", "page that figures and --format html are made for",
                 one_of<attn::Theme>(), "auto"}
                .needing(colored_page),
            Flag{flags::embed, "",
                 "write --format html as a fragment for another page, which it does not affect"}
                .needing({format_has<&Format::answers>, "--format html"}),
            Flag{flags::pace, "", "wait for Enter between the steps, on a terminal"}
                .being(of_output)
                .needing({prints_in_steps,
                          "steps printed one by one: they go to a file, or on one line"}),
            Flag{flags::code, "LANGUAGE", "write a program that makes and prints the same tensors",
                 one_of("torch numpy")}
                .needing({format_has<&Format::has_code>,
                          "a format with lines of code: torch, numpy, python, markdown, json, "
                          "html or ipynb"}),
        });
    return all;
}

Flag output_flag(std::vector<std::string_view> endings) {
    return Flag{flags::output, "FILE", "write to a file, whole or not at all", file()}
        .with_short_name("-o")
        .writing(std::move(endings));
}

const std::vector<Flag>& file_flags() {
    static const std::vector<Flag> all = grouped("Output", {output_flag()});
    return all;
}

const std::vector<Flag>& json_flags() {
    static const std::vector<Flag> all =
        grouped("Output",
                {Flag{flags::json, "", "print JSON"}.being(of_output).instead_of({flags::format})});
    return all;
}

void check_output_flags(const Arguments& arguments) {
    check_print_flags(arguments);
    const Format& format = format_of(arguments);
    const std::string name(format.name);
    for (const auto& [flag, fits] : {std::pair<Name, bool>{flags::heatmap, format.has_colors},
                                     {flags::pace, format.is_program},
                                     {flags::summary, false}}) {
        if (!arguments.has(flag) || format.printed != nullptr || fits) continue;
        const std::string other =
            arguments.has(flags::code) && format.runs ? "--code" : "--format " + name;
        throw attn::ConfigError(std::string(flag) + " is for printed forms and " + other +
                                " is none: leave one out");
    }
    shading(arguments);
}

}  // namespace app
