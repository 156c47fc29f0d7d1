#include "app/flags/output_flags.hpp"
#include "attn/files/io/input_file.hpp"

namespace app {
namespace {

constexpr std::size_t largest_picture = std::size_t{16} << 20U;

std::string base64(std::string_view bytes) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::string_view three = bytes.substr(i, 3);
        unsigned bits = 0;
        for (std::size_t n = 0; n < 3; ++n) {
            bits = bits << 8U | (n < three.size() ? static_cast<unsigned char>(three[n]) : 0U);
        }
        for (std::size_t n = 0; n < 4; ++n) {
            text += n <= three.size() ? digits[bits >> (18 - 6 * n) & 63U] : '=';
        }
    }
    return text;
}

/// Returns an image as a data URI.  Errors  InputError if it is neither png nor jpeg, or too large
/// to be part of a page.
std::string data_uri(const std::string& path) {
    attn::InputFile file(path, largest_picture);
    if (file.size() > largest_picture) {
        throw attn::InputError("--image " + file.label() + " is larger than 16 MB: scale it down");
    }
    const std::string_view bytes = file.all();
    const bool is_png = bytes.starts_with("\x89PNG\r\n\x1a\n");
    if (!is_png && !bytes.starts_with("\xff\xd8\xff")) {
        throw attn::InputError("--image " + file.label() + " is neither a png nor a jpeg image");
    }
    return std::string("data:image/") + (is_png ? "png" : "jpeg") + ";base64," + base64(bytes);
}

}  // namespace

std::optional<attn::TileGrid> tile_grid(const Arguments& arguments) {
    if (!arguments.has(flags::grid)) return std::nullopt;
    const std::string text = arguments[flags::grid];
    const std::vector<std::string> sides = split(text, 'x');
    if (sides.size() != 2) {
        throw attn::ConfigError("--grid " + text +
                                " is not a size: write rows and columns of patches, as 14x14");
    }
    const auto side = [](const std::string& number) {
        return static_cast<std::size_t>(parse_integer(flags::grid.text, number, 1, 1000));
    };
    attn::TileGrid grid{side(sides[0]), side(sides[1])};
    if (arguments.has(flags::image)) grid.picture = data_uri(arguments[flags::image]);
    return grid;
}

}  // namespace app
