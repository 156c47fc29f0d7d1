// Stubs for the parts that the core leaves out: files, other models, notebooks.
#include <utf8proc.h>

#include "app/commands/walk.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "app/web/core.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/text/pattern.hpp"
#include "attn/judge/compare/other_shapes.hpp"
#include "attn/models/open_model.hpp"
#include "attn/show/render/page/page_files.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/svg.hpp"

extern "C" {
extern const char attn_attentions[], attn_laws[], attn_examples[];
const char attn_attentions[] = "", attn_laws[] = "", attn_examples[] = "";  // pages bring theirs

/// The page normalizes the words of the command line (NFC) before the core reads them.
utf8proc_ssize_t utf8proc_map(const utf8proc_uint8_t* text, utf8proc_ssize_t size,
                              utf8proc_uint8_t** result, utf8proc_option_t) {
    *result = static_cast<utf8proc_uint8_t*>(std::malloc(static_cast<std::size_t>(size) + 1));
    std::copy_n(text, size, *result);
    return size;
}
}

namespace attn {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw ConfigError(what + " is not on this page: run attn-explain itself");
}

}  // namespace

// --- the page's own files, which it already has

const std::string_view page_css, page_heads_css, page_dark_css, page_heads_js, page_js,
    page_compare_js, page_bounds_css, page_bounds_js, page_roles_css, page_roles_js, page_next_js,
    page_thumbs_css, page_thumbs_js, page_listing_css, page_listing_js, page_live_css, page_live_js,
    page_core, page_frame_css, page_plain_css, page_grid_js, page_plain_js;

// --- forms at other sizes: a live page has no attention files

std::vector<OtherShape> shapes_of(const Plan&) { return {}; }
std::optional<Plan> reshaped(const Plan&, const OtherShape&) { return std::nullopt; }

// --- files and patterns

InputFile::InputFile(const std::string& path, std::size_t) { refuse("the file " + path); }
InputFile::InputFile(std::string_view bytes, std::string label)
    : label_(std::move(label)), size_(bytes.size()), view_(bytes) {}
InputFile::Descriptor::~Descriptor() = default;
std::string_view InputFile::all() { return view_; }
std::string InputFile::text(std::uint64_t offset, std::size_t size) const {
    return std::string(view_.substr(offset, size));
}
void InputFile::read(std::uint64_t offset, char* to, std::size_t size) const {
    std::copy_n(view_.data() + offset, size, to);
}
std::uint64_t little_endian(std::string_view bytes, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
    return value;
}
Tensor read_tensor(const std::string& spec, const Sink&) { refuse("the file " + spec); }
NamedTensor read_named_tensor(const std::string& spec, const Sink&) { refuse("the file " + spec); }
std::vector<NamedTensor> read_tensors(const std::string& spec, const Sink&) {
    refuse("the file " + spec);
}
void write_file(const OutputPlace& place, std::string_view) { refuse("the file " + place.path); }
std::string file_label(const std::string& path) { return path; }
void write_npy(OutputFile&, const Tensor&) { refuse("an archive"); }
void write_npz(OutputFile&, const std::vector<TensorRef>&) { refuse("an archive"); }
std::string render_workbook(const Document&, OutputFile&) { refuse("a workbook"); }
void write_safetensors(OutputFile&, const std::vector<TensorRef>&) { refuse("an archive"); }
void write_long_table(const Sink&, const std::vector<TensorRef>&) { refuse("a table"); }

// --- other forms of a walk

