#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "app/terminal/terminal.hpp"
#include "attn/text/ink.hpp"

namespace app {

/// Where a tour is made: who reads it, and from where the answers come.
struct TourSetting {
    std::size_t first = 1;  ///< number of the first page
    /// A person at a terminal, who is asked and can go back; else the pages follow each other, and
    /// each takes one line of what is read.
    std::optional<TerminalSize> screen{};
    attn::Ink ink{};
    std::function<std::optional<std::string>()> read;  ///< the next line; nothing at the end
    std::function<void(const std::string&)> write;
};

/// Shows the pages from the first one on.
void make_tour(const TourSetting& setting);

}  // namespace app
