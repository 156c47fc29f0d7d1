#include <algorithm>
#include <array>
#include <map>

#include "app/flags/output_flags.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// Suffixes that no format has, the closest one, and the tool that converts it.
struct Foreign {
    std::vector<std::string_view> endings;
    std::string_view write;
    std::string_view maker;
};

const std::vector<Foreign>& foreign() {
    static const std::vector<Foreign> all{
        {{".png", ".pdf", ".ps", ".eps"}, ".svg", "rsvg-convert"},
        {{".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp"}, ".svg", "ImageMagick"},
        {{".tex", ".docx", ".odt", ".rst", ".rtf"}, ".md", "pandoc"},
        {{".xlsx", ".xls", ".ods", ".tsv", ".parquet"}, ".csv", "pandas"},
        {{".yaml", ".yml", ".toml", ".xml", ".jsonl"}, ".json", "Python"},
        {{".pt", ".pth", ".ckpt", ".pkl", ".bin"}, ".safetensors", "torch.save"},
        {{".h5", ".hdf5", ".mat"}, ".npz", "h5py or SciPy"},
    };
    return all;
}

constexpr std::array text_endings{".txt", ".text", ".log", ".out"};

/// Returns the suffixes that a file of this flag may have.
std::vector<std::string_view> endings_of(const Arguments& arguments, const Flag& flag) {
    std::vector<std::string_view> endings = flag.endings;
    if (!endings.empty()) return endings;
    endings.assign(text_endings.begin(), text_endings.end());
    std::vector<std::string> names;
    if (arguments.find(flags::json) != nullptr) names.emplace_back("json");
    if (const Flag* row = arguments.find(flags::format)) names = row->takes.words();
    for (const Format& format : formats()) {
        if (std::ranges::find(names, format.name) == names.end()) continue;
        endings.insert(endings.end(), format.suffixes.begin(), format.suffixes.end());
    }
    return endings;
}

}  // namespace

std::string listed(const std::vector<std::string_view>& endings) {
    std::vector<std::string> all;
    constexpr std::array second_names{"*", ".text", ".log", ".out", ".markdown", ".htm"};
    for (const std::string_view ending : endings) {
        if (std::ranges::find(second_names, ending) == second_names.end()) all.emplace_back(ending);
    }
    return listed(all);
}

namespace {

void check_ending(const Arguments& arguments, const Flag& flag, const std::string& path) {
    const std::vector<std::string_view> endings = endings_of(arguments, flag);
    const auto is_written = [&](std::string_view ending) {
        return std::ranges::find(endings, ending) != endings.end();
    };
    const std::string ending = ending_of(path);
    if (ending.empty()) return;
    const Format* by_file = format_of_file(path);
    const std::string value = arguments.has(flags::json)     ? "--json"
                              : arguments.has(flags::format) ? "--format"
                                                             : "";
    const std::string form = value == "--format" ? arguments[flags::format]
                             : value.empty()     ? ""
                                                 : "json";
    if (is_written(ending)) {
        const bool differs = by_file != nullptr && !form.empty() && by_file->name != form;
        if (!differs || !flag.endings.empty()) return;
        throw attn::ConfigError("-o " + path + " asks for " + std::string(by_file->name) + " and " +
                                value + " for " + form + ": leave " + value +
                                " out, or give the file another extension");
    }
    const auto result = std::ranges::find_if(foreign(), [&](const Foreign& each) {
        return std::ranges::find(each.endings, ending) != each.endings.end();
    });
    const bool is_known = result != foreign().end() || by_file != nullptr;
    constexpr std::size_t longest = 8;  // .parquet; `mktemp` adds longer random ones
    if (!is_known &&
        (ending.size() > longest || is_written("*") || (!form.empty() && flag.endings.empty())))
        return;
    const std::string name = flag.letter.empty() ? flag.name : flag.letter;
    const std::string reason = name + " " + path + ": cannot write " + ending;
    if (result != foreign().end() && is_written(result->write)) {
        const std::string other = path.substr(0, path.size() - ending.size());
        throw attn::ConfigError(reason + ": write " + other + std::string(result->write) +
                                ", and " + std::string(result->maker) + " makes " + ending +
                                " of it");
    }
    const std::string list = form == "json" ? ".json" : listed(endings);
    throw attn::ConfigError(reason + "; use a name " +
                            (list.empty() ? "without that" : "that ends in " + list));
}

}  // namespace

