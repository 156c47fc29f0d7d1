#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace app {

/// Thrown when the reader of standard output has closed the pipe.
class ClosedPipe : public std::exception {};

/// Standard output, written in large pieces.
///
/// Errors  OutputError with the system's reason; ClosedPipe when nobody reads any more.
class StandardOutput {
public:
    void write(std::string_view text);
    void flush();

private:
    std::string gathered_;
};

}  // namespace app
