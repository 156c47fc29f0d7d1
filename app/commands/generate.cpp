#include "app/commands/written_text.hpp"

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/show/render/svg.hpp"
#include "attn/version.hpp"

namespace app {

using attn::models::Architecture;
using attn::models::Candidate;
using attn::models::Model;
using attn::models::ModelMistake;
using attn::models::Parameters;
using attn::models::Runtime;
using attn::models::Sampler;
using attn::models::Sampling;
using attn::models::WrittenToken;

namespace {

attn::JsonText token_json(const Model& model, const WrittenToken& token) {
    const auto piece = [&](std::int64_t id) {
        return model.tokenizer ? model.tokenizer->label(id) : "";
    };
    const attn::JsonText json{
        {"id", token.id}, {"piece", piece(token.id)}, {"probability", token.probability}};
    std::vector<attn::JsonText> likeliest;
    for (const auto& [id, logit, probability] : token.likeliest) {
        likeliest.push_back(
            {{"id", id}, {"piece", piece(id)}, {"probability", probability}, {"logit", logit}});
    }
    return likeliest.empty() ? json : json.with("top", {likeliest, ", "});
}

std::string heading(const Arguments& arguments, const Model& model) {
    const Architecture& a = model.architecture;
    const Sampling sampling = sampling_of(arguments);
    std::string text =
        fmt::format("# {}: {} layers, {} heads ({} key/value heads), head_dim {}, {} tokens\n",
                    name_of(model), a.layers.size(), a.heads, a.kv_heads, a.head_dim, a.vocab_size);
    text += sampling.temperature == 0
                ? std::string("# Each token is the likeliest one.\n")
                : fmt::format("# Tokens are drawn: temperature {}, seed {}.\n",
                              sampling.temperature, sampling.seed);
    return text;
}

/// Formats one line of --top: the token, its probability, and the likeliest tokens.
std::string line_of(const Model& model, std::size_t position, const WrittenToken& token) {
    std::string line =
        fmt::format("{:4}  {:>10}  {:.4f} |", position, quoted(model, token.id), token.probability);
    for (const Candidate& each : token.likeliest) {
        line += fmt::format("  {} {:.4f}", quoted(model, each.id), each.probability);
    }
    return line + "\n";
}

/// Prints a text as it is generated, or the lines of --top.
void stream(const Arguments& arguments, Model& model) {
    Pager::forbid();
    StandardOutput output;
    const bool table = arguments.has(flags::likeliest);
    if (!arguments.has(flags::no_notes)) output.write(heading(arguments, model));
    const TokenIds prompt = prompt_of(arguments, model);
    std::string waiting = table ? "" : text_of_ids(model, prompt);
    std::int64_t previous = prompt.empty() ? -1 : prompt.back();
    std::size_t position = prompt.size();
    const auto flush = [&](std::size_t kept) {
        output.write(attn::visible_lines(waiting.substr(0, waiting.size() - kept), false));
        output.flush();
        waiting.erase(0, waiting.size() - kept);
    };
    Writer(arguments, model).write(nullptr, [&](const WrittenToken& token) {
        waiting += table ? line_of(model, position++, token) : piece_of(model, token.id, previous);
        previous = token.id;
        flush(unfinished(waiting));
    });
    if (!table) waiting += "\n";
    flush(0);
}

/// Renders a table with a row for each token: the token itself and the likeliest ones at that
/// place, coloured by their probabilities.
std::string page_of_text(const Arguments& arguments, Model& model) {
    Arguments with_likeliest = arguments;
    if (!arguments.has(flags::likeliest)) with_likeliest.set(flags::likeliest, "5");
    const WrittenText written = Writer(with_likeliest, model).write();
    const double temperature = sampling_of(arguments).temperature;
    const std::size_t count = written.tokens.empty() ? 0 : written.tokens[0].likeliest.size();
    ColoredPage page{"A text, token by token",
                     if_left_out(model) + whole_text(model, written),
                     {"written"},
                     [&](std::size_t row) { return quoted(model, written.tokens[row].id); },
                     {},
                     temperature == 0 || temperature == 1
                         ? "where it comes from"
                         : "where it comes from, at temperature 1"};
    for (std::size_t i = 1; i <= count; ++i) page.head.push_back(fmt::format("likeliest {}", i));
    TokenIds before = written.prompt;
    for (const WrittenToken& token : written.tokens) {
        const auto add = [&](std::int64_t id, double probability, const std::string& text) {
            page.cells.push_back({text, probability, attn::ScaleKind::from_zero,
                                  fmt::format("after {}: {} {:.4f}", quoted(model, before.back()),
                                              quoted(model, id), probability),
                                  why_token_command(arguments, model, {"next", id, before})});
        };
        add(token.id, token.probability, fmt::format("{:.4f}", token.probability));
        for (const Candidate& each : token.likeliest) {
            add(each.id, each.probability,
                fmt::format("{} {:.4f}", quoted(model, each.id), each.probability));
        }
        before.push_back(token.id);
    }
    return page_with(page, command_line("generate", arguments));
}

int run_generate(const Arguments& arguments) {
    Model model = model_of(arguments);
    if (arguments.has(flags::bugs)) {
        if (arguments.has(flags::without)) {
            throw attn::ConfigError(
                "--bug and --without both change the model: leave one of them out");
        }
        generate_with_bug(arguments, model);
        return 0;
    }
    if (specified_form(arguments) == "html") {
        write_text(arguments, page_of_text(arguments, model));
        return 0;
    }
    const auto write = [&] { return Writer(arguments, model).write(); };
    const auto text = [&]() -> std::string {
        if (!arguments.has(flags::output)) {
            stream(arguments, model);
            return "";
        }
        if (arguments.has(flags::likeliest)) {
            throw attn::ConfigError("--top has no effect on a text in a file: add --json");
        }
        return whole_text(model, write()) + "\n";
    };
    write_text_or_json(arguments, text,
                       [&] { return with_text(json_of_model(model), model, write()).text; });
    return 0;
}

std::vector<std::string> model_bugs() {
    return collected(attn::models::model_mistakes(), &ModelMistake::id);
}
std::vector<Flag> generate_flags() {
    return grouped(
        "Writing",
        {
            {flags::tokens, "N", "maximum number of tokens to write", integer(1, 1'000'000), "100"},
            {flags::temperature, "X",
             "divide the logits by this number before a token is drawn; 0: always the likeliest",
             number(), "0; 1 with --top-k, --top-p or --seed"},
            {flags::top_k, "N", "draw among the N likeliest tokens", integer(1), "all"},
            {flags::top_p, "X", "draw among the likeliest tokens whose probabilities add up to X",
             number(), "1"},
            {flags::seed, "N", "seed of the random numbers", integer(0), "42"},
            {flags::likeliest, "N",
             "print one line per token, with the N likeliest and their probabilities",
             integer(1, 1000)},
            {flags::dtype, "TYPE", "type of the arithmetic", one_of("float32 float64"),
             "float32; float64 with a mistake"},
            {flags::bugs, "ID", "write the text twice, without and with a mistake in the model",
             such_as(model_bugs)},
            Flag{flags::no_notes, "", "print only the text"}.with_short_name("-q"),
            form_flag("text; json; html: a page with the likeliest tokens at each place",
                      "text json html"),
        });
}

}  // namespace

TokenIds WrittenText::ids() const { return collected(tokens, &WrittenToken::id); }

Sampling sampling_of(const Arguments& arguments) {
    Sampling sampling;
    const bool samples = arguments.has_any({flags::top_k, flags::top_p, flags::seed});
    sampling.temperature = arguments[flags::temperature].value_or(samples ? 1 : 0);
    if (!(sampling.temperature >= 0)) {
        throw attn::ConfigError(
            fmt::format("--temperature must be 0 (always the likeliest token) or more, not {}",
                        sampling.temperature));
    }
    sampling.top_k = arguments[flags::top_k].value_or(sampling.top_k);
    sampling.top_p = arguments[flags::top_p].value_or(sampling.top_p);
    if (!(sampling.top_p > 0 && sampling.top_p <= 1)) {
        throw attn::ConfigError(
            fmt::format("--top-p must be above 0 and at most 1, not {}", sampling.top_p));
    }
    sampling.seed = arguments[flags::seed];
    return sampling;
}

Writer::Writer(const Arguments& arguments, Model& model) : arguments_(arguments), model_(model) {
    if (!model.architecture.causal) {
        throw attn::ConfigError(model.label + " is a " + model.architecture.family +
                                ", which fills in gaps and writes no text: use heads, or a walk");
    }
    prompt_ = prompt_of(arguments, model);
    without_ = without_of(arguments, model);
    const bool precise = arguments.has(flags::dtype) ? arguments[flags::dtype] == "float64"
                                                     : arguments.has(flags::bugs);
    report_cost(arguments, model,
                {prompt_.size() + static_cast<std::size_t>(arguments[flags::most_tokens]),
                 {},
                 attn::models::KeepWeights::all,
                 precise ? sizeof(double) : sizeof(float)});
    if (precise) {
        parameters_ = parameters_of<double>(model);
    } else {
        parameters_ = parameters_of<float>(model);
    }
}

WrittenText Writer::write(const ModelMistake* mistake, const Emit& emit) const {
    WrittenText written{prompt_, {}};
    Sampler sampler(sampling_of(arguments_));
    const auto count = static_cast<std::size_t>(arguments_[flags::most_tokens]);
    const auto top = static_cast<std::size_t>(arguments_[flags::likeliest].value_or(0));
    const auto keep = [&](const WrittenToken& token) {
        written.tokens.push_back(token);
        if (emit) emit(token);
    };
    std::visit(
        [&](const auto& parameters) {
            Runtime runtime(parameters, mistake,
                            attn::models::edits_of(without_, model_.architecture));
            generate(runtime, prompt_, count, sampler, top, keep);
        },
        parameters_);
    return written;
}

std::shared_ptr<const Parameters<double>> Writer::precise() const {
    using Precise = std::shared_ptr<const Parameters<double>>;
    const auto* const read = std::get_if<Precise>(&parameters_);
    return read != nullptr ? *read : parameters_of<double>(model_);
}

std::string piece_of(const Model& model, std::int64_t id, std::int64_t previous) {
    if (model.tokenizer == nullptr) return (previous < 0 ? "" : " ") + std::to_string(id);
    return model.tokenizer->piece(id, previous);
}

std::string text_of_ids(const Model& model, const TokenIds& ids) {
    return model.tokenizer ? attn::models::text_of(*model.tokenizer, ids)
                           : fmt::format("{}", fmt::join(ids, " "));
}

std::string whole_text(const Model& model, const WrittenText& written) {
    TokenIds all = written.prompt;
    std::ranges::copy(written.ids(), std::back_inserter(all));
    return text_of_ids(model, all);
}

std::string quoted(const Model& model, std::int64_t id) {
    return model.tokenizer == nullptr ? std::to_string(id) : "'" + model.tokenizer->label(id) + "'";
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t first_number) {
    std::vector<std::size_t> widths(rows[0].size());
    for (const auto& row : rows) {
        for (std::size_t c = 0; c < row.size(); ++c) {
            widths[c] = std::max(widths[c], attn::display_width(row[c]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            line += (c > 0 ? "  " : "") + attn::fitted(row[c], widths[c], c >= first_number);
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

attn::Tensor array_of(const TokenIds& ids) {
    attn::Array<std::int64_t> cells = attn::empty_array<std::int64_t>({ids.size()});
    std::ranges::copy(ids, cells.data());
    return {{"token"}, std::move(cells)};
}

void write_form(const Arguments& arguments, const ModelForms& forms) {
    const std::string form = specified_form(arguments), path = arguments[flags::output];
    if (form == "html") return write_text(arguments, forms.page());
    if (form != "npz") return write_text_or_json(arguments, forms.text, forms.json);
    const std::vector<attn::NamedTensor> arrays = forms.arrays();
    if (path.empty() || path == "-") {
        throw attn::ConfigError("--format npz writes a file: pass -o with a name in .npz");
    }
    std::vector<attn::TensorRef> named;
    for (const attn::NamedTensor& each : arrays) {
        named.push_back({each.name, each.tensor});
        const std::string before(attn::former_name(each.name));
        if (!before.empty()) named.push_back({before, each.tensor});
    }
    attn::OutputSet set;
    attn::OutputFile file(set.file(path));
    attn::write_npz(file, named);
    file.commit();
    set.commit();
}

std::size_t unfinished(const std::string& text) {
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xC0U) == 0x80U) continue;
        const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

attn::JsonText with_text(const attn::JsonText& json, const Model& model,
                         const WrittenText& written) {
    std::vector<attn::JsonText> tokens;
    for (const WrittenToken& token : written.tokens) tokens.push_back(token_json(model, token));
    return json.with("prompt", written.prompt, ",\n ")
        .with("text", whole_text(model, written), ",\n ")
        .with("tokens", tokens, ",\n ");
}

std::string name_of(const Model& model) {
    return model.label + (model.left_out.empty() ? "" : " without ") +
           attn::joined(model.left_out, ", ");
}

std::string if_left_out(const Model& model) {
    return model.left_out.empty() ? "" : name_of(model) + ": ";
}

attn::JsonText json_of_model(
    const Model& model, std::initializer_list<std::pair<std::string_view, attn::JsonText>> members,
    std::string_view between) {
    attn::JsonText json{{{"attn_explain", attn::version()}, {"model", model.label}}, ",\n "};
    if (!model.left_out.empty()) json = json.with("without", model.left_out, ",\n ");
    for (const auto& [key, value] : members) json = json.with(key, value, between);
    return json;
}

Command generate_command() {
    return {"generate",
            "write text with a model, with or without a mistake",
            {table<generate_flags>, model_flags, run_flags, json_flags, file_flags},
            run_generate,
            {{"attn-explain generate --text 'Once upon a time'", "Continues a text."},
             {"attn-explain generate --top 3 -o text.html",
              "A page with the three likeliest tokens at each place."},
             {"attn-explain generate --bug rope-theta", "The same model with a mistake."}}};
}

}  // namespace app