std::filesystem::path real_path(const std::string& path) {
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::weakly_canonical(path, ignored);
    return real.empty() ? std::filesystem::path(path) : real;
}

void refuse_edited(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return;
    throw attn::OutputError(attn::visible(path) +
                            " exists and may have been edited: choose another name, or remove the "
                            "file first");
}

void check_written_files(const Arguments& arguments) {
    if (arguments.has(flags::format)) {
        const std::string name = arguments[flags::format];
        if (arguments.has(flags::json) && name != "json") {
            throw attn::ConfigError("--json and --format " + name +
                                    " contradict each other: leave one out");
        }
        const auto format = std::ranges::find(formats(), name, &Format::name);
        if (is_to_terminal(arguments) && format != formats().end() && !format->is_for_terminals()) {
            throw attn::ConfigError("--format " + name +
                                    " is not text for a terminal: pass -o FILE" +
                                    std::string(format->suffixes.front()) + " or a pipe");
        }
    }
    std::map<std::filesystem::path, std::string> written;
    for (const auto& [flag, text, implied] : arguments.specified()) {
        if (!flag->writes || text == "-") continue;
        std::error_code ignored;
        // A terminal or a pipe takes several.
        const bool is_stream = std::filesystem::exists(text, ignored) &&
                               !std::filesystem::is_regular_file(text, ignored);
        const auto [other, is_new] = written.emplace(real_path(text), flag->name);
        if (!is_new && !is_stream) {
            throw attn::ConfigError(other->second + " and " + flag->name + " both name " + text +
                                    ": give each a file of its own");
        }
        check_ending(arguments, *flag, text);
    }
}

Flag form_flag(const std::string& help, const char* forms) {
    return Flag{flags::format, "FORM", help, one_of(forms), "text"}.being(of_output).in_group(
        "Output");
}

std::string specified_form(const Arguments& arguments) {
    if (arguments.has(flags::json)) return "json";
    if (arguments.has(flags::format)) {
        const std::string name = arguments[flags::format];
        return name == "text" ? "" : name;
    }
    const Format* by_file = format_of_file(arguments[flags::output]);
    return by_file == nullptr ? "" : std::string(by_file->name);
}

const Format& format_of(const Arguments& arguments, attn::TextForm default_value) {
    const std::string value = specified_form(arguments);
    const bool numpy = default_value == attn::TextForm::numpy;
    const Format* format = &find_format(!value.empty() ? value : numpy ? "numpy" : "torch");
    // Lines of code among printed tensors are a program.
    const bool is_program =
        format->printed != nullptr && format->has_code && arguments.has(flags::code);
    return is_program ? find_format("python") : *format;
}

std::string as_text_or_json(const Arguments& arguments, const Printer& text, const Printer& json) {
    const Format& format = format_of(arguments);
    if (format.printed != nullptr) return text();
    if (format.name != "json") {
        const std::string path = arguments[flags::output];
        const bool by_file = format_of_file(path) == &format;
        throw attn::ConfigError(
            (by_file ? "-o " + path : "--format " + std::string(format.name)) +
            ": this is text, or JSON: " +
            (by_file ? "use a name that ends in .txt or .json" : "pass --json, or leave it out"));
    }
    const std::string result = json();
    return result.ends_with('\n') ? result : result + "\n";
}

void write_text_or_json(const Arguments& arguments, const Printer& text, const Printer& json) {
    write_text(arguments, as_text_or_json(arguments, text, json));
}

void write_text_or_json(const Arguments& arguments, const std::string& text,
                        const attn::JsonText& json) {
    write_text(arguments, as_text_or_json(
                              arguments, [&] { return text; }, [&] { return json.text; }));
}

bool wants_code(const Arguments& arguments) {
    return arguments.has(flags::code) || format_of(arguments).runs;
}

attn::CodeLanguage code_language(const Arguments& arguments, attn::CodeLanguage default_value) {
    if (!arguments.has(flags::code)) return default_value;
    return arguments[flags::code] == "torch" ? attn::CodeLanguage::torch
                                             : attn::CodeLanguage::numpy;
}

}  // namespace app
