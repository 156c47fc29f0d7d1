#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/flags/output_flags.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/models/generate.hpp"
#include "attn/show/render/color_scale.hpp"

namespace app {

using TokenIds = std::vector<std::int64_t>;

/// A text written by a model, as `generate` prints it.
struct WrittenText {
    TokenIds prompt;
    std::vector<attn::models::WrittenToken> tokens;

    TokenIds ids() const;  ///< of the written text
};

/// Generates texts with the flags of `generate`, in float64 if texts are compared, so that rounding
/// does not decide between two tokens. Reads the model once for all texts.
class Writer {
public:
    using Emit = std::function<void(const attn::models::WrittenToken&)>;

    /// Errors  ConfigError naming the flag, or if the model generates no text.
    Writer(const Arguments& arguments, attn::models::Model& model);

    /// Generates the text, without a mistake by default. Calls `emit` with each token.
    WrittenText write(const attn::models::ModelMistake* mistake = nullptr,
                      const Emit& emit = {}) const;
    /// The model in float64.
    std::shared_ptr<const attn::models::Parameters<double>> precise() const;

private:
    const Arguments& arguments_;
    const attn::models::Model& model_;
    TokenIds prompt_;
    std::vector<attn::models::Without> without_;
    std::variant<std::shared_ptr<const attn::models::Parameters<float>>,
                 std::shared_ptr<const attn::models::Parameters<double>>>
        parameters_;
};

attn::models::Sampling sampling_of(const Arguments& arguments);

/// Returns the bytes of a token that follows `previous`; the id if the model has no tokenizer.
std::string piece_of(const attn::models::Model& model, std::int64_t id, std::int64_t previous);
std::string text_of_ids(const attn::models::Model& model, const TokenIds& ids);
std::string whole_text(const attn::models::Model& model, const WrittenText& written);

/// Returns a token alone, in quotes: `' upon'`.
std::string quoted(const attn::models::Model& model, std::int64_t id);

/// Returns the number of bytes at the end of a text that are the start of an incomplete character.
std::size_t unfinished(const std::string& text);

/// Aligns columns under their headings, each as wide as its longest word; columns from
/// `first_number` on are right-aligned.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t first_number);

/// A cell of a page with one coloured table, row by row.
struct ColoredCell {
    std::string text;
    double share = 0;  ///< of the scale
    attn::ScaleKind scale = attn::ScaleKind::from_zero;
    std::string description;  ///< what it is, shown if it is selected
    std::string command;      ///< that derives it
};
struct ColoredPage {
    std::string title, words;
    std::vector<std::string> head;
    std::function<std::string(std::size_t row)> name;
    std::vector<ColoredCell> cells;
    std::string from = "where it comes from";  ///< what the command of a cell shows
    std::optional<std::size_t> opened{};       ///< by default the cell with the strongest colour
};
std::string page_with(const ColoredPage& page, const std::string& command);

/// Returns the flags of a walk that select the same model, without a text.
Arguments walk_of_model(const Arguments& arguments);
/// Returns the flags of the walk through one layer of a model over the same text.
Arguments walk_of_layer(const Arguments& arguments, std::size_t layer);
/// Returns the command of that walk: `attn-explain ... --only 'weights[3]'`.
std::string layer_command(const Arguments& arguments, std::size_t layer, const std::string& only);

/// A token's probability after a text, `next` or `lens[3]`, perhaps without a part of the model.
struct TokenPlace {
    std::string place;
    std::int64_t token = 0;
    TokenIds ids{};  ///< by default the text of the flags
    std::string without{};
};
/// Returns the command that derives it: `attn-explain why 'next[ was]' ... --without 4.7`.
std::string why_token_command(const Arguments& arguments, const attn::models::Model& model,
                              const TokenPlace& at);

attn::Tensor array_of(const TokenIds& ids);

/// The forms of a result about a model: text, JSON, a page, and arrays.
struct ModelForms {
    Printer text, json, page;
    std::function<std::vector<attn::NamedTensor>()> arrays;
};
/// Writes the form that the flags select.
/// Errors  ConfigError for arrays without a .npz file in --output.
void write_form(const Arguments& arguments, const ModelForms& forms);

/// Returns tensors with their names, for writing.
std::vector<attn::TensorRef> refs_of(const auto& named) {
    return collected(named, [](const auto& each) -> attn::TensorRef {
        return {each.name, each.tensor};
    });
}

/// Returns the name of a model and its ablated parts: `stories without 4.attn`.
std::string name_of(const attn::models::Model& model);
/// Returns the prefix `stories without 4.attn: ` of a heading; empty for the whole model.
std::string if_left_out(const attn::models::Model& model);

/// Returns an object about a model, with these members after its first ones.
attn::JsonText json_of_model(
    const attn::models::Model& model,
    std::initializer_list<std::pair<std::string_view, attn::JsonText>> members = {},
    std::string_view between = ",\n ");
/// Returns an object with a text added.
attn::JsonText with_text(const attn::JsonText& json, const attn::models::Model& model,
                         const WrittenText& written);

/// Writes the texts of a model with and without the mistake of `--bug ID`.
void generate_with_bug(const Arguments& arguments, attn::models::Model& model);

}  // namespace app