std::string content_text(const Section&, TextForm, const PrintOptions&) { refuse("text"); }
void render_text(const Document&, TextForm, const PrintOptions&, Words, const Sink&) {
    refuse("text");
}
void render_text(const Document&, const ContentForm&, const PrintOptions&, Words, const Sink&) {
    refuse("text");
}
void render_markdown(const Document&, TextForm, const PrintOptions&, Words, const Sink&) {
    refuse("Markdown");
}
void render_ipynb(const Document&, TextForm, const PrintOptions&, const Sink&) {
    refuse("a notebook");
}
void draw_matrices(Svg&, const Document&, const Section&, const FigureChoices&) {
    refuse("a figure");
}
void draw_arcs(Svg&, const Document&, const Section&, const FigureChoices&) { refuse("a figure"); }
void draw_flow(Svg&, const Document&, const FigureChoices&) { refuse("a figure"); }
void draw_tiles(Svg&, const Document&, const Section&, const FigureChoices&) { refuse("a figure"); }
bool has_tiles(const Section&) { return false; }
void check_grid(const Document&, const TileGrid&) { refuse("a picture"); }

Pattern::Pattern(std::string_view text, const std::string&) {
    refuse("the pattern " + std::string(text));
}
std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view) const {
    return {};
}

// --- models: the page copies its model to this place

namespace models {
namespace {

char stories[(ATTN_STORIES_SIZE + ATTN_TOKENIZER_SIZE + 3) / 4 * 4];

}  // namespace

ATTN_EXPORT(attn_model) char* attn_model() { return stories; }

const std::string_view stories_bin(stories, ATTN_STORIES_SIZE);
const std::string_view stories_tokenizer(stories + ATTN_STORIES_SIZE, ATTN_TOKENIZER_SIZE);
std::string packed_stories() { return {}; }

Model open_model(const std::string& path, const std::string& tokenizer) {
    if (path != "stories" || !tokenizer.empty()) refuse("the model " + path);
    Model model = read_llama2c(std::make_shared<InputFile>(stories_bin, path));
    model.tokenizer =
        read_scored_tokenizer(InputFile(stories_tokenizer, path), model.architecture.vocab_size);
    return model;
}

}  // namespace models
}  // namespace attn

namespace app {

// --- sentences before a printed walk

std::vector<attn::Prose> opening_of(const Arguments&, const attn::Plan&) { return {}; }

/// A page has no standard input.
void note_unread_input(const Arguments&) {}
namespace {

const std::vector<Flag> no_flags;

}  // namespace

std::string written;

std::string environment(const char*) { return {}; }
std::optional<TerminalSize> terminal_size(int) { return std::nullopt; }
std::string folded(std::string_view text, std::size_t) { return std::string(text); }

void set_notebook_defaults(Arguments&) {}
Arguments with_config(Arguments typed) {
    return with_attentions(with_example(with_preset(std::move(typed))));
}
const std::vector<Flag>& notebook_walk_flags() { return no_flags; }
const std::vector<Flag>& config_flags() { return no_flags; }
void set_given_weights(const Arguments& arguments, attn::WalkConfig&) {
    if (arguments.has(flags::weights)) attn::refuse("--weights");
}
std::string next_command(const Arguments&, const attn::Plan&, const attn::Ledger&) { return {}; }

bool KeptOutput::is_kept() { return false; }
bool KeptOutput::is_for_file() { return false; }
void watch(const Arguments&, const WalkOnce&) { attn::refuse("--watch"); }
void write_steps(const Arguments&, const std::vector<attn::Section>&, const std::string&) {
    attn::refuse("a list of steps");
}

std::optional<std::size_t> terminal_columns(const Arguments&) { return std::nullopt; }
std::string list_entry(const Arguments&, std::string name, std::size_t, const std::string& words) {
    return name + "  " + words + "\n";
}
void write_text(const Arguments&, const std::string& text) { written += text; }
void write_document(const Arguments& arguments, const attn::Document& document,
                    attn::TextForm usual, attn::DType default_dtype) {
    const Format& format = format_of(arguments);
    if (!format.answers) attn::refuse("--format " + std::string(format.name));
    const auto gathered = with_gathered_code(format, document);
    format.render(gathered ? *gathered : document, text_choices(arguments, usual, default_dtype),
                  [](std::string_view text) { written += text; });
}

}  // namespace app
