#pragma once
#include <string>

#include "app/stepper/frame.hpp"
#include "app/stepper/session.hpp"
#include "app/stepper/tensor_pane.hpp"

namespace app {

/// State of the screen beside the session.
struct ScreenState {
    std::string message{};   ///< on the last line, and on those above it that it needs
    bool is_typing = false;  ///< the last line is being typed
    std::string prompt{};    ///< before the typed text: `:`, `/`, `goto `
    std::string typed{};
    std::string page{};         ///< a text over everything: help, why, a list; or empty
    std::size_t page_line = 0;  ///< its first visible line
};

/// The screen of a session: title, formula and sentence above, the steps on the left, the tensor in
/// the middle, why of the cell below, and at the bottom hints, messages or what is typed. Whatever
/// is cut is marked.
///
/// Range  any size; from 20 columns and 6 rows on the cell is visible.
Frame draw_screen(const Session& session, const ScreenState& state, TensorPane& pane,
                  std::size_t rows, std::size_t columns, bool shaded);

/// How many lines the page over the screen has, broken to the columns.
std::size_t page_lines(const ScreenState& state, std::size_t columns);

}  // namespace app
