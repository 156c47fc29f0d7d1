#pragma once
#include <functional>
#include <string>

#include "attn/document/document.hpp"

namespace attn {

/// Which printed form tensors take.
enum class TextForm { torch, numpy, plain };

/// Whether the words around the tensors are printed.
enum class Words { all, none };

/// The printed content of a section: its tensor in that form, or its text.
std::string content_text(const Section& section, TextForm form, const PrintOptions& options);

/// The same, written in pieces: the memory it takes does not grow with the tensor.
void write_content(TextPieces& text, const Section& section, TextForm form,
                   const PrintOptions& options);

/// Writes the shown sections as text, one blank line apart. The memory that the renderers take does
/// not grow with the tensors; each piece of text is at most some 256 kB long.
void render_text(const Document& document, TextForm form, const PrintOptions& options, Words words,
                 const Sink& sink);

/// The same with another form for what stands between the words, which ends without a line break.
using ContentForm = std::function<std::string(const Section&)>;
void render_text(const Document& document, const ContentForm& form, const PrintOptions& options,
                 Words words, const Sink& sink);

/// Writes the shown sections as a Markdown page: a heading each, the formula as code, the notes as
/// prose and the tensors in fences.
void render_markdown(const Document& document, TextForm form, const PrintOptions& options,
                     Words words, const Sink& sink);

/// Writes the document as one JSON object: version, config and every section with its tensor.
/// Numbers are the shortest text that reads back to the same bits; nan, inf and -inf are strings.
void render_json(const Document& document, const Sink& sink);

/// `[0,4,1]`
template <class Numbers>
std::string json_numbers(const Numbers& numbers) {
    std::string text;
    for (const auto number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return "[" + text + "]";
}
/// The tokens of queries and keys, one list for each sequence: `{"query":[["a","b"]],"key":...}`.
std::string json_tokens(const Document& document, std::string (*shown)(std::string_view) = nullptr);

}  // namespace attn
