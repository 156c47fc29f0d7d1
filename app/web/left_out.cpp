// Stand-ins for the rooms that the core leaves out: files, other models, notebooks, BLAS and
// the tables of Unicode, which the browser has.
#include <fmt/format.h>
#include <utf8proc.h>

#include <cmath>
#include <numbers>

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
#include "attn/models/open_model.hpp"
#include "attn/show/render/page/page_files.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/svg.hpp"

// --- numbers as text

namespace {

/// The shortest digits, laid out as C++ does: `1.25e-05`, or without an exponent.
template <class Number>
char* write_digits(char* out, Number value, bool is_fixed) {
    if (std::signbit(value)) *out++ = '-';
    const auto decimal = value == 0 ? fmt::detail::dragonbox::decimal_fp<Number>{0, 0}
                                    : fmt::detail::dragonbox::to_decimal(std::abs(value));
    const std::string digits = std::to_string(decimal.significand);
    const int behind = static_cast<int>(digits.size()) - 1 + decimal.exponent;
    std::string text = digits;
    if (!is_fixed) {
        if (digits.size() > 1) text.insert(1, ".");
        text += fmt::format("e{}{:02}", behind < 0 ? '-' : '+', std::abs(behind));
    } else if (decimal.exponent >= 0) {
        // As many digits as the number has, not zeros behind the shortest ones.
        text = fmt::format("{:.0f}", std::abs(static_cast<double>(value)));
    } else if (behind >= 0) {
        text.insert(static_cast<std::size_t>(behind) + 1, ".");
    } else {
        text = "0." + std::string(static_cast<std::size_t>(-behind) - 1, '0') + digits;
    }
    return std::copy(text.begin(), text.end(), out);
}

}  // namespace

std::to_chars_text std::to_chars(char* begin, char*, double value, chars_format format) {
    return {write_digits(begin, value, format == chars_format::fixed)};
}
std::to_chars_text std::to_chars(char* begin, char*, float value, chars_format format) {
    return {write_digits(begin, value, format == chars_format::fixed)};
}

// --- sine and cosine of float32 as the GNU C library computes them, to the last bit

namespace {

/// Source  ARM's optimized routines, sinf and cosf: a polynomial of float64 within an octant.
float swing(float angle, int quarter) {
    const double eighth = std::numbers::pi / 4;
    double x = angle;
    if (std::abs(x) >= 120) return static_cast<float>(quarter == 0 ? std::sin(x) : std::cos(x));
    if (std::abs(x) < 0x1p-12) return quarter == 0 ? angle : 1.0F;
    double sign = 1;
    if (std::abs(x) >= static_cast<float>(eighth)) {
        const double turns = x * 0x1.45F306DC9C883p+23;
        const int octant = (static_cast<int>(turns) + 0x800000) >> 24;
        x = std::fma(-octant, 2 * eighth, x);
        if (((octant + 1) & 2) != 0) x = -x;
        if ((octant & 2) != 0) sign = -1;
        quarter ^= octant & 1;
    }
    const double square = x * x;
    if (quarter == 0) {
        const double cube = x * square;
        const double late = 0x1.1107605230bc4p-7 + square * -0x1.994eb3774cf24p-13;
        return static_cast<float>(x + cube * -0x1.555545995a603p-3 + cube * square * late);
    }
    const double fourth = square * square;
    const double late = -0x1.6c087e89a359dp-10 + square * 0x1.99343027bf8c3p-16;
    const double early = 1 + square * -0x1.ffffffd0c621cp-2;
    return static_cast<float>(sign *
                              (early + fourth * 0x1.55553e1068f19p-5 + fourth * square * late));
}

}  // namespace

extern "C" float sinf(float angle) { return swing(angle, 0); }
extern "C" float cosf(float angle) { return swing(angle, 1); }

// --- Unicode

