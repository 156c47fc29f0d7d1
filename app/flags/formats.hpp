#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/atomic_file.hpp"
#include "attn/render/document.hpp"

namespace app {

/// What the text forms need to know beside the document.
struct TextChoices {
    attn::TextForm form = attn::TextForm::torch;
    attn::TextForm program_form = attn::TextForm::torch;  ///< what the lines of --code would print
    attn::PrintOptions options;
    attn::Words words = attn::Words::all;
};

/// One of the forms that --format names. Text is rendered piece by piece, binary data is written to
/// a file (which may be standard output); each format does one of the two.
struct Format {
    std::string_view name;
    void (*render)(const attn::Document&, const TextChoices&, const attn::Sink&);
    void (*write)(const attn::Document&, attn::OutputFile&);

    bool is_text() const { return render != nullptr; }
};

/// The format of that name.  Errors  ConfigError, listing the names there are.
const Format& find_format(std::string_view name);

/// The names of all formats.
std::vector<std::string> format_list();

/// The same for the help: `torch, numpy, ... or npz`.
std::string format_names();

}  // namespace app
