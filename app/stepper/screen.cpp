#include <langinfo.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstring>
#include <cwchar>
#include <map>
#include <utility>

#include "app/stepper/layout.hpp"
#include "app/stepper/step_commands.hpp"
#include "app/terminal/terminal.hpp"

// As macros, curses would define words such as move and erase.
#define NCURSES_NOMACROS
#include <curses.h>

namespace app {
namespace {

/// Makes UTF-8 the character encoding, whatever the locale is; nothing else follows the locale.
void choose_characters() {
    if (std::setlocale(LC_CTYPE, "") != nullptr &&
        std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0) {
        return;
    }
    std::setlocale(LC_CTYPE, "C.UTF-8");
}

/// The terminal under ncurses, from constructor to destructor.
class Terminal {
public:
    Terminal() {
        choose_characters();
        set_escdelay(25);
        screen_ = newterm(nullptr, stdout, stdin);
        if (screen_ == nullptr) {
            throw attn::ConfigError("this terminal cannot show a full screen: pass --lines");
        }
        cbreak();
        noecho();
        nonl();
        keypad(stdscr, TRUE);
        curs_set(0);
        if (has_colors()) {
            start_color();
            use_default_colors();
        }
        guard_.watch(leaving_sequence());
    }
    ~Terminal() {
        curs_set(1);
        endwin();
        delscreen(screen_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    static std::size_t rows() { return static_cast<std::size_t>(std::max(getmaxy(stdscr), 1)); }
    static std::size_t columns() { return static_cast<std::size_t>(std::max(getmaxx(stdscr), 1)); }

    void paint(const Frame& frame) {
        erase();
        const std::size_t count = std::min(frame.lines.size(), rows());
        for (std::size_t y = 0; y < count; ++y) {
            ::move(static_cast<int>(y), 0);
            for (const Span& span : fitted_line(frame.lines[y], columns())) {
                const int pair = span.look.background ? pair_of(*span.look.background) : 0;
                attr_set(attributes(span.look), static_cast<short>(pair), nullptr);
                addstr(span.text.c_str());
            }
        }
        attr_set(A_NORMAL, 0, nullptr);
        curs_set(frame.typing_column ? 1 : 0);
        if (frame.typing_column) {
            ::move(static_cast<int>(count) - 1, static_cast<int>(*frame.typing_column));
        }
        refresh();
    }

private:
    static attr_t attributes(const Look& look) {
        return (look.bold ? A_BOLD : A_NORMAL) | (look.reverse ? A_REVERSE : A_NORMAL) |
               (look.underline ? A_UNDERLINE : A_NORMAL) | (look.dim ? A_DIM : A_NORMAL);
    }

    /// The colour pair for a background; 0 if the terminal has too few colours to shade.
    int pair_of(attn::Color background) {
        if (COLORS < 256) return 0;
        const int back = color_index(background);
        const auto [place, is_new] = pairs_.try_emplace(back, 1 + static_cast<int>(pairs_.size()));
        if (is_new) {
            init_pair(static_cast<short>(place->second),
                      static_cast<short>(color_index(attn::readable_on(background))),
                      static_cast<short>(back));
        }
        return place->second;
    }

    TerminalGuard guard_;
    SCREEN* screen_ = nullptr;
    std::map<int, int> pairs_;
};

/// A key press: a character, or the name of another key.
struct Key {
    std::string name;  ///< `n`, `ä`, `Enter`, `Shift-Tab`, `Resize`; empty for unused keys
    bool is_character = false;
};

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

/// Waits for a key.
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
    return {attn::utf8_of(static_cast<std::int32_t>(code)), true};
}

/// Removes the last character of UTF-8 text.
void remove_last(std::string& text) {
    while (!text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
}

/// Steps through a session by keys.
class Player {
public:
    Player(Session& session, bool shaded) : session_(session), shaded_(shaded) {}

    void play() {
        while (!ended_) {
            terminal_.paint(draw_screen(session_, state_, pane_, Terminal::rows(),
                                        Terminal::columns(), shaded_));
            const Key key = read_key();
            if (key.name == "End of input") return;
            if (key.name == "Redraw") clearok(curscr, TRUE);
            if (key.name.empty() || key.name == "Resize" || key.name == "Redraw") continue;
            state_.message.clear();
            if (state_.is_typing) {
                type(key);
            } else if (!state_.page.empty()) {
                scroll(key);
            } else {
                press(key);
            }
        }
    }

private:
    void type(const Key& key) {
        if (key.is_character) {
            state_.typed += key.name;
        } else if (key.name == "Backspace" && !state_.typed.empty()) {
            remove_last(state_.typed);
        } else if (key.name == "Tab") {
            complete();
        } else if (key.name == "Escape" || key.name == "Backspace") {
            state_.is_typing = false;
        } else if (key.name == "Enter") {
            state_.is_typing = false;
            if (!state_.typed.empty()) run(command_ + state_.typed);
        }
    }

    /// Completes the last word to the first step with that prefix, as goto does.
    void complete() {
        const std::size_t start = state_.typed.find_last_of(" ,") + 1;
        if (command_.empty() && start == 0) return;
        for (const attn::Section& section : session_.sections()) {
            if (!section.name.starts_with(state_.typed.substr(start))) continue;
            state_.typed.replace(start, std::string::npos, section.name);
            return;
        }
    }

    void scroll(const Key& key) {
        const std::size_t visible = Terminal::rows() - 1;
        const std::size_t lines = page_lines(state_, Terminal::columns());
        const std::size_t last = lines > visible ? lines - visible : 0;
        std::size_t& line = state_.page_line;
        const auto up = [&](std::size_t by) { line -= std::min(line, by); };
        if (key.name == "Down" || key.name == "j") {
            ++line;
        } else if (key.name == "PgDn" || key.name == " ") {
            line += visible;
        } else if (key.name == "Up" || key.name == "k") {
            up(1);
        } else if (key.name == "PgUp") {
            up(visible);
        } else {
            state_.page.clear();
            line = 0;
            return;
        }
        line = std::min(line, last);
    }

    void press(const Key& key) {
        const bool was_requested = std::exchange(quit_requested_, false);
        if (key.name == ":") return ask(":", "");
        if (key.name == "PgDn" || key.name == "PgUp") {
            const auto by = static_cast<std::ptrdiff_t>(pane_.visible_rows());
            session_.move(key.name == "PgDn" ? by : -by, 0);
            return;
        }
        if (goes_over_the_edge(key)) return;
        for (const StepCommand& command : step_commands()) {
            if (!has_key(command, key.name == " " ? "Space" : key.name)) continue;
            const bool asks = !command.arguments.empty() && command.arguments.front() != '[';
            if (asks) return ask(command.name + " ", command.name + " ");
            if (command.name == "quit" && session_.can_undo() && !was_requested) {
                quit_requested_ = true;
                state_.message = "settings were changed: q again quits, any other key continues";
                return;
            }
            return run(command.name);
        }
        state_.message = "'" + key.name + "' does nothing here: ? lists the keys";
    }

    /// At the edge of the tensor, Right and Left move to the next step and the previous one.
    bool goes_over_the_edge(const Key& key) {
        const bool right = key.name == "Right";
        if (!right && key.name != "Left") return false;
        const std::vector<std::size_t> cursor = session_.cursor();
        const std::size_t last = cursor.empty() ? 0 : session_.tensor()->shape().back() - 1;
        if (!cursor.empty() && cursor.back() != (right ? last : 0)) return false;
        run(right ? "next" : "previous");
        return true;
    }

    void ask(const std::string& prompt, const std::string& command) {
        state_.is_typing = true;
        state_.prompt = prompt;
        state_.typed.clear();
        command_ = command;
    }

    void run(const std::string& line) {
        try {
            const Reply reply = perform(session_, line);
            ended_ = reply.shows == Reply::Shows::end;
            if (reply.shows == Reply::Shows::page) {
                state_.page = reply.text;
                state_.page_line = 0;
            } else {
                state_.message = reply.text;
            }
        } catch (const attn::Error& error) {
            state_.message = error.what();
        }
    }

    Session& session_;
    bool shaded_;
    Terminal terminal_;
    TensorPane pane_;
    ScreenState state_;
    std::string command_;
    bool quit_requested_ = false;  ///< q was pressed once, and the settings had been changed
    bool ended_ = false;
};

}  // namespace

void step_on_screen(Session& session, bool shaded) { Player(session, shaded).play(); }

}  // namespace app