extern "C" {
extern const char attn_attentions[];
const char attn_attentions[] = "";  // pages bring the text of theirs

/// The properties of a character from the page (core.js): 'c' its category, as utf8proc counts
/// them, 'l' its small letter, 'r' whether it is written from right to left, 'w' its columns.
__attribute__((import_module("page"), import_name("letter"))) int page_letter(int what, int point);

utf8proc_category_t utf8proc_category(utf8proc_int32_t point) {
    return static_cast<utf8proc_category_t>(page_letter('c', point));
}
utf8proc_int32_t utf8proc_tolower(utf8proc_int32_t point) {
    return point < 128 ? std::tolower(point) : page_letter('l', point);
}
int utf8proc_charwidth(utf8proc_int32_t point) { return point < 128 ? 1 : page_letter('w', point); }

const utf8proc_property_t* utf8proc_get_property(utf8proc_int32_t point) {
    static utf8proc_property_t property;
    const bool is_right = point >= 128 && page_letter('r', point) != 0;
    property.bidi_class = is_right ? UTF8PROC_BIDI_CLASS_R : UTF8PROC_BIDI_CLASS_L;
    return &property;
}

/// A mark, a joiner and what stands behind one go with the character before.
utf8proc_bool utf8proc_grapheme_break_stateful(utf8proc_int32_t before, utf8proc_int32_t point,
                                               utf8proc_int32_t*) {
    constexpr utf8proc_int32_t joiner = 0x200D;
    if (before < 128 && point < 128) return true;
    const utf8proc_category_t category = utf8proc_category(point);
    const bool is_mark = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
    return !is_mark && point != joiner && before != joiner;
}

/// The page composes the words of the command line before the core reads them.
utf8proc_ssize_t utf8proc_map(const utf8proc_uint8_t* text, utf8proc_ssize_t size,
                              utf8proc_uint8_t** made, utf8proc_option_t) {
    *made = static_cast<utf8proc_uint8_t*>(std::malloc(static_cast<std::size_t>(size) + 1));
    std::copy_n(text, size, *made);
    return size;
}

utf8proc_ssize_t utf8proc_iterate(const utf8proc_uint8_t* text, utf8proc_ssize_t size,
                                  utf8proc_int32_t* point) {
    const int first = text[0];
    const int length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    *point = -1;
    if (length > size || (first >= 0x80 && first < 0xC2)) return UTF8PROC_ERROR_INVALIDUTF8;
    *point = length == 1 ? first : first & (0xFF >> (length + 1));
    for (int i = 1; i < length; ++i) *point = *point << 6 | (text[i] & 0x3F);
    return length;
}

utf8proc_ssize_t utf8proc_encode_char(utf8proc_int32_t point, utf8proc_uint8_t* out) {
    const int length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int i = length; i-- > 1; point >>= 6) {
        out[i] = static_cast<utf8proc_uint8_t>(0x80 | (point & 0x3F));
    }
    const int lead = length == 1 ? 0 : 0xF00 >> length & 0xFF;
    out[0] = static_cast<utf8proc_uint8_t>(lead | point);
    return length;
}

}  // extern "C"

namespace attn {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw ConfigError(what + " is not on this page: run attn-explain itself");
}

}  // namespace

// --- the page's own files, which it has already

const std::string_view page_css, page_heads_css, page_dark_css, page_heads_js, page_js,
    page_live_css, page_live_js, page_core;

// --- products, which only the variants beside loop take

void prepare_blas(std::size_t) {}

template <class T>
void blas_multiply(const T* a, std::size_t a_stride, const T* b, T* result,
                   std::size_t result_stride, std::size_t m, std::size_t k, std::size_t n,
                   Second second) {
    const bool transposed = second == Second::transposed;
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            T sum = 0;
            for (std::size_t p = 0; p < k; ++p) {
                sum += a[i * a_stride + p] * (transposed ? b[j * k + p] : b[p * n + j]);
            }
            result[i * result_stride + j] = sum;
        }
    }
}
template void blas_multiply(const float*, std::size_t, const float*, float*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);
template void blas_multiply(const double*, std::size_t, const double*, double*, std::size_t,
                            std::size_t, std::size_t, std::size_t, Second);

// --- files and patterns

InputFile::InputFile(const std::string& path) { refuse("the file " + path); }
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

Pattern::Pattern(std::string_view text, const std::string&) {
    refuse("the pattern " + std::string(text));
}
std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view) const {
    return {};
}

// --- models: the page lays the one that it holds here

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
namespace {

const std::vector<Flag> no_flags;

}  // namespace

std::string written;

std::string environment(const char*) { return {}; }
std::optional<TerminalSize> terminal_size(int) { return std::nullopt; }
std::string folded(std::string_view text, std::size_t) { return std::string(text); }

void put_notebook_under(Arguments&) {}
Arguments with_config(Arguments typed) { return with_attentions(with_preset(std::move(typed))); }
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
