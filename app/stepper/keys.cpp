#include "app/stepper/keys.hpp"

#include <array>
#include <cwchar>
#include <utility>

#define NCURSES_NOMACROS
#include <curses.h>

namespace app {
namespace {

constexpr std::array<std::pair<wint_t, const char*>, 17> named_keys{{{KEY_RIGHT, "Right"},
                                                                     {KEY_LEFT, "Left"},
                                                                     {KEY_UP, "Up"},
                                                                     {KEY_DOWN, "Down"},
                                                                     {KEY_SRIGHT, "Shift-Right"},
                                                                     {KEY_SLEFT, "Shift-Left"},
                                                                     {KEY_HOME, "Home"},
                                                                     {KEY_END, "End"},
                                                                     {KEY_PPAGE, "PgUp"},
                                                                     {KEY_NPAGE, "PgDn"},
                                                                     {KEY_BTAB, "Shift-Tab"},
                                                                     {KEY_ENTER, "Enter"},
                                                                     {KEY_BACKSPACE, "Backspace"},
                                                                     {KEY_F(1), "F1"},
                                                                     {KEY_RESIZE, "Resize"},
                                                                     {KEY_DC, "Delete"},
                                                                     {KEY_CANCEL, "Escape"}}};

constexpr std::array<std::pair<wint_t, const char*>, 7> control_keys{{{L'\t', "Tab"},
                                                                      {L'\r', "Enter"},
                                                                      {L'\n', "Enter"},
                                                                      {0x7f, "Backspace"},
                                                                      {0x08, "Backspace"},
                                                                      {0x1b, "Escape"},
                                                                      {0x0c, "Redraw"}}};

std::string utf8(wint_t character) {
    std::array<char, 16> bytes{};
    std::mbstate_t state{};
    const std::size_t length = std::wcrtomb(bytes.data(), static_cast<wchar_t>(character), &state);
    return length == static_cast<std::size_t>(-1) ? std::string()
                                                  : std::string(bytes.data(), length);
}

}  // namespace

Key read_key() {
    wint_t code = 0;
    const int kind = get_wch(&code);
    if (kind == ERR) return {"End of input", false};
    const auto& names = kind == KEY_CODE_YES ? std::pair(named_keys.data(), named_keys.size())
                                             : std::pair(control_keys.data(), control_keys.size());
    for (std::size_t i = 0; i < names.second; ++i) {
        if (names.first[i].first == code) return {names.first[i].second, false};
    }
    if (kind == KEY_CODE_YES || code < 0x20) return {};
    return {utf8(code), true};
}

}  // namespace app
