#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "app/terminal/pager.hpp"

namespace app {

/// Thrown when the reader of standard output has closed the pipe, or left the pager.
class ClosedPipe : public std::exception {};

/// Standard output, written in large pieces. What is longer than the screen of a terminal goes
/// through a pager.
///
/// Errors  OutputError with the system's reason; ClosedPipe when nobody reads any more.
class StandardOutput {
public:
    void write(std::string_view text);
    void flush();

private:
    void send(std::string_view text);

    std::string gathered_;
    Pager pager_;
};

}  // namespace app
